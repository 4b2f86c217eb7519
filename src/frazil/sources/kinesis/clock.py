"""What time it is at the service, by the dates of its answers: clocks of connectors need not be right."""

from __future__ import annotations

import time
from typing import Final

_SECOND: Final = 1000
"""Milliseconds that a date leaves out at most."""

_ON_THE_WAY: Final = 500
"""Milliseconds that an answer may have taken to come here."""


class ServiceClock:
    """Goes on from the newest date that was heard; times are ms since the epoch. Any thread may ask."""

    def __init__(self) -> None:
        self._ahead = 0
        """How much the service's clock was ahead of ours, at least."""

    def hear(self, date: int) -> None:
        """Take the date of an answer that has just come; it is of whole seconds."""
        self._ahead = date - time.time_ns() // 1_000_000

    @property
    def moment(self) -> int:
        """What time it is there, or was within the last second or so."""
        return time.time_ns() // 1_000_000 + self._ahead

    @property
    def by_now(self) -> int:
        """A time that has not passed there when what is there now had come."""
        return self.moment + _SECOND + _ON_THE_WAY
