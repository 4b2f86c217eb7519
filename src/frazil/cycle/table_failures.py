"""Tables that fail by themselves: why each is left out of cycles, and when it is tried again."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import structlog

from frazil.cycle.backoff import wait_after
from frazil.errors import FrazilError, ShapeMoved, TableRenewed, TokensMoved, Transient
from frazil.model import TableName
from frazil.tables.rules.tokens import Tokens

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TableFailure:
    """Why a table is left out."""

    error: FrazilError
    attempt: int
    """How often in a row it was tried."""

    next_attempt: float | None
    """When it is tried again, on the monotonic clock; None if somebody has to change something first."""

    tokens: Tokens
    """What is known of its channels: their tokens, or that they have none because it could not be opened."""

    @property
    def is_final(self) -> bool:
        """Whether it is not tried again before the connector is started again."""
        return self.next_attempt is None


class TableFailures:
    """The tables of one connector that are left out. Other threads may look at any time."""

    def __init__(self, connector: str) -> None:
        """Begin without any; `connector` is the connector's name, for the log."""
        self._connector = connector
        self._failures: Mapping[TableName, TableFailure] = {}
        self._streaks: dict[TableName, tuple[int, type[FrazilError]]] = {}
        """How often in a row a table failed, and the error that was logged; also while it is tried again."""

    @property
    def failing(self) -> Mapping[TableName, TableFailure]:
        """The tables that are left out now."""
        return self._failures

    def add(self, name: TableName, error: FrazilError, tokens: Tokens) -> None:
        """Leave a table out: for a while, or for good where trying again cannot help.

        Each kind of error is logged once, however often it comes in a row.
        """
        before, logged = self._streaks.get(name, (0, None))
        attempt = before + 1
        wait = _wait(error, attempt) if isinstance(error, Transient) else None
        if logged is not type(error):
            self._log(name, error, wait)
        self._streaks[name] = (attempt, type(error))
        next_attempt = None if wait is None else time.monotonic() + wait
        self._failures = {**self._failures, name: TableFailure(error, attempt, next_attempt, tokens)}

    def knows(self, name: TableName, tokens: Tokens) -> None:
        """More is known of the channels of a table that is left out."""
        self._failures = {**self._failures, name: replace(self._failures[name], tokens=tokens)}

    def due(self) -> list[TableName]:
        """The tables to try again by now."""
        now = time.monotonic()
        return [
            name
            for name, failure in self._failures.items()
            if failure.next_attempt is not None and failure.next_attempt <= now
        ]

    def seconds_until_due(self) -> float | None:
        """How long until a table is to be tried again; None if there is none."""
        waiting = [each.next_attempt for each in self._failures.values() if each.next_attempt is not None]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    def try_again(self, name: TableName) -> None:
        """A table takes part in cycles again; should it fail, it waits longer than before."""
        self._failures = {each: failure for each, failure in self._failures.items() if each != name}

    def worked(self, names: Collection[TableName]) -> None:
        """Tables came through a cycle, or are gone: how often they failed before is past."""
        for name in self._streaks.keys() & set(names):
            del self._streaks[name]
            _log.info("a table goes on", connector=self._connector, table=str(name))

    def _log(self, name: TableName, error: FrazilError, wait: float | None) -> None:
        log = _log.info if wait == 0 else _log.error if wait is None else _log.warning
        log(
            "a table is left out, and the others go on",
            connector=self._connector,
            table=str(name),
            cause=str(error),
            next_attempt="after a restart" if wait is None else f"in {wait:.1f} s",
        )


def _wait(error: FrazilError, attempt: int) -> float:
    """Seconds until the next attempt. What only moved under us is planned again at once."""
    at_once = attempt == 1 and isinstance(error, TokensMoved | ShapeMoved | TableRenewed)
    return 0.0 if at_once else wait_after(attempt)
