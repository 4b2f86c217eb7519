"""How fast one shard may be read: the service counts the calls and the bytes of all who read it.

A shard gives 2 MiB and five answers a second. An answer may be larger, and then further calls are refused until it is
paid off.
"""

from __future__ import annotations

import random
import time
from typing import Final

_GAP: Final = 0.2
"""Seconds between two calls."""

_LONGEST: Final = 2.0
"""Seconds after which a call that was refused is tried again, at most."""

_MARGIN: Final = 0.05
"""Seconds more than an answer costs: two calls need not be under way for the same time."""


class Pace:
    """When the next call for a shard is due; times are seconds on the monotonic clock."""

    def __init__(self, rate: int, not_before: int = 0) -> None:
        """Read at most `rate` bytes a second, and nothing before a time in ms since the epoch."""
        self._rate = rate
        self._ready = time.monotonic() + max(0.0, not_before / 1000 - time.time()) if not_before else 0.0
        self._refusals = 0

    @property
    def seconds_left(self) -> float:
        """How long until the next call may be made."""
        return max(0.0, self._ready - time.monotonic())

    @property
    def ready_at(self) -> int:
        """When that is, in ms since the epoch."""
        return int((time.time() + self.seconds_left) * 1000)

    def answered(self, size: int, asked: float) -> None:
        """An answer of that many bytes has come to what was asked then: the service counts from there."""
        self._refusals = 0
        self._ready = asked + _MARGIN + max(_GAP, size / self._rate)

    def refused(self) -> None:
        """A call was refused, or failed: wait longer each time, and not when all others do."""
        self._refusals += 1
        longest = min(_LONGEST, _GAP * 2**self._refusals)
        self._ready = time.monotonic() + _GAP + random.uniform(0.0, longest)  # noqa: S311 (it keeps nothing secret)
