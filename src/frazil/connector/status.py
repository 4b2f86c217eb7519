"""What a connector is doing, for whoever asks, waits or listens."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import TypeVar

import structlog

from frazil.connector.states import ENDED, Condition, State
from frazil.cycle import CycleReport
from frazil.errors import FrazilError, Transient

_News = TypeVar("_News")

_log = structlog.get_logger(__name__)


class Status:
    """The state of one connector and what it waits for; written by its run, read by any thread."""

    def __init__(self, connector: str) -> None:
        """Of the connector of that name, which has not run yet."""
        self._connector = connector
        self.changed = threading.Condition()
        """Notified of every state that is entered, also of the same one again."""

        self.state = State.STOPPED
        self.error: FrazilError | None = None
        """Why it is RETRYING, FAILED or FENCED."""

        self.next_attempt: float | None = None
        """While RETRYING: when it tries again, in seconds since the epoch."""

        self.on_state: list[Callable[[State], None]] = []
        """Called with every other state that is entered. What a listener raises is logged, here and below."""

        self.on_cycle: list[Callable[[CycleReport], None]] = []
        """Called with the report of every cycle."""

    @property
    def condition(self) -> Condition:
        """The state, and why where that is trouble."""
        error = self.error
        return Condition(self.state, None if error is None else str(error))

    def enter(self, state: State) -> None:
        """Be in a state."""
        with self.changed:
            is_new = state != self.state
            self.state = state
            self.changed.notify_all()
        if is_new:
            self._tell(self.on_state, state)

    def begin(self) -> None:
        """A run begins; nothing is wrong with it yet."""
        self.error = None
        self.enter(State.OPENING)

    def retry(self, error: Transient, seconds: float) -> None:
        """A cycle was abandoned, and is tried again."""
        self.error = error
        self.next_attempt = time.time() + seconds
        self.enter(State.RETRYING)

    def work(self, report: CycleReport) -> None:
        """A cycle has come to its end: nothing is waited for any more."""
        self.error = self.next_attempt = None
        self._tell(self.on_cycle, report)

    def end(self, state: State, error: FrazilError | None) -> None:
        """A run has ended."""
        self.error = error
        self.next_attempt = None
        self.enter(state)

    def wait(self, condition: Callable[[], bool], deadline: float | None) -> bool:
        """Wait, holding `changed`, until `condition` or the deadline; whether it was the condition.

        Raises:
            FrazilError: what ended the connector before.
        """
        while not condition():
            if self.state in ENDED:
                if self.error is not None:
                    raise self.error
                return False
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            self.changed.wait(left)
        return True

    def _tell(self, listeners: list[Callable[[_News], None]], news: _News) -> None:
        for listener in [*listeners]:
            try:
                listener(news)
            except (Exception, SystemExit):  # noqa: BLE001 (whatever it is, records are landed all the same)
                # As text: a renderer that shows local variables would show the client's secrets.
                _log.error("a listener failed", connector=self._connector, traceback=traceback.format_exc())
