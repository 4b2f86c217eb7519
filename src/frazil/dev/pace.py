"""Keep a producer at its rate."""

from __future__ import annotations

import time


class Pace:
    """How many records are due since the start, at `rate` records per second.

    Args:
        rate: Records per second; None is as many as possible.
        batch: The most that are due at once, so that a stop is never far.
    """

    def __init__(self, rate: float | None, batch: int = 10_000) -> None:
        self._rate = rate
        self._batch = batch
        self._start = time.monotonic()
        self._taken = 0

    def take(self) -> int:
        """Return how many records are due now, and count them as produced."""
        due = self._batch
        if self._rate is not None:
            due = min(due, int((time.monotonic() - self._start) * self._rate) - self._taken)
        self._taken += due
        return due
