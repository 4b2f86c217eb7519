"""Step 5 of the cycle: give a table that frazil created, and that holds no row yet, its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.tasks import Tasks
from frazil.model import Drift, SchemaChange, StagedTable, TableName
from frazil.pipes.evolution import schema_change
from frazil.pipes.naming import normalized
from frazil.records.new_keys import NewKeys

_log = structlog.get_logger(__name__)


class Evolving:
    """Adds columns to the tables of one connector."""

    def __init__(self, settings: ConnectorSettings, tasks: Tasks, tables: Mapping[TableName, OpenTable]) -> None:
        self._settings = settings
        self._tasks = tasks
        self._tables = tables

    def evolve(self, drifted: tuple[TableName, Sequence[StagedTable]]) -> None:
        """Give one table the columns that its tasks found keys for."""
        name, parts = drifted
        opened = self._tables[name]
        drift = NewKeys(self._tasks.column_budget(opened))
        for part in parts:
            drift.note_all(part.drift)
        change = self._change(drift)
        opened.table.evolve(change)
        self._tasks.reshape(name)
        _log.info(
            "created columns",
            table=str(name),
            columns={key: str(kind) for key, kind in change.add.items()},
        )
        if not self._tasks.column_budget(opened):
            _log.warning(
                "a new table has as many columns as frazil.columns.max allows; values of other keys are dropped",
                table=str(name),
                most=self._settings.columns_max,
            )

    def _change(self, drift: Drift) -> SchemaChange:
        name = normalized if self._settings.normalize_columns else str
        return schema_change(drift, self._settings.nested_type, name)
