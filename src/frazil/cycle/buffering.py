"""Between steps 3 and 4 of the cycle: which backlogs are due, where `buffer.*` keys ask to wait. Pure rules, no I/O.

Nothing is kept in memory: what is not due stays in the source, and is counted from the positions alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frazil.cycle.planning import Backlog
from frazil.model import Buffer, Position, SourcePartition


@dataclass(slots=True)
class _Wait:
    """How long one channel has waited."""

    start: Position
    """Where the channel went on when it began to wait."""

    since: float
    """When a plan first saw something at or above `start`."""

    due_below: Position
    """Records before it were due in an earlier plan: what that cycle's budget left of them does not wait again."""


class Buffering:
    """Decides plan by plan which channels are due."""

    def __init__(self, bounds: Buffer | None) -> None:
        """Wait until one of the `bounds` is reached; None: for nothing."""
        self._bounds = bounds
        self._waits: dict[SourcePartition, _Wait] = {}

    @property
    def needs_sizes(self) -> bool:
        """Whether it matters how large records are."""
        return self._bounds is not None and self._bounds.bytes is not None

    def due(self, waiting: Sequence[Backlog], now: float) -> list[Backlog]:
        """Those of the backlogs of one plan that are to be read, each of them whole.

        Args:
            waiting: all channels that have something to read.
            now: seconds on a clock that never goes back.
        """
        if self._bounds is None:
            return list(waiting)
        self._waits = {each.partition: self._wait(each, now) for each in waiting}
        found = [each for each in waiting if self._is_due(each, self._bounds, now)]
        for each in found:
            self._waits[each.partition].due_below = each.latest
        return found

    def seconds_left(self, now: float) -> float | None:
        """How long until the first of the waiting channels is due, if nothing more comes; None: time makes none due."""
        if self._bounds is None or self._bounds.seconds is None:
            return None
        since = min((wait.since for wait in self._waits.values() if wait.due_below <= wait.start), default=None)
        return None if since is None else max(0.0, since + self._bounds.seconds - now)

    def _wait(self, backlog: Backlog, now: float) -> _Wait:
        known = self._waits.get(backlog.partition)
        if known is None:
            return _Wait(backlog.start, now, backlog.start)
        return known if known.start == backlog.start else _Wait(backlog.start, now, known.due_below)

    def _is_due(self, backlog: Backlog, bounds: Buffer, now: float) -> bool:
        wait = self._waits[backlog.partition]
        return (
            backlog.start < wait.due_below
            or (bounds.seconds is not None and now - wait.since >= bounds.seconds)
            or (bounds.records is not None and backlog.length >= bounds.records)
            or (bounds.bytes is not None and _reaches(backlog, bounds.bytes))
        )


def _reaches(backlog: Backlog, size: int) -> bool:
    # Of unknown size is only what no sample could be had of, gaps for instance: reading it settles the matter.
    return backlog.size is None or backlog.length * backlog.size >= size
