"""How long to wait before something that failed is tried again."""

from __future__ import annotations

import random
from typing import Final

FIRST: Final = 0.5
"""Seconds to wait after the first failure; each further one doubles it."""

LONGEST: Final = 60.0
"""Seconds to wait at most."""

_DOUBLINGS: Final = 20
"""After so many the wait is the longest."""


def wait_after(attempt: int) -> float:
    """Seconds to wait after the attempt of that number, counted from 1, has failed."""
    return spread(min(LONGEST, FIRST * 2 ** min(attempt - 1, _DOUBLINGS)))


def spread(seconds: float) -> float:
    """A wait of half to all of `seconds`, so that those who failed together do not come back together."""
    return random.uniform(seconds / 2, seconds)  # noqa: S311 (spreads retries, guards nothing)
