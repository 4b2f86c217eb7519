"""Put records into a stream until all of them are there.

The service takes the records of one request each for itself: some may be in the stream, and others not. Those are put
again. A request whose answer is lost is made again as a whole, so records may be there twice, and none is missing.

The service may refuse a record of a request and take a later one. So no request has two records whose order counts.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Collection, Iterable, Mapping
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

_WINDOW: Final = 4 * MOST_RECORDS
"""Records among which those of the next request are looked for."""

_WINDOW_BYTES: Final = 2 * MOST_BYTES
"""Bytes of them."""

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
    line: str | None = None
    """Records of one line come to the stream in their order; None: the order of this one does not count."""

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
        waiting = Waiting(letters)
        failures, progress = 0, time.monotonic()
        while request := waiting.request():
            if self._closed.is_set():
                raise StreamUnavailable(self._address, self._action, "the connector stops")
            missing, cause = self._put_once(request)
            waiting.remove(request.keys() - missing)
            if len(missing) < len(request):
                failures, progress = 0, time.monotonic()
            if not missing:
                continue
            if time.monotonic() - progress > self._patience:
                raise StreamUnavailable(self._address, self._action, cause)
            self._pause(failures, cause)
            failures += 1

    def close(self) -> None:
        """Have whoever waits to put something again give it up."""
        self._closed.set()

    def _ask_largest(self) -> int:
        try:
            answer = self._client.describe_stream_summary(StreamName=self.stream)
        except (ClientError, BotoCoreError) as error:
            raise self._translated(error) from error
        return int(answer["StreamDescriptionSummary"].get("MaxRecordSizeInKiB", _USUAL_KIB)) * 1024

    def _pause(self, failures: int, cause: str) -> None:
        wait = min(_LONGEST, _SHORTEST * 2**failures)
        # Half to all of it, lest those come back together that failed together.
        if self._closed.wait(random.uniform(wait / 2, wait)):  # noqa: S311 (it keeps nothing secret)
            raise StreamUnavailable(self._address, self._action, f"the connector stops; at last {cause}")

    def _put_once(self, request: Mapping[int, Letter]) -> tuple[set[int], str]:
        """The numbers of the records that are not there after one request, and why the first of them is not."""
        records = [{"Data": each.data, "PartitionKey": each.key} for each in request.values()]
        try:
            answer = self._client.put_records(StreamName=self.stream, Records=records)
            with reading("PutRecords"):
                answered = list(zip(request, answer["Records"], strict=True))
        except (ClientError, BotoCoreError) as error:
            if not faults.passes(error):
                raise self._translated(error) from error
            return {*request}, faults.cause(error)
        missing = {number: said for number, said in answered if _failed(said)}
        causes = (f"{said['ErrorCode']}: {said.get('ErrorMessage', '')}" for said in missing.values())
        return {*missing}, next(causes, "")

    def _translated(self, error: ClientError | BotoCoreError) -> FrazilError:
        if faults.code(error) == faults.GONE:
            return StreamRefused(self._address, self._action, "there is no such stream, or not yet; create it")
        return faults.translate(error, self._address, self._action)


class Waiting:
    """Records that are not in a stream yet, by a number that rises; only some of them are in memory."""

    def __init__(self, letters: Iterable[Letter]) -> None:
        """Take records in their order."""
        self._more = enumerate(letters)
        self._there: dict[int, Letter] = {}
        self._bytes = 0

    def request(self) -> dict[int, Letter]:
        """As many of them as one request takes, the first of each line; none if none is left."""
        self._fill()
        found: dict[int, Letter] = {}
        lines: set[str] = set()
        size = 0
        for number, letter in self._there.items():
            if letter.line in lines:
                continue
            if found and (len(found) == MOST_RECORDS or size + letter.size > MOST_BYTES):
                break
            found[number] = letter
            size += letter.size
            if letter.line is not None:
                lines.add(letter.line)
        return found

    def remove(self, numbers: Collection[int]) -> None:
        """Forget records: the stream has them."""
        for number in numbers:
            self._bytes -= self._there.pop(number).size

    def _fill(self) -> None:
        while len(self._there) < _WINDOW and self._bytes < _WINDOW_BYTES:
            number, letter = next(self._more, (None, None))
            if number is None or letter is None:
                return
            self._there[number] = letter
            self._bytes += letter.size


def _failed(said: dict[str, Any]) -> bool:
    return bool(said.get("ErrorCode"))
