"""Put records into a stream until all of them are there.

The service takes the records of one request each for itself: some may be in the stream, and others not. Those are put
again. A request whose answer is lost is made again as a whole, so records may be there twice, and none is missing.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from frazil.errors import FrazilError, StreamRefused, StreamUnavailable
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.answers import reading

MOST_RECORDS: Final = 500
"""Records in one request."""

MOST_BYTES: Final = 10 << 20
"""Bytes of data and partition keys in one request."""

PATIENCE: Final = 30.0
"""Seconds without any record taken after which it is given up."""

_USUAL_KIB: Final = 1024
"""The largest record that a stream takes if it does not say."""

_LARGEST_AGE: Final = 10.0
"""Seconds for which it is believed: an account may ask twenty times a second, and there may be many connectors."""

_SHORTEST, _LONGEST = 0.1, 2.0
"""Seconds until what failed is put again, at first and at most."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A record to put."""

    key: str
    data: bytes

    @property
    def size(self) -> int:
        """Its bytes as the service counts them."""
        return len(self.data) + len(self.key.encode())


class StreamWriter:
    """Puts records into one stream. One thread at a time may write; any may close."""

    def __init__(self, client: Any, address: str, stream: str, patience: float = PATIENCE) -> None:
        """Write with a client of botocore's.

        Args:
            client: the client.
            address: where the service is, for messages.
            stream: the stream's name.
            patience: seconds without any record taken after which it is given up.
        """
        self.stream = stream
        self._client = client
        self._address = address
        self._patience = patience
        self._action = f"put records into the stream {stream}"
        self._closed = threading.Event()
        self._largest: tuple[int, float] | None = None
        """What `largest` said, and when, on the monotonic clock."""

    def largest(self) -> int:
        """Bytes of data and partition key of the largest record that the stream takes.

        Raises:
            StreamUnavailable, StreamRefused: it does not say, as when there is no such stream.
        """
        if self._largest is None or time.monotonic() - self._largest[1] > _LARGEST_AGE:
            self._largest = self._ask_largest(), time.monotonic()
        return self._largest[0]

    def put(self, letters: Iterable[Letter]) -> None:
        """Put records, and return when all are there; none may be larger than `largest`.

        Raises:
            StreamUnavailable, StreamRefused: some are not there.
        """
        for batch in batches(letters):
            if self._closed.is_set():
                raise StreamUnavailable(self._address, self._action, "the connector stops")
            self._put_all(batch)

    def close(self) -> None:
        """Have whoever waits to put something again give it up."""
        self._closed.set()

    def _ask_largest(self) -> int:
        try:
            answer = self._client.describe_stream_summary(StreamName=self.stream)
        except (ClientError, BotoCoreError) as error:
            raise self._translated(error) from error
        return int(answer["StreamDescriptionSummary"].get("MaxRecordSizeInKiB", _USUAL_KIB)) * 1024

    def _put_all(self, left: list[Letter]) -> None:
        failures, progress = 0, time.monotonic()
        while True:
            failed, cause = self._put_once(left)
            if not failed:
                return
            if len(failed) < len(left):
                failures, progress = 0, time.monotonic()
            left = failed
            if time.monotonic() - progress > self._patience:
                raise StreamUnavailable(self._address, self._action, cause)
            wait = min(_LONGEST, _SHORTEST * 2**failures)
            failures += 1
            # Half to all of it, lest those come back together that failed together.
            if self._closed.wait(random.uniform(wait / 2, wait)):  # noqa: S311 (it keeps nothing secret)
                raise StreamUnavailable(self._address, self._action, f"the connector stops; at last {cause}")

    def _put_once(self, letters: list[Letter]) -> tuple[list[Letter], str]:
        """The records that are not there after one request, and why the first of them is not."""
        records = [{"Data": each.data, "PartitionKey": each.key} for each in letters]
        try:
            answer = self._client.put_records(StreamName=self.stream, Records=records)
            with reading("PutRecords"):
                answered = list(zip(letters, answer["Records"], strict=True))
        except (ClientError, BotoCoreError) as error:
            if not faults.passes(error):
                raise self._translated(error) from error
            return letters, faults.cause(error)
        missing = [(letter, said) for letter, said in answered if _failed(said)]
        causes = (f"{said['ErrorCode']}: {said.get('ErrorMessage', '')}" for _, said in missing)
        return [letter for letter, _ in missing], next(causes, "")

    def _translated(self, error: ClientError | BotoCoreError) -> FrazilError:
        if faults.code(error) == faults.GONE:
            return StreamRefused(self._address, self._action, "there is no such stream, or not yet; create it")
        return faults.translate(error, self._address, self._action)


def batches(letters: Iterable[Letter]) -> Iterator[list[Letter]]:
    """Records in their order, as many together as one request takes."""
    batch: list[Letter] = []
    size = 0
    for letter in letters:
        if batch and (len(batch) == MOST_RECORDS or size + letter.size > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(letter)
        size += letter.size
    if batch:
        yield batch


def _failed(said: dict[str, Any]) -> bool:
    return bool(said.get("ErrorCode"))
