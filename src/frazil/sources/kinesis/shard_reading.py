"""How one shard of a task is read, whichever way: what a way of reading gives, and what it ends with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from frazil.sources.kinesis.positions import KinesisPosition, Mark, after


class RawRecord(NamedTuple):
    """A record as the stream has it; aggregated ones are still whole."""

    sequence: str
    arrival: int
    """When it arrived, approximately, in ms since the epoch."""

    data: bytes
    key: str | None
    """Its partition key; None in streams that need none."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """What one answer had of a shard."""

    records: Sequence[RawRecord]
    """In the shard's order."""

    covered: KinesisPosition
    """Everything before it is in this answer or came before."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a shard was read."""

    covered: KinesisPosition
    """Where it goes on; with hints for the next time."""

    read_through: int | None = None
    """What had arrived by then was read, in ms since the epoch; None where that is not known."""

    is_quiet: bool = False
    """Whether the last answer had nothing, and there was no more."""

    held: str | None = None
    """The error by which its records cannot be had until somebody sees to it."""

    trouble: str | None = None
    """Why the service did not answer at all, where it may yet."""

    ready_at: float = 0.0
    """When the shard may be asked again, in seconds on the monotonic clock of this host."""


def behind(records: Sequence[RawRecord], covered: KinesisPosition) -> Sequence[RawRecord]:
    """Those of the records of one answer that a position does not cover; of one that it covers in part, all.

    An answer may begin earlier than where it was asked for: at the oldest record, where the place itself was refused.
    """
    if covered.mark == Mark.SEQUENCE and records and after(int(records[0].sequence)) <= covered:
        return [each for each in records if after(int(each.sequence)) > covered]
    return records


Deliver = Callable[[Pulled], bool]
"""Takes what was pulled, in the shard's order; False: the task has enough."""


class ShardReading(Protocol):
    """One way of reading a shard for one task."""

    def run(self, deliver: Deliver) -> Outcome:
        """Read until the end of the range, until nothing more is there, or as long as a cycle may take.

        Raises:
            frazil.sources.base.ReadFailed: it cannot be read, and waiting does not help.
        """
