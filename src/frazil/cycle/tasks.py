"""Ranges as tasks: with all a worker needs to stage them, for the shape their table has in this cycle."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from frazil.config import ConnectorSettings
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.table_pool import TablePool, errors_in
from frazil.errors import FrazilError
from frazil.model import Range, SourcePartition, TableName, Task, WriteShape
from frazil.pipes.record_metadata import is_metadata
from frazil.records.new_keys import width_of
from frazil.sources.base import Source
from frazil.tables import reject_lists
from frazil.tables.rules.checks import require_clock
from frazil.tables.rules.orphans import last_commit
from frazil.tables.rules.stages import Stage


class Tasks:
    """Makes the tasks of one connector; all tasks of a cycle stage for the same shape of a table."""

    def __init__(
        self,
        settings: ConnectorSettings,
        source: Source,
        tables: Mapping[TableName, OpenTable],
        together: TablePool,
    ) -> None:
        self._settings = settings
        self._together = together
        self._source = source
        self._tables = tables
        self._shapes: dict[TableName, WriteShape] = {}
        self._stages: dict[TableName, Stage] = {}
        """The stages of this cycle."""

        self._begun: dict[TableName, list[Stage]] = {}
        """The stages from the present tokens of each table, this cycle's included."""

        self._leaders: Mapping[SourcePartition, int | None] = {}
        self._numbers = itertools.count(1)
        self.began = time.monotonic()
        """When this cycle's stages began, in seconds on the monotonic clock."""

    def begin(self, leaders: Mapping[SourcePartition, int | None]) -> None:
        """Another cycle begins: every table has a new stage, and its shape is looked at anew.

        Args:
            leaders: the epochs of the leaders that it was planned with.
        """
        self._leaders = leaders
        self._shapes.clear()
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

    def reshape(self, name: TableName) -> None:
        """The shape of a table has changed within the cycle."""
        self._shapes.pop(name, None)

    def of_groups(
        self, groups: Sequence[Sequence[Range]], tables: Mapping[TableName, OpenTable]
    ) -> tuple[list[list[Task]], dict[TableName, FrazilError]]:
        """The tasks for groups of ranges, a group each; and why there are none for some of the tables.

        A task has the ranges of one topic: they go to one table, through one consumer.

        Args:
            groups: what to read.
            tables: those that take part; ranges that go to other ones are left out.
        """
        errors: dict[TableName, FrazilError] = {}
        made: list[list[Task]] = []
        for group in groups:
            tasks: list[Task] = []
            for ranges in _by_topic(group):
                name = self._opened(ranges).table.name
                if name not in tables or name in errors:
                    continue
                try:
                    tasks.append(self.task(ranges))
                except FrazilError as error:
                    errors[name] = error
            made.append(tasks)
        sound = ([task for task in tasks if task.shape.table not in errors] for tasks in made)
        return [tasks for tasks in sound if tasks], errors

    def look(self, ranges: Sequence[Range]) -> dict[TableName, FrazilError]:
        """Look at the shapes of the tables that ranges go to; why that cannot be done, by table."""
        topics = {each.partition.topic for each in ranges}
        tables = {name: each for name, each in self._tables.items() if topics & each.topics}
        return errors_in(tables, self._together.each(self._shape, [*tables.values()]))

    def task(self, ranges: Sequence[Range]) -> Task:
        """The task for ranges of one topic."""
        opened = self._opened(ranges)
        stage, number = self.stage(opened), next(self._numbers)
        shape, name = self._shape(opened), opened.table.name
        data_path = opened.table.new_data_path(stage.data_file(number))
        rejects_path = reject_lists.new_reject_path(opened.table, stage, number)
        return Task(
            connector=self._settings.key,
            ranges=tuple(self._with_epochs(opened, each) for each in ranges),
            shape=shape,
            data_path=data_path,
            data_access=self.access(name, data_path),
            rejects_path=rejects_path,
            rejects_access=self.access(name, rejects_path),
            reader=self._source.reader_config(),
            conversion=self._settings.conversion,
            tolerance=self._settings.errors_tolerance,
            most_bytes=self._settings.cycle_max_bytes,
            column_budget=self.column_budget(opened),
            synced=self._settings.disk_sync,
        )

    def column_budget(self, opened: OpenTable) -> int:
        """How many columns a table may still get."""
        columns = (column.type for column in self._shape(opened).columns if not is_metadata(column))
        return max(0, self._settings.columns_max - width_of(columns))

    def access(self, table: TableName, location: str) -> Mapping[str, str]:
        """What opens the storage at a location that a table keeps files in."""
        return self._tables[table].table.access(location)

    def _with_epochs(self, opened: OpenTable, wanted: Range) -> Range:
        """A range with what tells whether it is read from the log that the tokens and the plan speak of."""
        known, leader = opened.tokens.channel(wanted.partition), self._leaders.get(wanted.partition)
        follows = known.token is not None and wanted.start == int(known.token) + 1
        return replace(wanted, start_epoch=known.leader_epoch if follows else leader, end_epoch=leader)

    def _opened(self, ranges: Sequence[Range]) -> OpenTable:
        topic = ranges[0].partition.topic
        return next(table for table in self._tables.values() if topic in table.topics)

    def _shape(self, opened: OpenTable) -> WriteShape:
        name = opened.table.name
        if name not in self._shapes:
            # A column that somebody added since the last commit is there for the records that follow.
            opened.table.refresh()
            require_clock(opened.table.state(), str(name), time.time())
            shape = self._shapes[name] = opened.table.shape()
            self._shapes[name] = replace(shape, evolves=shape.evolves and self.column_budget(opened) > 0)
        return self._shapes[name]


def _by_topic(ranges: Sequence[Range]) -> list[list[Range]]:
    found: dict[str, list[Range]] = {}
    for each in ranges:
        found.setdefault(each.partition.topic, []).append(each)
    return [*found.values()]
