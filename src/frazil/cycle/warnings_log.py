"""What a connector tells people of its records: keys without a column, and rejects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.reject_log import RejectLog
from frazil.model import StagedTable, TableName
from frazil.records.dropped import Dropped

_LINES: Final = 20
"""Keys a commit tells of by name: records may hold any number of them."""

_log = structlog.get_logger(__name__)


class WarningsLog:
    """Counts and logs, commit by commit, what one connector met."""

    def __init__(self, settings: ConnectorSettings) -> None:
        self._rejects = RejectLog(settings.name, values=settings.errors_log_include_messages)
        self._logs_rejects = settings.errors_log_enable
        self.dropped = Dropped()
        """Values of keys that have no column, by `<table>.<key>`."""

    def committed(self, name: TableName, staged: Sequence[StagedTable]) -> None:
        """Take note of what one commit holds."""
        new: list[str] = []
        for part in staged:
            for key, count in part.dropped.items():
                noted = self.dropped.note(f"{name}.{key}", count)
                if noted is not None:
                    new.append(noted.removeprefix(f"{name}."))
            if part.rejects and self._logs_rejects:
                self._rejects.add(str(name), part.rejects.kinds)
        for key in new[:_LINES]:
            _log.warning("a key has no column; its values are dropped and counted", table=str(name), key=key)
        if len(new) > _LINES:
            more = len(new) - _LINES
            _log.warning("more keys have no columns; their values are dropped and counted", table=str(name), keys=more)

    def look(self) -> None:
        """Log what is due by now."""
        self._rejects.look()

    def close(self) -> None:
        """Log what is left."""
        self._rejects.close()
