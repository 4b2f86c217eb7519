"""What a connector may be doing."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """What a connector is doing."""

    OPENING = "OPENING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    RETRYING = "RETRYING"
    FENCED = "FENCED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"


ENDED = frozenset({State.FENCED, State.FAILED, State.STOPPED})
"""States from which a connector does not come back."""
