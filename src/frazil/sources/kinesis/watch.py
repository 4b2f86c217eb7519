"""What is known of shards by having read them: which have something more, and which are better left alone."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

import structlog

from frazil.model import SourcePartition, StagedRange
from frazil.sources.base import Held, Rest
from frazil.sources.kinesis.positions import Hints, KinesisPosition
from frazil.sources.kinesis.standstill import Standstill

_log = structlog.get_logger(__name__)

_ITERATOR_AGE: Final = 240.0
"""Seconds for which an iterator is used: the service takes it for 300."""

_HELD: Final = 15.0
"""Seconds after which a shard whose records cannot be had is tried again."""

_TROUBLED: Final = 1.0
"""Seconds after which a shard that gave no answer is read again; each further time in a row doubles them."""

_DOUBLINGS: Final = 10
"""After so many it is long enough in any case."""

_LASTING: Final = 2
"""How often in a row that makes it worth telling: now and then is nothing."""

_GUESS: Final = 1_000
"""Records that may wait in a shard of which nothing is known."""

_SHORTEST: Final = 1_000
"""Milliseconds over which the rate of a shard is measured at least."""


@dataclass(slots=True)
class Watched:
    """What is known of one shard."""

    covered: KinesisPosition | None = None
    """Where its last reader came to; None if it had none."""

    is_quiet: bool = False
    """Whether nothing was there when somebody looked last."""

    looked_at: float = 0.0
    """When that was, in seconds on the monotonic clock."""

    read_through: int | None = None
    """What had come by then was read, in ms since the epoch."""

    iterator: str | None = None
    """One that goes on at `covered`."""

    iterator_since: float = 0.0
    """When it was given, in seconds on the monotonic clock."""

    due_at: float = 0.0
    """When its quota for reading is paid off, in seconds on the monotonic clock."""

    held: str | None = None
    """The error by which its records cannot be had until somebody sees to it."""

    trouble: str | None = None
    """Why the service did not say what is in it, when it was looked at or read last."""

    troubles: int = 0
    """How often in a row that was so."""

    is_told: bool = False
    """Whether the log says so."""

    standstill: Standstill = field(default_factory=Standstill)
    """What looks at it have found, since there was something."""

    rate: float | None = None
    """Records that come in a millisecond, about."""

    def hear(self, staged: StagedRange, covered: KinesisPosition) -> None:
        """Take what a task tells that has read it up to `covered`."""
        now = time.monotonic()
        hints = covered.hints or Hints()
        self.covered, self.is_quiet, self.looked_at = covered, covered.is_quiet, now
        self.tell(staged.trouble)
        self.due_at = max(self.due_at, now + hints.owed)
        self.keep(hints.iterator, now)
        self.read_through = staged.read_through or self.read_through
        if staged.parsed and staged.oldest is not None and staged.newest is not None:
            self.rate = staged.parsed / max(_SHORTEST, staged.newest - staged.oldest)

    def tell(self, trouble: str | None) -> None:
        """Note why the service did not say what is in it; None: it said."""
        self.trouble, self.troubles = trouble, 0 if trouble is None else self.troubles + 1

    def keep(self, iterator: str | None, now: float) -> None:
        """Use an iterator from now on that goes on at `covered`."""
        self.iterator, self.iterator_since = iterator, now

    @property
    def young_iterator(self) -> str | None:
        """The iterator, if the service takes it still."""
        return self.iterator if time.monotonic() - self.iterator_since < _ITERATOR_AGE else None

    def waiting(self, moment: int) -> int:
        """About how many records wait at a time in ms since the epoch."""
        if self.is_quiet:
            return 0
        if self.rate is None or self.read_through is None:
            return _GUESS
        return max(1, round(self.rate * max(0, moment - self.read_through)))

    def rest(self, start: KinesisPosition, poll: float | None, *, outage: bool) -> Rest | None:
        """Why it is better not read from `start` just now, if it is.

        Args:
            start: where reading would go on.
            poll: seconds between two looks; None where nobody looks but who reads.
            outage: whether no shard gives an answer: then it is the cycles that wait.
        """
        if self.trouble is not None and not self.is_quiet:
            left = max(self.looked_at + self._patience - time.monotonic(), self.seconds_owed)
            return Rest(left) if left > 0 and not outage else None
        if self.held is not None:
            left = self.looked_at + _HELD - time.monotonic()
            return Rest(left) if left > 0 else None
        if poll is not None and self.is_quiet and start == self.covered:
            return Rest(max(0.0, self.looked_at + poll - time.monotonic()))
        left = self.seconds_owed
        return Rest(left) if left > 0 else None

    def was_quiet_at(self, moment: float) -> bool:
        """Whether nothing was there when somebody looked last, and that not after a time of the monotonic clock."""
        return self.is_quiet and self.looked_at <= moment

    @property
    def ended(self) -> bool:
        """Whether it was read to its end."""
        return self.covered is not None and self.covered.ended

    @property
    def is_due(self) -> bool:
        """Whether it may be read again."""
        return self.seconds_owed <= 0

    @property
    def lasts(self) -> bool:
        """Whether trouble is worth telling."""
        return self.troubles >= _LASTING

    @property
    def _patience(self) -> float:
        return min(_HELD, _TROUBLED * float(1 << min(self.troubles - 1, _DOUBLINGS)))

    @property
    def seconds_owed(self) -> float:
        """How long until it may be read again."""
        return max(0.0, self.due_at - time.monotonic())


class Watch:
    """All that is known of the shards of one connector."""

    def __init__(self) -> None:
        self._known: dict[SourcePartition, Watched] = {}

    def of(self, partition: SourcePartition) -> Watched:
        """What is known of one shard."""
        return self._known.setdefault(partition, Watched())

    def hold(self, partition: SourcePartition, error: str | None) -> None:
        """Note the error by which the records of a shard cannot be had; None: they can."""
        known = self.of(partition)
        if error is not None and known.held is None:
            _log.error(
                "the records of a shard cannot be had: it waits until somebody sees to that, and others go on",
                shard=str(partition),
                cause=error,
            )
        elif error is None and known.held is not None:
            _log.info("the records of a shard can be had again", shard=str(partition))
        known.held = error

    def held(self) -> dict[SourcePartition, Held]:
        """The shards whose records cannot be had, and why."""
        found = {}
        for each, known in [*self._known.items()]:
            if known.held is not None:
                found[each] = Held(known.held)
            elif known.trouble is not None and known.lasts:
                found[each] = Held(known.trouble, passes=True)
        return found

    def is_outage(self, shards: Collection[SourcePartition]) -> bool:
        """Whether none of some shards gave an answer when it was asked last."""
        return bool(shards) and all(self.of(each).trouble is not None for each in shards)

    def say(self) -> None:
        """Have the log tell of shards that give no answer while others do, and that they do again; once each."""
        for each, known in self._known.items():
            if known.lasts and not known.is_told:
                _log.warning(
                    "a shard gives no answer: it is tried again until it does, and others go on",
                    shard=str(each),
                    cause=known.trouble,
                )
            elif known.is_told and not known.lasts:
                _log.info("a shard gives answers again", shard=str(each))
            known.is_told = known.lasts
