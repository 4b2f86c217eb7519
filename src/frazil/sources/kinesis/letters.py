"""Records that were read, put into another stream: with their own bytes, under their own partition keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Final, Generic, Protocol, TypeVar

import structlog

from frazil.model import OutputRecord, RecordOffset, Reject, SourcePartition, TableName
from frazil.sources.kinesis.writing import Letter, StreamWriter

NO_KEY: Final = "-"
"""The partition key of records that had none; streams want one."""

_LONGEST_KEY: Final = 256
"""Characters of a partition key. Those within aggregated records nobody has counted."""

_log = structlog.get_logger(__name__)


class ReadRecord(Protocol):
    """A record that was read."""

    @property
    def partition(self) -> SourcePartition:
        """The shard that it was read from."""

    @property
    def offset(self) -> RecordOffset:
        """Its sequence number."""

    @property
    def key(self) -> bytes | None:
        """Its partition key."""

    @property
    def value(self) -> bytes | None:
        """Its data."""


Read = TypeVar("Read", bound=ReadRecord)


class LetterStream(Generic[Read]):
    """A stream that records go to which were read from others; it has to be there."""

    too_large: ClassVar[str]
    """What is told of a record that is larger than the stream takes."""

    def __init__(self, writer: StreamWriter) -> None:
        """Send with a writer of the stream."""
        self._writer = writer
        self._too_large = 0
        """Of the records sent last."""

    def send(self, records: Iterable[Read], connector: str, table: TableName) -> int:
        """Send records, and wait until the stream has all that it can take.

        A record that is larger than the stream takes stays where it is, and is named in the log; how many there are
        comes back.

        Raises:
            StreamUnavailable, StreamRefused: some of them are not there.
        """
        self._too_large = 0
        self._writer.put(self._fitting(records, self._writer.largest(), connector, table))
        return self._too_large

    def close(self) -> None:
        """Wait for nothing any more."""
        self._writer.close()

    def _fitting(self, records: Iterable[Read], largest: int, connector: str, table: TableName) -> Iterator[Letter]:
        for each in records:
            letter = self._letter(each)
            if letter.size <= largest:
                yield letter
                continue
            self._too_large += 1
            _log.warning(
                self.too_large,
                connector=connector,
                table=str(table),
                stream=self._writer.stream,
                record=f"{each.partition}, sequence number {each.offset}",
                bytes=letter.size,
                largest=largest,
                **self._also(each),
            )

    def _letter(self, record: Read) -> Letter:
        """The record as it is put; see `Letter.line`."""
        return letter_of(record)

    def _also(self, record: Read) -> Mapping[str, str]:  # noqa: ARG002 (nothing is known of just any record)
        """What else is told of a record that is too large."""
        return {}


class DeadLetterStream(LetterStream[Reject]):
    """A stream that rejected records go to.

    Records of Kinesis have no headers, so nothing there says why: the error table does.
    """

    too_large = "a rejected record is too large for the dead-letter stream"

    def _also(self, record: Reject) -> Mapping[str, str]:
        return {"reason": record.code}


class OutputStream(LetterStream[OutputRecord]):
    """A stream that accepted records go on to."""

    too_large = "an accepted record is too large for the output stream: it is in the table alone"

    def __init__(self, writer: StreamWriter, *, keeps_order: bool = True) -> None:
        """Send with a writer of the stream; `keeps_order` is whether records of a partition key stay in their order."""
        super().__init__(writer)
        self._keeps_order = keeps_order

    def _letter(self, record: OutputRecord) -> Letter:
        letter = letter_of(record)
        # Records without a key had no order among themselves to keep.
        return replace(letter, line=letter.key) if self._keeps_order and record.key else letter


def letter_of(record: ReadRecord) -> Letter:
    """A record as it was read; a partition key that no stream takes is made one."""
    key = (record.key or b"").decode(errors="replace")[:_LONGEST_KEY]
    return Letter(key or NO_KEY, record.value or b"")
