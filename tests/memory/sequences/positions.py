"""Positions that are sequence numbers as text: ordered, but not consecutive, and with an end that is beyond all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

_STEP: Final = 7
_ENDED: Final = "ended"
"""Sorts after every sequence number."""


@dataclass(frozen=True, slots=True, order=True)
class SequencePosition:
    """The place behind a sequence number, whether or not a record has it; see `frazil.model.Position`."""

    last: str
    """Empty at the beginning."""

    @property
    def first(self) -> str:
        """What follows has no name yet."""
        return f"after {self.last}" if self.last else "the beginning"

    @property
    def leader_epoch(self) -> None:
        """There are no leaders."""
        return

    @property
    def ended(self) -> bool:
        """Whether nothing can follow."""
        return self.last == _ENDED

    @property
    def is_exact(self) -> bool:
        """Every place is."""
        return True

    @property
    def timestamp(self) -> None:
        """Numbers do not say when records came."""
        return

    def covered_by(self, position: SequencePosition, read_through: int | None) -> bool:  # noqa: ARG002 (numbers say all)
        """Whether everything before it is before `position`."""
        return self <= position

    def distance(self, end: SequencePosition) -> int:
        """An estimate from the numbers."""
        if end <= self:
            return 0
        return 1 if _ENDED in (self.last, end.last) else max(1, offset_after(end) - offset_after(self))

    def ahead(self, records: int, end: SequencePosition) -> Self:
        """A place between two records, about that many further on."""
        if end.last == _ENDED:
            return type(self)(end.last)
        return min(type(self)(_text(_STEP * (offset_after(self) + records) - 2)), type(self)(end.last))


BEGINNING: Final = SequencePosition("")
END: Final = SequencePosition(_ENDED)
"""The end of a partition that gets no more records."""


def at(token: str, leader_epoch: int | None = None) -> SequencePosition:
    """The position behind a token."""
    return SequencePosition(token)


def before(offset: str) -> SequencePosition:
    """The position right before a record."""
    return SequencePosition(_text(int(offset) - 1))


def sequence(offset: int) -> str:
    """The sequence number of the record that is the `offset`th of its partition."""
    return _text(_STEP * offset + 3)


def position(offset: int) -> SequencePosition:
    """The position behind the records whose place in the partition is less than `offset`."""
    return SequencePosition(sequence(offset - 1)) if offset else BEGINNING


def offset_after(place: SequencePosition) -> int:
    """The place in the partition of the first record behind a position."""
    return (int(place.last) - 3) // _STEP + 1 if place.last else 0


def _text(number: int) -> str:
    return f"{number:09d}"
