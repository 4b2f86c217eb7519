"""Clocks that tests set."""

from __future__ import annotations

import time


class Ahead:
    """Goes on by itself, and can be set forward."""

    def __init__(self) -> None:
        self.ahead = 0.0
        """Seconds."""

    def __call__(self) -> float:
        return time.time() + self.ahead
