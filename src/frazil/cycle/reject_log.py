"""`errors.log.enable`: rejects in the log, at most one line a minute for each kind of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import structlog

from frazil.model import RejectKind
from frazil.staging.rejects import OTHER

_EVERY: Final = 60.0
"""Seconds between two lines for the same kind."""

_MOST: Final = 200
"""Kinds that are counted each; a topic can hold more of them than a log is for."""

_log = structlog.get_logger(__name__)

_Key = tuple[str, str, str | None, str]


@dataclass(slots=True)
class _Line:
    """What is known of one kind."""

    first: RejectKind
    """The first since the last line."""

    count: int = 0
    """Rejects since the last line."""

    logged: float | None = None
    """When the last line was written."""


class RejectLog:
    """The log of one connector's rejects."""

    def __init__(self, connector: str, *, values: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """Log for `connector`; with `values`, what a record holds is shown, as `errors.log.include.messages` asks."""
        self._connector = connector
        self._values = values
        self._clock = clock
        self._lines: dict[_Key, _Line] = {}

    def add(self, table: str, kinds: Iterable[RejectKind]) -> None:
        """Count rejects; `look` logs them."""
        for each in kinds:
            key = (table, each.code, each.column, each.reason)
            if key not in self._lines and len(self._lines) >= _MOST:
                key = (table, each.code, None, OTHER)
            line = self._lines.setdefault(key, _Line(each))
            if not line.count:
                line.first = each
            line.count += each.count

    def look(self) -> None:
        """Log each kind that has new rejects and was not logged within the last minute."""
        self._write(self._clock() - _EVERY)

    def close(self) -> None:
        """Log all that was not logged yet."""
        self._write(float("inf"))

    def _write(self, before: float) -> None:
        """Log the kinds whose last line is from `before` or older; forget those that had no reject since."""
        for key, line in list(self._lines.items()):
            if line.logged is not None and line.logged > before:
                continue
            if not line.count:
                del self._lines[key]
                continue
            self._tell(key, line)
            line.count, line.logged = 0, self._clock()

    def _tell(self, key: _Key, line: _Line) -> None:
        table, code, column, reason = key
        first = line.first.first
        shown = {"reason": first.reason, "value": first.start_of_value()} if self._values else {"reason": reason}
        _log.error(
            "records were rejected",
            connector=self._connector,
            table=table,
            code=code,
            column=column,
            count=line.count,
            first=f"{first.partition} at offset {first.offset}",
            **shown,
        )
