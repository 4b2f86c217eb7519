"""Step 5 of the cycle: change a table so that records land that do not fit it yet, in one commit a cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.tasks import Tasks
from frazil.model import (
    RESCUED,
    IcebergType,
    Primitive,
    SchemaChange,
    StagedTable,
    TableName,
    TableRules,
    is_rescued_name,
)
from frazil.pipes.changes import together, within
from frazil.pipes.evolution import conversion_for, schema_change
from frazil.pipes.naming import normalized
from frazil.records.new_keys import NewKeys, width_of

_log = structlog.get_logger(__name__)


class Evolving:
    """Changes the columns of the tables of one connector."""

    def __init__(self, settings: ConnectorSettings, tasks: Tasks, tables: Mapping[TableName, OpenTable]) -> None:
        self._settings = settings
        self._tasks = tasks
        self._tables = tables

    def evolve(self, outgrown: tuple[TableName, Sequence[StagedTable]]) -> None:
        """Change one table as its tasks found that it has to."""
        name, parts = outgrown
        opened = self._tables[name]
        change = change_for(self._settings, parts, self._tasks.column_budget(opened), self._tasks.rules(opened))
        opened.table.evolve(change)
        self._tasks.reshape(name)
        _log.info("changed columns", table=str(name), **_told(change))
        if parts[0].shape.evolves and not self._tasks.column_budget(opened):
            _log.warning(
                "a table gets no more columns from keys in this cycle, by frazil.columns.max or "
                "frazil.columns.max.per.cycle",
                table=str(name),
                other_keys=self._tasks.rules(opened).columns,
            )


def change_for(
    settings: ConnectorSettings, parts: Sequence[StagedTable], budget: int, rules: TableRules
) -> SchemaChange:
    """What a table has to become for what was staged for it.

    Args:
        settings: the connector's.
        parts: what tasks staged for the table.
        budget: how many columns it may still get.
        rules: what becomes of values that it has no place for.
    """
    drift = NewKeys(budget)
    for part in parts:
        drift.note_all(part.drift)
    nested = conversion_for(settings.conversion, parts[0].shape).nested_type
    new = schema_change(drift, nested, normalized if settings.normalize_columns else str)
    asked = together(part.change for part in parts)
    fields = within(asked.grow, budget - width_of(new.add.values()))
    change = replace(asked, add={**new.add, **asked.add}, grow=fields)
    beyond = drift.is_exceeded or len(fields) < len(asked.grow)
    if beyond and rules.columns == "rescue":
        # What comes beyond these is to land in the same cycle, and with one commit.
        change = replace(change, add={**change.add, **_rescued(parts, nested)})
    return change


def _told(change: SchemaChange) -> dict[str, object]:
    """What changed, for the log."""
    told: dict[str, object] = {
        "added": {key: str(kind) for key, kind in change.add.items()},
        "fields": {".".join(path): str(kind) for path, kind in change.grow.items()},
        "widened": {".".join(path): str(kind) for path, kind in change.widen.items()},
        "nullable": sorted(map(".".join, change.relax)),
    }
    return {what: value for what, value in told.items() if value}


def _rescued(parts: Sequence[StagedTable], nested: str) -> Mapping[str, IcebergType]:
    """The column of rescued values, for a table that has none."""
    if any(is_rescued_name(column.name) for column in parts[0].shape.columns):
        return {}
    return {RESCUED: Primitive("variant" if nested == "variant" else "string")}
