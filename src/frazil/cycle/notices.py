"""What a connector tells people of its records: keys without a column, and rejects."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.reject_log import RejectLog
from frazil.model import Staged, TableName
from frazil.records.dropped import Dropped

_log = structlog.get_logger(__name__)


class Notices:
    """Counts and logs, commit by commit, what one connector met."""

    def __init__(self, settings: ConnectorSettings) -> None:
        self._rejects = RejectLog(settings.name, values=settings.errors_log_include_messages)
        self._logs_rejects = settings.errors_log_enable
        self.dropped = Dropped()
        """Values of keys that have no column, by `<table>.<key>`."""

    def committed(self, name: TableName, staged: Sequence[Staged]) -> None:
        """Take note of what one commit holds."""
        for task in staged:
            for key, count in task.dropped.items():
                new = self.dropped.note(f"{name}.{key}", count)
                if new is not None:
                    new = new.removeprefix(f"{name}.")
                    _log.warning("a key has no column; its values are dropped and counted", table=str(name), key=new)
            if task.rejects and self._logs_rejects:
                self._rejects.add(str(name), task.rejects.kinds)

    def look(self) -> None:
        """Log what is due by now."""
        self._rejects.look()

    def close(self) -> None:
        """Log what is left."""
        self._rejects.close()
