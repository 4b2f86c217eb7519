"""When a shard is caught up with although the service says that there is more.

Of a shard in which nothing is any more, it has been seen to say so for ever. Where there is more, answers without
records are nothing special, but each of them leads further on: what is left gets less.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

_MANY: Final = 5
"""Answers in a row, without records and no further on, after which there is nothing more."""

_TICK: Final = 1000
"""Milliseconds by which an answer's date may be early."""


class Reported(Protocol):
    """What an answer, or an event, says of a shard."""

    @property
    def records(self) -> Sequence[object]:
        """What it brings."""

    @property
    def behind(self) -> int:
        """How far it is from the newest record of the shard, in ms."""

    @property
    def date(self) -> int:
        """When the service gave it, in ms since the epoch."""


@dataclass(slots=True)
class Standstill:
    """Follows the answers that a shard gives."""

    span: float | None = None
    """Seconds over which two answers are as good as many; None where a shard answers as often as it is asked."""

    _count: int = 0
    """Answers in a row that led no further."""

    _behind: int = 0
    """What the first of them said was left, in ms."""

    _since: float = 0.0
    """When the first of them came, in seconds on the monotonic clock."""

    _dates: tuple[int, ...] = ()
    """The dates of the last of them, as many as it takes."""

    def read_through(self, answer: Reported) -> int:
        """By when what had arrived is read with an answer, in ms since the epoch."""
        if answer.records or not answer.behind:
            self._count = 0
        elif not self._count or answer.behind < self._behind:
            self._count, self._behind, self._dates = 1, answer.behind, (answer.date,)
            self._since = time.monotonic()
        else:
            self._count += 1
            self._dates = (*self._dates, answer.date)[-_MANY:]
        return self._dates[0] - _TICK if self.is_reached else answer.date - answer.behind

    @property
    def is_reached(self) -> bool:
        """Whether the shard is caught up with, whatever the service says."""
        is_long = self.span is not None and time.monotonic() - self._since >= self.span
        return self._count >= _MANY or (self._count > 1 and is_long)
