"""The cycle: plan → stage → commit. This is the page to read first.

1. Discover topics and partitions; find or create their tables.
2. Open tables (taking ownership, fixing where channels start) and recall the tokens.
3. Plan ranges from the tokens to the latest positions, of the channels that are due; nothing due means no Spark job.
4. Stage: one Spark job reads, converts, projects and writes Parquet files nobody sees yet.
5. Evolve: while a table frazil created holds no row, new keys become columns and their ranges are staged again.
6. Commit each table: data files, tokens and the list of reject files, in one swap. Several at a time.
7. Rejects wait in the outbox that the tokens name.
8. Acknowledge: publish the consumer group's offsets.

The table is the only truth. Whatever fails, nothing is repaired: the tokens are read again and the next cycle plans
from them. Staged files that were not committed are orphans nobody refers to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle.accounting import advances, average_sizes, error_of, first_reject, last_error, moved, torn
from frazil.cycle.buffering import Buffering
from frazil.cycle.identity import Absences, require_same_topics
from frazil.cycle.job import Job
from frazil.cycle.losses import Losses
from frazil.cycle.notices import Notices
from frazil.cycle.opened import OpenTable, positions_of, starts_of
from frazil.cycle.opening import Opener
from frazil.cycle.planning import Plan, backlogs, described, ranges, spread, unsized
from frazil.cycle.report import Clock, CycleReport, report_of
from frazil.cycle.tasks import Tasks
from frazil.cycle.together import Together, require
from frazil.errors import DataLoss, FrazilError, StageFailed, TableMissing, TableReplaced, stage_error
from frazil.model import Buffer, Drift, IcebergType, Range, SourcePartition, Staged, StageFailure, TableName, Task
from frazil.pipes.naming import normalized
from frazil.records.new_keys import NewKeys
from frazil.sources.base import Source, TopicFacts
from frazil.tables import rejects
from frazil.tables.base import Targets
from frazil.tables.checks import Expectation
from frazil.tables.commit import Committed, commit
from frazil.tables.evolution import columns_for

_RECALL_EVERY = 30.0
"""Seconds between two looks at the tables while nothing comes in."""

_EVOLUTIONS = 8
"""Times one cycle may add columns to a table before its records are given up on."""

_log = structlog.get_logger(__name__)


class Ingestion:
    """One connector's cycles, from one opener. Not thread-safe: one thread runs it."""

    def __init__(
        self, settings: ConnectorSettings, catalog: Targets, source: Source, job: Job, buffer: Buffer | None
    ) -> None:
        """Prepare the cycles of a connector; those of a channel wait for the bounds of `buffer`, if there are any."""
        self._settings = settings
        self._source = source
        self._job = job
        self._together = Together(catalog.at_once, f"frazil-{settings.key}-tables")
        self._opener = Opener(settings, catalog, source, self._together)
        self._buffering = Buffering(buffer)
        self._sizes: dict[str, float] = {}
        """Average bytes per offset, by topic."""

        self._recalled = time.monotonic()
        self._number = 0
        self.tables: dict[TableName, OpenTable] = {}
        self._unpublished: set[TableName] = set()
        """Tables with commits of which the consumer group was not told yet."""

        self._owes = False
        """Whether to tell it in the next cycle even if that commits nothing."""

        self._absences = Absences(settings)
        self._losses = Losses(source, self._opener, self.tables, skip=settings.on_data_loss == "skip")
        self._tasks = Tasks(settings, source, self.tables, self._together)
        self.plan = Plan(0, {}, {})
        """The last plan whose positions are known."""

        self.plans = 0
        """Plans begun so far; one that begins now sees everything that is in the topics now."""

        self.notices = Notices(settings)
        self.needed: Callable[[TableName], int | None] = lambda _: None
        """The sequence number from which on somebody still needs the snapshots of a table; None where nobody does."""

    def cycle(self) -> CycleReport:
        """Run one cycle.

        Returns:
            What it did; also `failure`, if a bad record ended a range and no other cycle is to follow.

        Raises:
            Transient: the cycle is abandoned; after `recall`, the next one plans from the tokens.
            Terminal: somebody has to change something.
        """
        try:
            return self._cycle()
        except (TableMissing, TableReplaced) as error:
            raise self._opener.renewal.weighed(error) from error

    def discover(self) -> Mapping[str, TopicFacts]:
        """Steps 1 and 2: the topics that exist now; the tables of new ones are opened."""
        facts = self._source.discover()
        self._absences.look((topic for table in self.tables.values() for topic in table.topics), facts)
        self._opener.open_new(self.tables, facts.values())
        return facts

    def goal(self) -> Mapping[SourcePartition, int]:
        """The ends of all channels' partitions now: what there is to catch up with."""
        return self._source.latest(self.starts(self.discover()))

    def covers(self, goal: Mapping[SourcePartition, int]) -> bool:
        """Whether every channel of a goal has come to its end."""
        tokens = [table.tokens for table in self.tables.values()]
        return all(
            end == 0 or any(int(each.channel(partition).token or -1) + 1 >= end for each in tokens)
            for partition, end in goal.items()
        )

    def recall(self) -> None:
        """Read all tokens anew: after any error, and now and then while idle."""
        self._recalled = time.monotonic()
        before = {name: table.tokens.commit for name, table in self.tables.items()}
        self._opener.recall(self.tables)
        # A commit whose answer was lost is met here.
        self._unpublished |= {name for name, table in self.tables.items() if table.tokens.commit != before.get(name)}
        self._owes = bool(self._unpublished)

    def starts(self, facts: Mapping[str, TopicFacts]) -> dict[SourcePartition, int]:
        """The first offset not covered, for every channel."""
        found: dict[SourcePartition, int] = {}
        for table in self.tables.values():
            found.update(starts_of(table, facts))
        return found

    def seconds_until_due(self) -> float | None:
        """How long until a channel is due that waits for time to pass; None: there is none."""
        return self._buffering.seconds_left(time.monotonic())

    def close(self) -> None:
        """Let go of what cycles need; none is to follow."""
        self._together.close()
        self.notices.close()

    def _cycle(self) -> CycleReport:
        self._number += 1
        clock = Clock()
        facts = self.discover()  # 1, 2
        planned = self._plan(facts)  # 3
        clock.lap("plan")
        faults.reach("after_plan")
        if not planned:
            if self._owes:
                self._acknowledge({})
            self.notices.look()
            self._recall_when_idle()
            return CycleReport(self._number, lag_records=self.plan.lag({}))
        staged = self._stage(planned)  # 4, 5
        clock.lap("stage")
        faults.reach("after_stage")
        committed = self._commit(staged, facts)  # 6
        clock.lap("commit")
        faults.reach("after_swap")
        faults.reach("before_acknowledge")
        self._acknowledge(committed)  # 8
        clock.lap("acknowledge")
        self.notices.look()
        report = report_of(self._number, self.plan, staged, committed, clock.seconds)
        if self._settings.errors_tolerance == "none" and (reject := first_reject(staged)):
            return replace(report, failure=error_of(reject))
        return report

    def _plan(self, facts: Mapping[str, TopicFacts]) -> list[Range]:
        self.plans += 1
        for table in self.tables.values():
            require_same_topics(table.tokens, [facts[topic] for topic in table.topics & facts.keys()])
        starts = self.starts(facts)
        latest = self._source.latest(starts)
        self.plan = Plan(self.plans, starts, latest)
        waiting = backlogs(starts, latest, self._sizes)
        if self._buffering.needs_sizes and (unknown := unsized(waiting)):
            self._sizes.update(self._source.average_sizes(unknown))
            waiting = backlogs(starts, latest, self._sizes)
        return ranges(self._buffering.due(waiting, time.monotonic()), self._settings.cycle_max_bytes)

    def _stage(self, planned: Sequence[Range]) -> list[Staged]:
        self._tasks.begin()
        self._tasks.look(planned)
        cores = self._job.cores
        most = min(cores, self._settings.tasks_max or cores)
        groups = [self._tasks.by_topic(group) for group in spread(planned, self._sizes, most)]
        staged = self._mended(self._evolved(self._run(groups, planned)), planned)
        self._sizes.update(average_sizes(staged))
        topics = {each.partition.topic for each in planned}
        now = self._source.facts(topics)
        for table in self.tables.values():
            require_same_topics(table.tokens, [now[topic] for topic in table.topics & now.keys()])
        return staged

    def _run(self, groups: Sequence[Sequence[Task]], planned: Sequence[Range]) -> list[Staged]:
        name = f"{self._settings.name}: cycle {self._number}"
        staged = self._job.run(groups, f"{name}, {described(planned, self._sizes)}")
        failure = next((task.failure for task in staged if task.failure), None)
        if failure is not None:
            self._job.discard(staged, self._tasks.access)
            raise self._failed(failure, planned)
        return staged

    def _evolved(self, staged: Sequence[Staged]) -> list[Staged]:
        """Step 5: give tables their columns, and stage again what saw new keys."""
        done = list(staged)
        for _ in range(_EVOLUTIONS):
            drifted = [task for task in done if task.drift]
            if not drifted:
                return done
            require(self._together.each(self._evolve, [*_by_table(drifted).items()]))
            planned = [Range(each.partition, each.start, each.covered) for task in drifted for each in task.ranges]
            groups = [[self._tasks.task(_again(task))] for task in drifted]
            done = [task for task in done if not task.drift] + self._run(groups, planned)
        raise StageFailed("the first records of a table", f"{_EVOLUTIONS} rounds of new columns were not enough")

    def _mended(self, staged: Sequence[Staged], planned: Sequence[Range]) -> list[Staged]:
        """Where a bad record ended a range: stage again, without what lies behind it, tasks that hold such rows."""
        found = torn(staged, planned)
        if not found:
            return list(staged)
        lost = [task for task, _ in found]
        self._job.discard(lost, self._tasks.access)
        groups = [[self._tasks.task(good)] for _, good in found if good]
        again = self._run(groups, [each for _, good in found for each in good]) if groups else []
        rejects_only = [Staged(task.shape, (), rejects=task.rejects) for task in lost]
        return [task for task in staged if task not in lost] + again + rejects_only

    def _evolve(self, drifted: tuple[TableName, Sequence[Staged]]) -> None:
        """Give one table the columns that tasks found keys for."""
        name, tasks = drifted
        opened = self.tables[name]
        drift = NewKeys(self._tasks.room(opened))
        for task in tasks:
            drift.note_all(task.drift)
        columns = self._new_columns(drift)
        opened.table.add_columns(columns)
        self._tasks.reshape(name)
        _log.info(
            "gave a new table its columns",
            table=str(name),
            columns={key: str(kind) for key, kind in columns.items()},
        )
        if not self._tasks.room(opened):
            _log.warning(
                "a new table has as many columns as frazil.columns.max allows; values of other keys are dropped",
                table=str(name),
                most=self._settings.columns_max,
            )

    def _new_columns(self, drift: Drift) -> Mapping[str, IcebergType]:
        name = normalized if self._settings.normalize_columns else str
        return columns_for(drift, self._settings.nested_type, name)

    def _commit(self, staged: Sequence[Staged], facts: Mapping[str, TopicFacts]) -> dict[TableName, Committed]:
        """Step 6: one swap a table, of several at a time. A table that cannot commit does not stop the others."""
        due = [*_by_table(staged).items()]
        answers = self._together.each(lambda each: self._commit_table(self.tables[each[0]], each[1], facts), due)
        committed: dict[TableName, Committed] = {}
        for (name, mine), answer in zip(due, answers, strict=True):
            if isinstance(answer, Committed):
                committed[name] = answer
                self.notices.committed(name, mine)
        require(answers)
        return committed

    def _commit_table(self, opened: OpenTable, staged: Sequence[Staged], facts: Mapping[str, TopicFacts]) -> Committed:
        table, stage = opened.table, self._tasks.stage(opened)
        tokens = moved(opened.tokens, advances(staged), facts, time.time_ns() // 1_000_000)
        reject_files = [
            task.rejects.path for task in staged if task.rejects and self._settings.errors_tolerance == "all"
        ]
        if reject_files:
            tokens = replace(tokens, rejects=rejects.write_list(table, stage, reject_files, tokens.rejects).path)
        if reject := first_reject(staged):
            tokens = replace(tokens, last_error=last_error(reject))
        tokens = replace(
            tokens, commit=stage.id, owner=self._opener.owner, opener=self._opener.opener, epoch=opened.epoch
        )
        files = [file for task in staged for file in task.files]
        expected = Expectation(
            connector=self._settings.key,
            owner=self._opener.owner,
            epoch=opened.epoch,
            commit=opened.tokens.commit,
            shapes=tuple({task.shape for task in staged if task.files}),
            uuid=opened.uuid,
            staged_at=self._tasks.began,
            max_age=self._settings.stage_max_age_ms / 1000,
        )
        given_up = self._tasks.given_up(opened)
        done = commit(table, files, tokens, expected)
        opened.tokens = done.tokens
        self._opener.sweeper.gave_up(table, given_up)
        table.expire(self._settings.snapshots_min_age_ms, self.needed(table.name))
        return done

    def _acknowledge(self, committed: Mapping[TableName, Committed]) -> None:
        """Step 8: the group's offsets are for lag tools; failing to publish them is no reason to stop.

        What could not be published goes along with the next commit, or after the next recall.
        """
        self._unpublished |= committed.keys()
        self._owes = False
        known = [self.tables[name] for name in self._unpublished if name in self.tables]
        try:
            self._source.publish(positions_of(known, self._settings.key))
            self._unpublished.clear()
        except FrazilError as error:
            _log.warning("the consumer group's offsets were not published", cause=error.message)

    def _recall_when_idle(self) -> None:
        if time.monotonic() - self._recalled > _RECALL_EVERY:
            self.recall()

    def _failed(self, failure: StageFailure, planned: Sequence[Range]) -> FrazilError:
        if failure.error != DataLoss.code or failure.partition is None:
            return stage_error(failure.error, failure.message, self._settings.bootstrap_servers)
        starts = {each.partition: each.start for each in sorted(planned, key=lambda each: -each.start)}
        return self._losses.error(failure.partition, starts)


def _by_table(staged: Iterable[Staged]) -> dict[TableName, list[Staged]]:
    """What was staged for each table, the tables in the order of their names."""
    found: dict[TableName, list[Staged]] = {}
    for task in sorted(staged, key=lambda task: task.shape.table):
        found.setdefault(task.shape.table, []).append(task)
    return found


def _again(task: Staged) -> list[Range]:
    return [Range(each.partition, each.start, each.covered) for each in task.ranges]
