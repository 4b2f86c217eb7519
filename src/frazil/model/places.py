"""Where records lie: partitions, positions and ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

PartitionId: TypeAlias = int | str
"""What tells the partitions of a topic apart: Kafka's number, a shard's id. Within one source all are of one type."""

RecordOffset: TypeAlias = int | str
"""What tells the records of a partition apart: Kafka's offset, a sequence number."""


@dataclass(frozen=True, slots=True, order=True)
class SourcePartition:
    """One topic-partition, or one shard of a stream."""

    topic: str
    """The topic or stream."""

    partition: PartitionId

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Position(Protocol):
    """A place in a source partition, between two records. Only its source knows what is in it; it can be pickled.

    Positions of one partition are ordered, and equal where the same records are before them.
    """

    @property
    def last(self) -> RecordOffset:
        """The last record before it, as JSON has it; as text, the offset token of all that is before."""

    @property
    def first(self) -> RecordOffset:
        """The first record that may follow, or how people would say where that is."""

    @property
    def leader_epoch(self) -> int | None:
        """A leader epoch whose leader had everything before it in its log (KIP-320); None where none is known."""

    @property
    def ended(self) -> bool:
        """Whether it is the end of a partition that gets no more records, as a shard's that was split."""

    def __lt__(self, other: Any, /) -> bool: ...

    def __le__(self, other: Any, /) -> bool: ...

    @property
    def is_exact(self) -> bool:
        """Whether it is known which record is the last before it; else it stands for now, or for a time."""

    @property
    def timestamp(self) -> int | None:
        """The records behind it arrived then or later, in ms since the epoch; None where the place does not say."""

    def covered_by(self, position: Any, read_through: int | None, /) -> bool:
        """Whether everything before it is covered where everything before `position` is.

        Args:
            position: how far its partition is read.
            read_through: what had come by then is covered, too, in ms since the epoch; None where that is not known.
        """

    def distance(self, end: Any, /) -> int:
        """How many records there may be from here to `end`: at least 1 where that is further on, else 0."""

    def ahead(self, records: int, end: Any, /) -> Self:
        """The place about `records` further on, `end` at most; `end` itself where only the source could tell."""


RecordPlace: TypeAlias = tuple[SourcePartition, RecordOffset]
"""Where a record lies."""

OrderedPlace: TypeAlias = tuple[SourcePartition, Any]
"""Where a record lies, as the position right before it or what else orders those of one source."""


@dataclass(frozen=True, slots=True)
class Range:
    """What one cycle reads from one source partition: what is between two positions."""

    partition: SourcePartition
    start: Position
    end: Position

    @property
    def length(self) -> int:
        """How many records there may be in it."""
        return self.start.distance(self.end)
