"""Rejected records in a stream of their own, with the bytes and the partition keys they were read with.

Records of Kinesis have no headers, so nothing there says why: the error table does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import structlog

from frazil.model import Reject, TableName
from frazil.sources.kinesis.writing import Letter, StreamWriter

NO_KEY: Final = "-"
"""The partition key of records that had none; streams want one."""

_LONGEST_KEY: Final = 256
"""Characters of a partition key. Those within aggregated records nobody has counted."""

_log = structlog.get_logger(__name__)


class DeadLetterStream:
    """A stream that rejected records go to; it has to be there."""

    def __init__(self, writer: StreamWriter) -> None:
        """Send with a writer of the stream."""
        self._writer = writer

    def send(self, rejects: Iterable[Reject], connector: str, table: TableName) -> None:
        """Send records, and wait until the stream has them all.

        A record that is larger than the stream takes stays where it is, and is named in the log.

        Raises:
            StreamUnavailable, StreamRefused: some of them are not there.
        """
        self._writer.put(self._fitting(rejects, self._writer.largest(), connector, table))

    def close(self) -> None:
        """Wait for nothing any more."""
        self._writer.close()

    def _fitting(self, rejects: Iterable[Reject], largest: int, connector: str, table: TableName) -> Iterator[Letter]:
        for each in rejects:
            letter = letter_of(each)
            if letter.size <= largest:
                yield letter
                continue
            _log.warning(
                "a rejected record is too large for the dead-letter stream",
                connector=connector,
                table=str(table),
                stream=self._writer.stream,
                record=f"{each.partition}, sequence number {each.offset}",
                bytes=letter.size,
                largest=largest,
                reason=each.code,
            )


def letter_of(reject: Reject) -> Letter:
    """A rejected record as it was read; a partition key that no stream takes is made one."""
    key = (reject.key or b"").decode(errors="replace")[:_LONGEST_KEY]
    return Letter(key or NO_KEY, reject.value or b"")
