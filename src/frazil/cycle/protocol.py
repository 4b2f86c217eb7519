"""The cycle: plan → stage → commit. This is the page to read first.

1. Discover topics and partitions; find or create their tables.
2. Open tables (taking ownership, fixing where channels start) and recall the tokens. From here on a table that fails
   is left out, and the others go on.
3. Plan ranges from the tokens to the latest positions, of the channels that are due; nothing due means no Spark job.
4. Stage: one Spark job reads, converts, projects and writes Parquet files nobody sees yet.
5. Evolve: a table that records do not fit yet changes for them, in one commit, and their ranges are staged again. So
   are those of new values where topics are routed by one: each of these gets a table.
6. Commit each table: data files, tokens and the list of reject files, in one swap. Several at a time.
7. Rejects wait in the outbox that the tokens name; so do accepted records, where a connector sends them on.
8. Acknowledge: publish the consumer group's offsets.

The table is the only truth. Whatever fails, nothing is repaired: the tokens are read again and the next cycle plans
from them. Staged files that were not committed are orphans nobody refers to.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle.accounting import (
    error_of,
    first_reject,
    parts,
)
from frazil.cycle.acknowledging import Acknowledging
from frazil.cycle.buffering import Buffering
from frazil.cycle.committing import Committing
from frazil.cycle.data_loss import DataLossPolicy
from frazil.cycle.delivery import Delivery
from frazil.cycle.destinations import Routing, destinations
from frazil.cycle.expiry import Expiry
from frazil.cycle.identity import Absences, require_same_topics
from frazil.cycle.job import Job
from frazil.cycle.opening import Opener
from frazil.cycle.planning import Plan, backlogs, ranges, unsized
from frazil.cycle.pruning import Pruning
from frazil.cycle.report import Clock, CycleReport, report_of
from frazil.cycle.republishing import Republishing
from frazil.cycle.routes import covers, least_starts
from frazil.cycle.sending import Backlog
from frazil.cycle.staging import Staging, only
from frazil.cycle.successors import with_successors
from frazil.cycle.table_failures import TableFailure
from frazil.cycle.table_pool import TablePool
from frazil.cycle.table_set import TableSet
from frazil.cycle.tasks import Tasks
from frazil.cycle.truncations import Truncations
from frazil.cycle.uncommitted import Uncommitted
from frazil.cycle.warnings_log import WarningsLog
from frazil.errors import (
    FrazilError,
    TableMissing,
    TableReplaced,
)
from frazil.model import Buffer, Position, Range, SourcePartition, TableName
from frazil.pipes.naming import default_pipe
from frazil.sources import kinds
from frazil.sources.base import Held, Rest, Source, TopicFacts
from frazil.tables.base import TableCatalog

_OUTPUT_REST: Final = Rest(1.0)
"""After which it is seen again whether enough of what was accepted is sent on."""

_RECALL_EVERY = 30.0
"""Seconds between two looks at the tables while nothing comes in."""

_log = structlog.get_logger(__name__)


class Ingestion:
    """One connector's cycles, from one opener. Not thread-safe: one thread runs it."""

    def __init__(
        self,
        settings: ConnectorSettings,
        catalog: TableCatalog,
        source: Source,
        job: Job,
        buffer: Buffer | None,
        routing: Routing = destinations,
        needed: Callable[[TableName], int | None] = lambda _: None,
    ) -> None:
        """Prepare the cycles of a connector.

        Args:
            settings: the connector's.
            catalog: where its tables are.
            source: where its records come from.
            job: what stages its tasks.
            buffer: the bounds that each channel waits for, if there are any.
            routing: which tables topics feed.
            needed: the sequence number from which on somebody still needs the snapshots of a table; None where nobody
                does.
        """
        self._settings = settings
        self._source = source
        self._together = TablePool(catalog.at_once, f"frazil-{settings.key}-tables")
        self._opener = Opener(settings, catalog, source, routing)
        self._set = TableSet(settings, self._opener, self._together)
        self._pruning = Pruning(settings, source, self._opener)
        self._buffering = Buffering(buffer)
        self._sizes: dict[str, float] = {}
        """Average bytes per record, by topic."""

        self._recalled = time.monotonic()
        self._number = 0
        self.tables = self._set.opened
        """The tables this connector owns."""

        self._acknowledging = Acknowledging(source, self.tables, self._set.unopened)
        self._absences = Absences(settings)
        skip = settings.on_data_loss == "skip"
        self._expiry = Expiry(source, self._opener, skip=skip)
        self._truncations = Truncations(source, self._opener, self._set, self._together, skip=skip)
        self._tasks = Tasks(settings, source, self.tables, self._together, self._set.branching)
        self._uncommitted = Uncommitted(job, self._tasks.access, keeps_rejects=settings.errors_tolerance == "all")
        self._staging = Staging(
            settings,
            source,
            job,
            self._set,
            self._tasks,
            self._together,
            self._uncommitted,
            DataLossPolicy(source, self._opener, self._set, self._together, self._truncations, skip=skip),
            self._sizes,
        )
        self.plan = Plan(0, {}, {})
        """The last plan whose positions are known."""

        self.resting: Mapping[SourcePartition, Rest] = {}
        """The partitions that the last plan left alone though something waits in them; any thread may ask."""

        self._full: Mapping[SourcePartition, Held] = {}
        """Those of them that wait because what was accepted is not sent on; any thread may ask."""

        self._rest_ends = math.inf
        """When the first of them may be read, in seconds on the monotonic clock."""

        self.plans = 0
        """Plans begun so far; one that begins now sees everything that is in the topics now."""

        self.notices = WarningsLog(settings)
        self._committing = Committing(
            settings,
            self._opener,
            self._set,
            self._tasks,
            self._together,
            self._uncommitted,
            self.notices,
            Delivery(settings, catalog, source),
            Republishing(settings, source),
            needed,
        )

    @property
    def failing(self) -> Mapping[TableName, TableFailure]:
        """The tables that are left out of cycles; any thread may ask."""
        return self._set.failures.failing

    @property
    def held(self) -> Mapping[SourcePartition, Held]:
        """Why records of partitions cannot be had, of those of which that is so; any thread may ask."""
        return {**self._source.held(), **self._full}

    @property
    def output_backlogs(self) -> Mapping[TableName, Backlog]:
        """What waits to be sent on, by table; any thread may ask."""
        return self._committing.output_backlogs()

    def pipe_of(self, table: TableName, topic: str) -> str:
        """The name of the pipe between a table and a topic, as far as is known; any thread may ask."""
        opened = self.tables.get(table)
        return self._tasks.pipe_of(opened, topic) if opened else default_pipe(table.name)

    @property
    def stalled(self) -> FrazilError | None:
        """Why no table at all takes part in cycles, if that is so."""
        errors = (failure.error for failure in self.failing.values())
        return None if self._set.working() else next(errors, None)

    def cycle(self) -> CycleReport:
        """Run one cycle.

        Returns:
            What it did; also `failure`, if a bad record ended a range and no other cycle is to follow.

        Raises:
            Transient: the cycle is abandoned; after `recall`, the next one plans from the tokens.
            Terminal: somebody has to change something.
        """
        try:
            return replace(
                self._cycle(),
                connector=self._settings.name,
                application=self._settings.source.identity,
                output_backlogs=self.output_backlogs,
            )
        except (TableMissing, TableReplaced) as error:
            self._uncommitted.discard()
            raise self._opener.renewal.weighed(error) from error
        except FrazilError:
            # Not where something else is raised: then nobody knows what has happened.
            self._uncommitted.discard()
            raise

    def discover(self) -> Mapping[str, TopicFacts]:
        """Steps 1 and 2: the topics that exist now; the tables of new ones are opened."""
        facts = self._source.discover()
        self._absences.look(self._set.topics(), facts)
        self._acknowledging.noting(self._set.bring_back)
        self._set.open_new(facts.values())
        for opened in self.tables.values():
            opened.tokens = with_successors(opened.tokens, [facts[each] for each in opened.topics & facts.keys()])
        return facts

    def goal(self, facts: Mapping[str, TopicFacts]) -> Mapping[SourcePartition, Position] | None:
        """The ends of all channels' partitions now: what there is to catch up with; `facts` as `discover` gave them.

        Returns:
            None while the end of some partition is not known.
        """
        read = set[str]().union(*(opened.topics for opened in self.tables.values()))
        channels = [each for topic in sorted(read & facts.keys()) for each in facts[topic].source_partitions()]
        ends = self._source.ends([*channels, *self._unopened(facts)])
        return ends if all(each in ends for each in channels) else None

    def reached(self, goal: Mapping[SourcePartition, Position]) -> bool:
        """Whether every channel has come to the end that a goal names for it, or to its present end if that is lower.

        Tables that failed for good do not count.
        """
        return self.covers(self.plan.attainable(goal))

    def deleted(self, goal: Mapping[SourcePartition, Position]) -> list[str]:
        """The topics of a goal that were deleted before it was reached, as of the last plan."""
        missing = {each: end for each, end in goal.items() if each.topic not in self.plan.topics}
        return sorted({each.topic for each, end in missing.items() if not self.covers({each: end})})

    def covers(self, goal: Mapping[SourcePartition, Position]) -> bool:
        """Whether every channel is at the end that a goal names for it; tables that failed for good do not count."""
        final = {name for name, failure in self.failing.items() if failure.is_final}
        tables = [each for name, each in self.tables.items() if name not in final]
        abandoned = set[str]().union(*(self.failing[name].tokens.topics for name in final))
        beginning = kinds.beginning(self._source.kind)
        return all(
            end <= beginning or covers(tables, partition, end)
            for partition, end in goal.items()
            if partition.topic not in abandoned or any(partition.topic in each.topics for each in tables)
        )

    def closed(self) -> frozenset[tuple[TableName, SourcePartition]]:
        """The channels that have come to the end of a partition to which nothing is added any more."""
        return frozenset(
            (name, partition)
            for name, each in self.tables.items()
            for partition, channel in each.tokens.channels()
            if channel.closed
        )

    def failure(self) -> FrazilError | None:
        """The error of a table that somebody has to see to, if there is one."""
        return self._set.error()

    def recall(self) -> None:
        """Read all tokens anew: after any error, and now and then while idle."""
        self._recalled = time.monotonic()
        self._acknowledging.noting(self._set.recall)

    def starts(self, facts: Mapping[str, TopicFacts]) -> dict[SourcePartition, Position]:
        """Where every channel goes on."""
        return least_starts(self.tables, facts)

    def seconds_until_due(self) -> float | None:
        """How long until a channel or table is due that waits for time to pass; None: there is none."""
        now = time.monotonic()
        rest = max(0.0, self._rest_ends - now) if self.resting else None
        waits = (self._buffering.seconds_left(now), self._set.failures.seconds_until_due(), rest)
        return min((each for each in waits if each is not None), default=None)

    def settle(self, is_patient: Callable[[], bool] = lambda: False) -> None:
        """Commit how far quiet tables have come; no cycle is to follow.

        Args:
            is_patient: whether there is more time than a moment to wait for what goes on from tables.
        """
        self._expiry.settle(self._set.working().values())
        self._committing.settle(is_patient)

    def close(self) -> None:
        """Let go of what cycles need; none is to follow."""
        self._together.close()
        self._committing.close()
        self.notices.close()

    def _cycle(self) -> CycleReport:
        self._number += 1
        clock = Clock()
        facts = self.discover()  # 1, 2
        self._pruning.look(self._set.working().values(), facts)
        self._set.fail(self._expiry.look(self._set.working(), facts))
        planned = self._plan(facts)  # 3
        clock.lap("plan")
        faults.reach("after_plan")
        staged = self._staging.stage(planned, facts, self._number) if planned else []  # 4, 5
        if not staged:
            return self._idle(facts)
        clock.lap("stage")
        faults.reach("after_stage")
        committed = self._committing.commit(staged, facts)  # 6
        clock.lap("commit")
        faults.reach("after_swap")
        self._committing.deliver()  # 7
        faults.reach("before_acknowledge")
        self._acknowledging.publish(facts, committed)  # 8
        clock.lap("acknowledge")
        self._end_cycle()
        landed = only(staged, committed)
        if not landed:
            return CycleReport(self._number, lag_records=self.plan.lag({}))
        report = report_of(self._number, self.plan, landed, committed, clock.seconds)
        if self._settings.errors_tolerance == "none" and (reject := first_reject(parts(landed), self._source.kind)):
            return replace(report, failure=error_of(reject))
        return report

    def _idle(self, facts: Mapping[str, TopicFacts]) -> CycleReport:
        self._committing.deliver()
        if self._acknowledging.owes:
            self._acknowledging.publish(facts)
        self._end_cycle()
        self._recall_when_idle()
        return CycleReport(self._number, lag_records=self.plan.lag({}))

    def _end_cycle(self) -> None:
        self._uncommitted.discard()
        self._set.worked()
        self.notices.look()
        self._opener.sweeper.look(opened.table for opened in self._set.working().values())

    def _plan(self, facts: Mapping[str, TopicFacts]) -> list[Range]:
        self.plans += 1
        working = self._set.working()
        for table in working.values():
            require_same_topics(table.tokens, [facts[topic] for topic in table.topics & facts.keys()])
        starts = self.starts(facts)
        latest = self._source.ends([*starts, *self._unopened(facts)])
        self.plan = Plan(self.plans, starts, latest, facts.keys())
        taking_part = least_starts(working, facts)
        self._expiry.note(working.values(), taking_part)
        self._truncations.look(facts, latest)
        waiting = backlogs(taking_part, latest, self._sizes)
        if self._buffering.needs_sizes and (unknown := unsized(waiting)):
            self._sizes.update(self._source.average_sizes(unknown))
            waiting = backlogs(taking_part, latest, self._sizes)
        full = self._committing.full_outputs()
        self._full = {each: Held(full[each.topic], passes=True) for each in starts if each.topic in full}
        self.resting = {
            **self._source.resting({each.partition: each.start for each in waiting}),
            **dict.fromkeys((each.partition for each in waiting if each.partition in self._full), _OUTPUT_REST),
        }
        self._rest_ends = time.monotonic() + min((each.seconds for each in self.resting.values()), default=math.inf)
        waiting = [each for each in waiting if each.partition not in self.resting]
        return ranges(self._buffering.due(waiting, time.monotonic()), self._settings.cycle_max_bytes)

    def _unopened(self, facts: Mapping[str, TopicFacts]) -> list[SourcePartition]:
        """The channels of tables that could not be opened yet, of topics that exist."""
        return [each for tokens in self._set.unopened() for each, _ in tokens.channels() if each.topic in facts]

    def _recall_when_idle(self) -> None:
        if time.monotonic() - self._recalled > _RECALL_EVERY:
            self.recall()
