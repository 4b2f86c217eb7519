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

    def __init__(self, rate: int, owed: float = 0.0) -> None:
        """Read at most `rate` bytes a second, and nothing for as many seconds as are owed."""
        self._rate = rate
        self.ready_at = time.monotonic() + owed
        """When the next call may be made."""

        self._refusals = 0

    @property
    def seconds_left(self) -> float:
        """How long until the next call may be made."""
        return max(0.0, self.ready_at - time.monotonic())

    def answered(self, size: int, asked: float) -> None:
        """An answer of that many bytes has come to what was asked then: the service counts from there."""
        self._refusals = 0
        self.ready_at = asked + _MARGIN + max(_GAP, size / self._rate)

    def refused(self) -> None:
        """A call was refused, or failed: wait longer each time, and not when all others do."""
        self._refusals += 1
        longest = min(_LONGEST, _GAP * 2**self._refusals)
        self.ready_at = time.monotonic() + _GAP + random.uniform(0.0, longest)  # noqa: S311 (it keeps nothing secret)
