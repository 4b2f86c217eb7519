"""Records that a source no longer has, as they are named to people and in the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frazil.model import Position, SourcePartition


@dataclass(frozen=True, slots=True)
class LostRecords:
    """The records of one partition between two positions."""

    partition: SourcePartition
    start: Position
    end: Position

    @property
    def count(self) -> int:
        """How many there may have been."""
        return self.start.distance(self.end)

    def __str__(self) -> str:
        return f"the records {self.start.first} to {self.end.last} of {self.partition}"


def last_error(lost: Sequence[LostRecords], code: str, what_happened: str) -> dict[str, object]:
    """The first of them as the last error of a table's tokens, which says what happened to its records."""
    first, *others = lost
    more = f", and records of {len(others)} more partitions" if others else ""
    return {
        "topic": first.partition.topic,
        "partition": first.partition.partition,
        "offset": first.start.first,
        "column": None,
        "code": code,
        "reason": f"{first} {what_happened}{more}",
    }
