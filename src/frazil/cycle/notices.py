"""What a connector tells people of its records: keys without a column, and rejects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.reject_log import RejectLog
from frazil.model import Staged, TableName
from frazil.sql import LONGEST_NAME

OTHER: Final = "(other keys)"
"""What keys that are one too many are counted as."""

_MOST: Final = 1000
"""Keys told apart: where keys are made up record by record, there is no end of them."""

_log = structlog.get_logger(__name__)


class Notices:
    """Counts and logs, commit by commit, what one connector met."""

    def __init__(self, settings: ConnectorSettings) -> None:
        self._rejects = RejectLog(settings.name, values=settings.errors_log_include_messages)
        self._logs_rejects = settings.errors_log_enable
        self.dropped: Counter[str] = Counter()
        """Values of keys that have no column, by `<table>.<key>`."""

    def committed(self, name: TableName, staged: Sequence[Staged]) -> None:
        """Take note of what one commit holds."""
        for task in staged:
            for key, count in task.dropped.items():
                self._drop(name, key if len(key) <= LONGEST_NAME else f"{key[:LONGEST_NAME]}…", count)
            if task.rejects and self._logs_rejects:
                self._rejects.add(str(name), task.rejects.kinds)

    def _drop(self, name: TableName, key: str, count: int) -> None:
        known = f"{name}.{key}"
        if known not in self.dropped and len(self.dropped) >= _MOST:
            key, known = OTHER, f"{name}.{OTHER}"
        if known not in self.dropped:
            _log.warning("a key has no column; its values are dropped and counted", table=str(name), key=key)
        self.dropped[known] += count

    def look(self) -> None:
        """Log what is due by now."""
        self._rejects.look()

    def close(self) -> None:
        """Log what is left."""
        self._rejects.close()
