"""Ranges as tasks: with all a worker needs to stage them, for the shape their table has in this cycle."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from frazil.config import ConnectorSettings
from frazil.cycle import whole_records
from frazil.cycle.branching import Branching
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.pipes import Pipes, stored_pipes
from frazil.cycle.planning import by_topic
from frazil.cycle.routes import fed_by, needs, own_starts
from frazil.cycle.schema_rules import rules_for
from frazil.cycle.table_pool import TablePool, errors_in
from frazil.errors import FrazilError
from frazil.model import (
    Conversion,
    PipeSpec,
    Range,
    TableName,
    TableRules,
    TableTask,
    Task,
    WriteShape,
    is_rescued_name,
)
from frazil.pipes.forms import form_of
from frazil.pipes.stored import of_channel
from frazil.records.new_keys import width_of
from frazil.sources.base import Source
from frazil.tables import outbox
from frazil.tables.rules.checks import require_clock
from frazil.tables.rules.orphans import last_commit
from frazil.tables.rules.stages import Stage

_LOOK_EVERY: Final = 20.0
"""Seconds between two looks at the shape of a table that gets nothing: there may be a hundred of them."""


class Tasks:
    """Makes the tasks of one connector; all tasks of a cycle stage for the same shape of a table."""

    def __init__(
        self,
        settings: ConnectorSettings,
        source: Source,
        tables: Mapping[TableName, OpenTable],
        together: TablePool,
        branching: Branching,
    ) -> None:
        self._settings = settings
        self._branching = branching
        self._together = together
        self._source = source
        self._tables = tables
        self._shapes: dict[TableName, WriteShape] = {}
        self._pipes = Pipes(settings)
        self._pipe_of: dict[tuple[TableName, str], PipeSpec | None] = {}
        """The users' pipes of this cycle, by table and topic."""

        self._widths: dict[TableName, int] = {}
        """How many columns tables had when the cycle began."""

        self._kept: dict[TableName, WriteShape] = {}
        """The shapes found last, of earlier cycles too."""

        self._stages: dict[TableName, Stage] = {}
        """The stages of this cycle."""

        self._begun: dict[TableName, list[Stage]] = {}
        """The stages from the present tokens of each table, this cycle's included."""

        self._sends_on = source.output() is not None
        self._makes_columns = settings.contract.columns == "evolve" and settings.schematization
        self._numbers = itertools.count(1)
        self.began = time.monotonic()
        """When this cycle's stages began, in seconds on the monotonic clock."""

    def begin(self) -> None:
        """Another cycle begins: every table has a new stage, and its shape is looked at anew."""
        self._shapes.clear()
        self._pipe_of.clear()
        self._widths.clear()
        self._stages.clear()
        self.began = time.monotonic()

    def stage(self, opened: OpenTable) -> Stage:
        """The stage of a table in this cycle."""
        name = opened.table.name
        if name not in self._stages:
            stage = Stage.begin(self._settings.key, opened.tokens.commit)
            self._stages[name] = stage
            self._begun[name] = [*(each for each in self._begun.get(name, []) if each.base == stage.base), stage]
        return self._stages[name]

    def abandoned(self, opened: OpenTable) -> list[str]:
        """Earlier stages from the present tokens: once this cycle's is committed, those can never be."""
        *earlier, _ = self._begun[opened.table.name]
        if not earlier or not last_commit(opened.table.state(), opened.tokens, self._settings.key):
            return []
        return [each.id for each in earlier]

    def rebase(self, opened: OpenTable) -> None:
        """The tokens of a table were committed anew within the cycle: its stages go on from there."""
        name, base = opened.table.name, opened.tokens.commit
        if name in self._stages:
            self._stages[name] = replace(self._stages[name], base=base)
            self._begun[name] = [replace(each, base=base) for each in self._begun[name]]

    def reshape(self, name: TableName) -> None:
        """The shape of a table has changed within the cycle."""
        self._shapes.pop(name, None)
        for key in [key for key in self._pipe_of if key[0] == name]:
            del self._pipe_of[key]
        self._tables[name].looked_at = -math.inf

    def of_groups(
        self, groups: Sequence[Sequence[Range]], tables: Mapping[TableName, OpenTable]
    ) -> tuple[list[list[Task]], dict[TableName, FrazilError]]:
        """The tasks for groups of ranges, a group each; and why some of the tables have no part in them.

        A task has the ranges of one topic, for one client reads them, and stages for all tables that it feeds.

        Args:
            groups: what to read.
            tables: those that take part.
        """
        topics = {each.partition.topic for group in groups for each in group}
        errors = self._look(topics, tables)
        made: list[list[Task]] = []
        for group in groups:
            tasks = [self._task(ranges, tables, errors) for ranges in by_topic(group)]
            made.append([task for task in tasks if task is not None])
        sound = ([_without(task, errors) for task in tasks] for tasks in made)
        return [kept for tasks in sound if (kept := [task for task in tasks if task.tables])], errors

    def _look(self, topics: AbstractSet[str], tables: Mapping[TableName, OpenTable]) -> dict[TableName, FrazilError]:
        """Look at the shapes of the tables that topics feed; why that cannot be done, by table."""
        fed = {name: each for name, each in tables.items() if topics & each.topics}
        return errors_in(fed, self._together.each(self._shape, [*fed.values()]))

    def _task(
        self,
        ranges: Sequence[Range],
        tables: Mapping[TableName, OpenTable],
        errors: dict[TableName, FrazilError],
    ) -> Task | None:
        """The task for ranges of one topic; None if no table lacks anything of them."""
        parts = []
        topic = ranges[0].partition.topic
        route = self._branching.route(topic)
        if route is None and self._branching.is_on:
            return None
        for name, opened in fed_by(topic, tables).items():
            if name in errors or not needs(opened, ranges):
                continue
            try:
                parts.append(self._part(opened, ranges[0].partition.topic, ranges))
            except FrazilError as error:
                errors[name] = error
        if not parts:
            return None
        return Task(
            connector=self._settings.key,
            ranges=tuple(ranges),
            tables=tuple(parts),
            reader=self._source.reader(),
            conversion=self._settings.conversion,
            tolerance=self._settings.errors_tolerance,
            most_bytes=self._settings.cycle_max_bytes,
            synced=self._settings.disk_sync,
            route=route,
        )

    def _part(self, opened: OpenTable, topic: str, ranges: Sequence[Range]) -> TableTask:
        stage, number = self.stage(opened), next(self._numbers)
        shape, pipe, name = *self._piped(opened, topic), opened.table.name
        budget = self.column_budget(opened)
        data_file = stage.data_file(number)
        data_path = opened.table.new_data_path(data_file)
        output_path = outbox.new_path(opened.table, stage.output_file(number)) if self._sends_on else None
        rejects_path = outbox.new_path(opened.table, stage.reject_file(number))
        return TableTask(
            shape=replace(shape, evolves=shape.evolves and budget > 0 and self._makes_columns),
            data_path=data_path,
            data_access=self.access(name, data_path),
            rejects_path=rejects_path,
            rejects_access=self.access(name, rejects_path),
            output_path=output_path,
            output_access=self.access(name, output_path) if output_path else {},
            column_budget=budget,
            rules=self.rules(opened),
            partitions_at=opened.table.partition_place(data_file) if shape.layout.partition else None,
            pipe=pipe,
            starts=own_starts(opened, ranges),
        )

    def _piped(self, opened: OpenTable, topic: str) -> tuple[WriteShape, PipeSpec | None]:
        """What files of a topic's records are staged for, and the user's pipe that they come through."""
        shape, name = self._shape(opened), opened.table.name
        if (name, topic) not in self._pipe_of:
            opened.pipes = tuple(stored_pipes(opened.table.state()))
            self._pipe_of[name, topic] = self._pipes.of(opened.table, topic, shape.columns)
        pipe = self._pipe_of[name, topic]
        if pipe is None:
            return replace(shape, pipe_name=self._pipes.name(topic)), None
        return replace(shape, pipe_name=pipe.name, pipe=pipe.identity, evolves=False), pipe

    def pipe_of(self, opened: OpenTable, topic: str) -> str:
        """The name of the pipe that a topic's records come through to a table, as far as is known."""
        return of_channel(opened.pipes, self._pipes.name(topic), opened.table.name.name)

    def column_budget(self, opened: OpenTable) -> int:
        """How many columns a table may still get in this cycle."""
        shape = self._shape(opened)
        now = width(shape, self._settings.conversion)
        left = self._settings.columns_max - now
        if shape.has_rows:
            left = min(left, self._settings.columns_per_cycle - (now - self._widths[shape.table]))
        return max(0, left)

    def rules(self, opened: OpenTable) -> TableRules:
        """What becomes of values that a table has no place for."""
        return rules_for(self._settings.contract, self._shape(opened))

    def access(self, table: TableName, location: str) -> Mapping[str, str]:
        """What opens the storage at a location that a table keeps files in."""
        return self._tables[table].table.access(location)

    def _shape(self, opened: OpenTable) -> WriteShape:
        """The shape of a table as its catalog tells it, the same throughout the cycle unless frazil changes it."""
        name = opened.table.name
        if name not in self._shapes and opened.holds and time.monotonic() - opened.looked_at < _LOOK_EVERY:
            self._shapes[name] = self._kept[name]
        if name not in self._shapes:
            # A column that somebody added since the last commit is there for the records that follow.
            opened.table.refresh()
            require_clock(opened.table.state(), str(name), time.time())
            # Likewise one that somebody dropped.
            stored = stored_pipes(opened.table.state())
            if any(self._pipes.is_default(name, topic, stored) for topic in opened.topics):
                whole_records.prepare(opened.table, self._settings.conversion)
            shape = self._shapes[name] = opened.table.shape()
            self._kept[name], opened.looked_at = shape, time.monotonic()
        self._widths.setdefault(name, width(self._shapes[name], self._settings.conversion))
        return self._shapes[name]


def width(shape: WriteShape, conversion: Conversion) -> int:
    """How many columns a table has, those of frazil's own not among them."""
    form = form_of(conversion)
    own = (column for column in shape.columns if form.is_column(column) or is_rescued_name(column.name))
    return width_of(column.type for column in shape.columns) - width_of(column.type for column in own)


def _without(task: Task, errors: Mapping[TableName, FrazilError]) -> Task:
    return replace(task, tables=tuple(part for part in task.tables if part.shape.table not in errors))
