"""Tables that are gone, or others than they were: what `frazil.on.table.missing` and `.replaced` make of them."""

from __future__ import annotations

from dataclasses import replace

import structlog

from frazil.config import ConnectorSettings
from frazil.errors import FrazilError, TableBegunAnew, TableMissing, TableRenewed, TableReplaced
from frazil.tables.rules.state import TableState
from frazil.tables.rules.tokens import Tokens, mirrored, read

_log = structlog.get_logger(__name__)


class TablePolicy:
    """Decides for one connector."""

    def __init__(self, settings: ConnectorSettings) -> None:
        self._settings = settings

    def choice(self, error: TableMissing | TableReplaced) -> str:
        """What the configuration says: `fail`, `continue` or `earliest`."""
        gone = isinstance(error, TableMissing)
        return self._settings.on_table_missing if gone else self._settings.on_table_replaced

    def weighed(self, error: TableMissing | TableReplaced) -> FrazilError:
        """What it means in the middle of a cycle: the end, or opening another table."""
        choice = self.choice(error)
        return error if choice == "fail" else TableRenewed(error, choice)

    def known(self, state: TableState, table: str) -> tuple[Tokens | None, tuple[type[TableBegunAnew], ...]]:
        """The tokens to go on from when a table is opened, and what to overlook when they are replaced.

        Raises:
            TableBegunAnew: the table was replaced in place, and the configuration says to stop.
        """
        try:
            return read(state, table, self._settings.key), ()
        except TableBegunAnew as error:
            choice = self.choice(error)
            mirror = mirrored(state, table, self._settings.key)
            if choice == "fail" or mirror is None:
                raise
            _log.warning("a table was replaced in place", connector=self._settings.name, table=table, going_on=choice)
            return mirror if choice == "continue" else replace(mirror, topics={}), (TableBegunAnew,)
