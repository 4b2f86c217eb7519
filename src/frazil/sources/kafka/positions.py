"""Positions in Kafka's logs: offsets, with the leader epoch that tells one log from another (KIP-320)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self, cast

from frazil.model import Position, Range, SourcePartition


@dataclass(frozen=True, slots=True, order=True)
class KafkaPosition:
    """A place in a partition's log; see `frazil.model.Position`."""

    offset: int
    """The first offset that is not before it."""

    leader_epoch: int | None = field(default=None, compare=False)
    """A leader epoch whose leader had everything before `offset` in its log; None where it is not known."""

    @property
    def last(self) -> int:
        """The last offset before it; -1 at the very beginning."""
        return self.offset - 1

    @property
    def first(self) -> int:
        """The first offset after it."""
        return self.offset

    @property
    def ended(self) -> bool:
        """Kafka's partitions never end."""
        return False

    @property
    def is_exact(self) -> bool:
        """Every place is."""
        return True

    @property
    def timestamp(self) -> None:
        """Offsets do not say when records came."""
        return

    def covered_by(self, position: KafkaPosition, read_through: int | None) -> bool:  # noqa: ARG002 (offsets say all)
        """Whether everything before it is before `position`."""
        return self <= position

    def distance(self, end: KafkaPosition) -> int:
        """How many offsets there are from here to `end`; gaps make the number of records smaller."""
        return max(0, end.offset - self.offset)

    def ahead(self, records: int, end: KafkaPosition) -> Self:
        """The place that many offsets further on, `end` at most, in the log that `end` is of."""
        return type(self)(min(self.offset + records, end.offset), end.leader_epoch)


BEGINNING: Final = KafkaPosition(0)
"""Where partitions start that appear in a topic which is read already."""


def at(token: str, leader_epoch: int | None = None) -> KafkaPosition:
    """The position behind an offset token, which is the last offset covered."""
    return KafkaPosition(int(token) + 1, leader_epoch)


def before(offset: int) -> KafkaPosition:
    """The position right before the record at an offset."""
    return KafkaPosition(offset)


def offsets(partition: SourcePartition, start: int, end: int) -> Range:
    """The range of the offsets from `start` up to, not including, `end`."""
    return Range(partition, KafkaPosition(start), KafkaPosition(end))


def of_kafka(positions: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, KafkaPosition]:
    """Positions that this source gave out, as it knows them."""
    return cast("Mapping[SourcePartition, KafkaPosition]", positions)


def bounds(wanted: Range) -> tuple[KafkaPosition, KafkaPosition]:
    """The start and the end of a range of this source's."""
    return cast("tuple[KafkaPosition, KafkaPosition]", (wanted.start, wanted.end))
