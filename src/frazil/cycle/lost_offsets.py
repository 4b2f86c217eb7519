"""Offsets whose records a broker no longer has, as they are named to people and in the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frazil.model import SourcePartition


@dataclass(frozen=True, slots=True)
class LostOffsets:
    """Offsets of one partition."""

    partition: SourcePartition
    first: int
    last: int

    @property
    def count(self) -> int:
        """How many they are."""
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"the records {self.first} to {self.last} of {self.partition}"


def last_error(lost: Sequence[LostOffsets], code: str, what_happened: str) -> dict[str, object]:
    """The first of them as the last error of a table's tokens, which says what happened to its records."""
    first, *others = lost
    more = f", and records of {len(others)} more partitions" if others else ""
    return {
        "topic": first.partition.topic,
        "partition": first.partition.partition,
        "offset": first.first,
        "column": None,
        "code": code,
        "reason": f"{first} {what_happened}{more}",
    }
