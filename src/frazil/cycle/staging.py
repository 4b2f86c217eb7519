"""Steps 4 and 5 of the cycle: stage what was planned; where records do not fit yet, change tables and stage again."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle.accounting import average_sizes, beyond_first_reject, mixed, parts
from frazil.cycle.committing import by_table
from frazil.cycle.data_loss import DataLossPolicy
from frazil.cycle.evolving import Evolving
from frazil.cycle.identity import require_same_topics
from frazil.cycle.job import Job
from frazil.cycle.known_schemas import remember
from frazil.cycle.planning import described, gathered, spread
from frazil.cycle.table_pool import TablePool, errors_in
from frazil.cycle.table_set import TableSet
from frazil.cycle.tasks import Tasks
from frazil.cycle.uncommitted import Uncommitted
from frazil.errors import DataLoss, FrazilError, StageFailed, stage_error
from frazil.model import Position, Range, SourcePartition, Staged, StagedTable, StageFailure, TableName
from frazil.sources.base import Source, TopicFacts

_EVOLUTIONS: Final = 8
"""Times one cycle may change a table before its records are given up on."""


class Staging:
    """Stages the ranges of one connector."""

    def __init__(
        self,
        settings: ConnectorSettings,
        source: Source,
        job: Job,
        tables: TableSet,
        tasks: Tasks,
        together: TablePool,
        uncommitted: Uncommitted,
        losses: DataLossPolicy,
        sizes: dict[str, float],
    ) -> None:
        """Stage with `job`; `sizes` are the average bytes per record, by topic, and learn from what is staged."""
        self._settings = settings
        self._source = source
        self._job = job
        self._set = tables
        self._tasks = tasks
        self._together = together
        self._uncommitted = uncommitted
        self._losses = losses
        self._sizes = sizes
        self._evolving = Evolving(settings, tasks, tables.opened)
        self._number = 0

    def stage(self, planned: Sequence[Range], facts: Mapping[str, TopicFacts], number: int) -> list[Staged]:
        """Stage ranges, as cycle `number`; what was staged for tables that failed is left out.

        Raises:
            Transient, Terminal: nothing of it may be committed.
        """
        self._number = number
        self._tasks.begin()
        staged = self._restage_before_reject(
            self._evolved(self._run(spread(planned, self._sizes, self._most_tasks), planned), facts), planned
        )
        if (partition := mixed(staged)) is not None:
            raise StageFailed(str(partition), "its log was truncated while it was read")
        self._losses.look_again(planned)
        self._sizes.update(average_sizes(staged))
        topics = {each.partition.topic for task in staged for each in task.ranges if each.covered != each.start}
        now = self._source.facts(topics)
        for table in self._set.working().values():
            require_same_topics(table.tokens, [now[topic] for topic in table.topics & now.keys()])
        return staged

    @property
    def _most_tasks(self) -> int:
        """How many tasks are worth running at once."""
        return min(self._job.cores, self._settings.tasks_max or self._job.cores)

    def _run(self, groups: Sequence[Sequence[Range]], planned: Sequence[Range]) -> list[Staged]:
        """Stage groups of ranges, each in one Spark task; what was staged for tables that failed is left out."""
        tasks, errors = self._tasks.of_groups(groups, self._set.working())
        self._set.fail(errors)
        if not tasks:
            return []
        name = f"{self._settings.name}: cycle {self._number}"
        staged = self._job.run(tasks, f"{name}, {described(planned, self._sizes)}")
        self._uncommitted.add(staged)
        self._source.staged(each for task in staged for each in task.ranges)
        failed: dict[TableName, FrazilError] = {}
        for failure in (task.failure for task in staged if task.failure):
            if failure.table is None:
                raise self._failed(failure, planned)
            failed[failure.table] = self._failed(failure, planned)
        self._set.fail(failed)
        self._source.require_answers()
        done = self._of_working(task for task in staged if not task.failure)
        self._set.fail(remember(done, self._set.working()))
        return self._of_working(done)

    def _of_working(self, staged: Iterable[Staged]) -> list[Staged]:
        return only(staged, self._set.working())

    def _evolved(self, staged: Sequence[Staged], facts: Mapping[str, TopicFacts]) -> list[Staged]:
        """Step 5: change tables as their records need it, give new values their tables, and stage those again."""
        done = list(staged)
        for _ in range(_EVOLUTIONS):
            if not any(_drifts(task) for task in done):
                return done
            self._admit(done, facts)
            drifted = by_table(part for part in parts(done) if part.is_outgrown)
            if drifted:
                faults.reach("before_evolve")
            answers = self._together.each(self._evolving.evolve, [*drifted.items()])
            self._set.fail(errors_in(drifted, answers))
            if drifted:
                faults.reach("after_evolve")
            done = self._of_working(done)
            again = [_again(task) for task in done if _drifts(task)]
            done = [task for task in done if not _drifts(task)]
            groups = gathered(again, self._sizes, self._most_tasks)
            done += self._run(groups, [each for ranges in again for each in ranges])
            done = self._of_working(done)
        reason = f"{_EVOLUTIONS} rounds of new columns and tables were not enough"
        stuck = [task for task in done if _drifts(task)]
        failed = {part.shape.table for task in stuck for part in task.tables if part.is_outgrown or task.new_values}
        self._set.fail({name: StageFailed(f"records of {name}", reason) for name in failed})
        return self._of_working(task for task in done if task not in stuck)

    def _admit(self, staged: Iterable[Staged], facts: Mapping[str, TopicFacts]) -> None:
        """Have tables for new values; a topic whose values cannot have them just now waits for its own table."""
        new: dict[str, dict[str, str]] = {}
        for task in staged:
            for name, value in task.new_values.items():
                found = new.setdefault(task.ranges[0].partition.topic, {})
                found[name] = min(value, found.get(name, value))
        errors: dict[TableName, FrazilError] = {}
        for topic, values in new.items():
            try:
                self._set.branching.admit(facts[topic], values)
            except FrazilError as error:
                errors[self._set.branching.own(topic)] = error
            if (own := self._set.opened.get(self._set.branching.own(topic))) is not None:
                self._tasks.rebase(own)
        self._set.fail(errors)

    def _restage_before_reject(self, staged: Sequence[Staged], planned: Sequence[Range]) -> list[Staged]:
        """Where a bad record ended a range: stage again, without what lies behind it, tasks that hold such rows."""
        found = beyond_first_reject(staged, planned)
        if not found:
            return list(staged)
        lost = [task for task, _ in found]
        cut = [good for _, good in found if good]
        groups = gathered(cut, self._sizes, self._most_tasks)
        again = self._run(groups, [each for good in cut for each in good]) if cut else []
        rejects_only = [
            Staged((), tuple(StagedTable(part.shape, (), rejects=part.rejects) for part in task.tables))
            for task in lost
        ]
        return self._of_working([task for task in staged if task not in lost] + again + rejects_only)

    def _failed(self, failure: StageFailure, planned: Sequence[Range]) -> FrazilError:
        if failure.error != DataLoss.code or failure.partition is None:
            return stage_error(failure.error, failure.message, self._settings.source.address)
        starts: dict[SourcePartition, Position] = {}
        for each in planned:
            known = starts.get(each.partition)
            starts[each.partition] = each.start if known is None or each.start < known else known
        return self._losses.error(failure.partition, starts)


def only(staged: Iterable[Staged], tables: Container[TableName]) -> list[Staged]:
    """What was staged for some of the tables."""
    kept = [replace(task, tables=tuple(part for part in task.tables if part.shape.table in tables)) for task in staged]
    return [task for task in kept if task.tables]


def _drifts(task: Staged) -> bool:
    """Whether nothing of a task can be committed yet: there is no place for some of its records."""
    return bool(task.new_values) or any(part.is_outgrown for part in task.tables)


def _again(task: Staged) -> list[Range]:
    return [Range(each.partition, each.start, each.covered) for each in task.ranges]
