"""Positions in shards: sequence numbers, what stands for a place before the first or after the last one, and now.

As offset tokens they are texts: `TRIM_HORIZON` and `AT_TIMESTAMP:<ms>` where nothing was read yet, `<sequence number>`
once all of a record is covered, `<sequence number>:<sub-sequence number>` where of an aggregated record only the user
records up to that one are, `AT_SEQUENCE_NUMBER:<sequence number>` right before a record, and `SHARD_END`. Sequence
numbers are compared as integers (they are digits, not of one length) and do not follow one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final, Self, cast

from frazil.model import Position, Range, SourcePartition

TRIM_HORIZON: Final = "TRIM_HORIZON"
AT_TIMESTAMP: Final = "AT_TIMESTAMP"
AT_SEQUENCE_NUMBER: Final = "AT_SEQUENCE_NUMBER"
SHARD_END: Final = "SHARD_END"

_WHOLE: Final = 2**63
"""Stands for the last user record of any record."""

_NONE: Final = -1
"""Stands for what is before the first one."""


class Mark(IntEnum):
    """What kind of place a position is, in the order in which they come within a shard."""

    TRIM_HORIZON = 0
    AT_TIMESTAMP = 1
    SEQUENCE = 2
    NOW = 3
    """After all that has arrived by some moment, wherever that is."""

    SHARD_END = 4


@dataclass(frozen=True, slots=True)
class Hints:
    """What the driver knows of a shard that helps to read it."""

    hash_keys: tuple[int, int] | None = None
    """The lowest and the highest hash key of its records; None where the service did not say."""

    iterator: str | None = field(default=None, repr=False)
    """A shard iterator that is young enough."""

    at: KinesisPosition | None = None
    """Where it goes on."""

    owed: float = 0.0
    """Seconds until its quota for reading is paid off. A time would be one of another host's clock."""


@dataclass(frozen=True, slots=True, order=True)
class KinesisPosition:
    """A place in a shard; see `frazil.model.Position`. Those of one mark are ordered by `value`, then by `sub`."""

    mark: Mark
    value: int = 0
    """The sequence number; of `AT_TIMESTAMP` and `NOW`, ms since the epoch."""

    sub: int = _WHOLE
    """The sub-sequence number of the last user record before it, where that is not the last one of its record."""

    records: int | None = field(default=None, compare=False)
    """How many records are between the start of its range and it; for `NOW`, about how many there may be."""

    pulled: int | None = field(default=None, compare=False)
    """How many records of the stream, aggregated ones as one, a reader found between the start of its range and it."""

    read_through: int | None = field(default=None, compare=False)
    """Whoever read up to it had read what had arrived by then, in ms since the epoch; None where that is not known."""

    is_quiet: bool = field(default=False, compare=False)
    """Whether a reader that came here got an answer with nothing, and there was no more."""

    hints: Hints | None = field(default=None, compare=False, repr=False)

    @property
    def last(self) -> str:
        """The last record before it, or what stands for it: the offset token of all that is before."""
        match self.mark:
            case Mark.SEQUENCE if self.sub == _WHOLE:
                return str(self.value)
            case Mark.SEQUENCE if self.sub == _NONE:
                return f"{AT_SEQUENCE_NUMBER}:{self.value}"
            case Mark.SEQUENCE:
                return f"{self.value}:{self.sub}"
            case Mark.AT_TIMESTAMP:
                return f"{AT_TIMESTAMP}:{self.value}"
            case _:
                return self.mark.name

    @property
    def first(self) -> str:
        """What follows has no name yet."""
        if self.mark != Mark.SEQUENCE:
            return self.last
        return str(self.value) if self.sub == _NONE else f"after {self.last}"

    @property
    def leader_epoch(self) -> None:
        """Streams have no leaders."""
        return

    @property
    def ended(self) -> bool:
        """Whether it is the end of a shard."""
        return self.mark == Mark.SHARD_END

    @property
    def is_within_a_record(self) -> bool:
        """Whether the record of its sequence number is not, or not all, before it."""
        return self.mark == Mark.SEQUENCE and self.sub != _WHOLE

    @property
    def is_exact(self) -> bool:
        """Whether it is not just some moment's."""
        return self.mark not in (Mark.AT_TIMESTAMP, Mark.NOW)

    @property
    def timestamp(self) -> int | None:
        """The time of an `AT_TIMESTAMP` position."""
        return self.value if self.mark == Mark.AT_TIMESTAMP else None

    def covered_by(self, position: KinesisPosition, read_through: int | None) -> bool:
        """Whether everything before it is before `position`, too, or had arrived by `read_through`."""
        if self.mark == Mark.AT_TIMESTAMP and position.mark == Mark.SEQUENCE:
            # Where the time of a record is, only the stream knows.
            return read_through is not None and self.value <= read_through
        return self <= position or (self.mark == Mark.NOW and read_through is not None and self.value <= read_through)

    def distance(self, end: KinesisPosition) -> int:
        """How many records there may be up to `end`; 1 where nobody counted them."""
        if end <= self or end.covered_by(self, self.read_through):
            return 0
        return 1 if end.records is None else end.records

    def ahead(self, records: int, end: KinesisPosition) -> Self:
        """The end itself: which sequence number comes next, only the stream knows."""
        return self if records <= 0 else cast("Self", end)


