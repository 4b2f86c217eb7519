"""Sequence numbers: 56 digits that increase within a shard, and from a shard to its children.

One is made of the moment its shard came to be, the shard's number, the moment of the record's arrival, and its ordinal
among the shard's records, with room below it, so that numbers between two records exist. A shard's moment is not before
its parents', and its number is greater, which makes every number of a child greater than every number of its parents.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_SHARD: Final = 32
_MOMENT: Final = 48
_ORDINAL: Final = 41
_BETWEEN: Final = 16
"""How many bits each part has."""

_LEADING: Final = 1 << _MOMENT
"""Above the shard's moment; it makes all numbers 56 digits long."""

LAST_BETWEEN: Final = (1 << _BETWEEN) - 1
"""The last number before that of the next record."""


class Number(NamedTuple):
    """What a sequence number says."""

    epoch: int
    """When its shard came to be, in milliseconds; only shards of one stream that were made at once share it."""

    shard: int
    """The number in the shard's id."""

    arrival: int
    """When the record arrived, in milliseconds; never less than that of the shard's record before."""

    ordinal: int
    """Which record of the shard it is; the first is 1."""

    between: int = 0
    """Above 0 it lies between this record and the next."""

    def __str__(self) -> str:
        number = _LEADING | self.epoch
        for width, part in ((_SHARD, self.shard), (_MOMENT, self.arrival), (_ORDINAL, self.ordinal)):
            number = number << width | part
        return str(number << _BETWEEN | self.between)


def parse(text: str) -> Number | None:
    """Read a sequence number's digits; None where no shard of this engine can have given it."""
    number = int(text)
    parts = []
    for width in (_BETWEEN, _ORDINAL, _MOMENT, _SHARD):
        parts.append(number & (1 << width) - 1)
        number >>= width
    epoch = number ^ _LEADING
    if epoch >> _MOMENT:
        return None
    between, ordinal, arrival, shard = parts
    return Number(epoch, shard, arrival, ordinal, between)
