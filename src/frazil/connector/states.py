"""What a connector may be doing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What a connector is doing; `HELD` is a channel only, whose records its source does not give."""

    OPENING = "OPENING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    RETRYING = "RETRYING"
    HELD = "HELD"
    FENCED = "FENCED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"


ENDED = frozenset({State.FENCED, State.FAILED, State.STOPPED})
"""States from which a connector does not come back."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a connector, or one of its tables, is doing, and why where that is trouble."""

    state: str
    """One of `State`."""

    reason: str | None = None
    """The error that it waits out or that ended it."""