BEGINNING: Final = KinesisPosition(Mark.TRIM_HORIZON)
"""Where shards start that appear in a stream which is read already, whatever its initial position was."""

END: Final = KinesisPosition(Mark.SHARD_END)
"""The end of a shard that was split, merged or left with its stream."""


def at(token: str, leader_epoch: int | None = None) -> KinesisPosition:  # noqa: ARG001 (Kafka's tokens have one)
    """The position behind an offset token.

    Raises:
        ValueError: it is none of a shard.
    """
    match token.partition(":"):
        case (str(mark), "", "") if mark == TRIM_HORIZON:
            return BEGINNING
        case (str(mark), "", "") if mark == SHARD_END:
            return END
        case (str(mark), ":", moment) if mark == AT_TIMESTAMP:
            return at_time(int(moment))
        case (str(mark), ":", sequence) if mark == AT_SEQUENCE_NUMBER:
            return at_record(int(sequence))
        case (sequence, "", ""):
            return after(int(sequence))
        case (sequence, _, sub):
            return after(int(sequence), int(sub))


def before(offset: str) -> KinesisPosition:
    """The position right before the record at an offset, which may be one of an aggregated record."""
    sequence, _, sub = offset.partition(":")
    return after(int(sequence), int(sub or 0) - 1)


def after(sequence: int, sub: int | None = None) -> KinesisPosition:
    """The position behind a record, or behind one user record of an aggregated one."""
    return KinesisPosition(Mark.SEQUENCE, sequence, _WHOLE if sub is None else sub)


def at_record(sequence: int) -> KinesisPosition:
    """The position right before a record."""
    return after(sequence, _NONE)


def at_time(moment: int) -> KinesisPosition:
    """The position before the first record that arrived at `moment` or later, in ms since the epoch."""
    return KinesisPosition(Mark.AT_TIMESTAMP, moment)


def now(moment: int, records: int | None, hints: Hints) -> KinesisPosition:
    """The position after all that had arrived by `moment`, in ms since the epoch.

    Args:
        moment: when that was.
        records: about how many records there are up to it, where that can be guessed.
        hints: for the reader.
    """
    return KinesisPosition(Mark.NOW, moment, records=records, hints=hints)


def hinted(position: KinesisPosition, hints: Hints) -> KinesisPosition:
    """The same place with what helps a reader to get there."""
    return replace(position, hints=hints)


def of_offset(offset: str) -> KinesisPosition:
    """The position right behind the record at an offset."""
    sequence, _, sub = offset.partition(":")
    return after(int(sequence), int(sub) if sub else None)


def of_kinesis(positions: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, KinesisPosition]:
    """Positions that this source gave out, as it knows them."""
    return cast("Mapping[SourcePartition, KinesisPosition]", positions)


def bounds(wanted: Range) -> tuple[KinesisPosition, KinesisPosition]:
    """The start and the end of a range of this source's."""
    return cast("tuple[KinesisPosition, KinesisPosition]", (wanted.start, wanted.end))
