"""How long to wait before trying again."""

from __future__ import annotations

import random

FIRST = 0.5
LONGEST = 30.0


class Backoff:
    """Exponential waits with jitter; a success begins anew."""

    def __init__(self) -> None:
        self.attempt = 0
        """Failures in a row so far."""

    def next(self) -> float:
        """Seconds to wait before the next try."""
        longest = min(LONGEST, FIRST * 2**self.attempt)
        self.attempt += 1
        return random.uniform(longest / 2, longest)  # noqa: S311 (spreads retries, guards nothing)

    def reset(self) -> None:
        """The last try succeeded."""
        self.attempt = 0
