"""Step 6 of the cycle: commit what was staged for each table: data files, tokens and reject list in one swap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.accounting import advances, first_reject, last_error, moved, parts, stray
from frazil.cycle.delivery import Delivery
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.cycle.quiet_tables import QuietTables
from frazil.cycle.republishing import Republishing
from frazil.cycle.sending import Backlog, finish
from frazil.cycle.table_pool import TablePool, errors_in
from frazil.cycle.table_set import TableSet
from frazil.cycle.tasks import Tasks
from frazil.cycle.uncommitted import Uncommitted
from frazil.cycle.warnings_log import WarningsLog
from frazil.errors import FrazilError, StageFailed
from frazil.model import Staged, StagedTable, TableName
from frazil.records.dropped import KeptDropped
from frazil.sources.base import TopicFacts
from frazil.tables import outbox
from frazil.tables.base import WritableTable
from frazil.tables.commit import Committed, commit
from frazil.tables.rules.checks import Expectation
from frazil.tables.rules.stages import Stage
from frazil.tables.rules.tokens import Tokens

_log = structlog.get_logger(__name__)


class Committing:
    """Commits to the tables of one connector, to several at a time."""

    def __init__(
        self,
        settings: ConnectorSettings,
        opener: Opener,
        tables: TableSet,
        tasks: Tasks,
        pool: TablePool,
        uncommitted: Uncommitted,
        warnings: WarningsLog,
        delivery: Delivery,
        republishing: Republishing,
        needed: Callable[[TableName], int | None],
    ) -> None:
        """Commit; `needed` gives the sequence number from which on somebody needs the snapshots of a table, if any."""
        self._settings = settings
        self._opener = opener
        self._set = tables
        self._tasks = tasks
        self._together = pool
        self._uncommitted = uncommitted
        self._warnings = warnings
        self._delivery = delivery
        self._republishing = republishing
        self._needed = needed
        self._quiet = QuietTables(tables.branching)

    def settle(self, is_patient: Callable[[], bool]) -> None:
        """Commit what is only known here of tables that had nothing to commit: no cycle is to follow.

        Args:
            is_patient: whether there is more time than a moment to wait for what goes on from here.
        """
        working = [*self._set.working().values()]
        finish([*self._delivery.work(working), *self._republishing.work(working)], is_patient)
        held = [each for each in working if each.holds or self._delivery.owes(each) or self._republishing.owes(each)]
        for answer in self._together.each(self._settle, held):
            if isinstance(answer, FrazilError):
                _log.info("a quiet table's tokens stay as they were", cause=answer.message)

    def close(self) -> None:
        """Let go of what delivers rejects, and sends on what was accepted."""
        self._delivery.close()
        self._republishing.close()

    def deliver(self) -> None:
        """Deliver what was rejected, and send on what was accepted (step 7)."""
        working = [*self._set.working().values()]
        self._together.each(self._delivery.deliver, working)
        for opened in working:
            self._republishing.send(opened)

    def output_backlogs(self) -> dict[TableName, Backlog]:
        """What waits to be sent on, by table; those of which nothing waits are absent."""
        found = {name: self._republishing.backlog(opened) for name, opened in [*self._set.working().items()]}
        return {name: backlog for name, backlog in found.items() if backlog.files}

    def full_outputs(self) -> dict[str, str]:
        """The topics that are not to be read before more of what was accepted is sent on, and why."""
        reasons = ((opened, self._republishing.fullness(opened)) for opened in self._set.working().values())
        return {topic: reason for opened, reason in reasons if reason is not None for topic in opened.topics}

    def commit(self, staged: Sequence[Staged], facts: Mapping[str, TopicFacts]) -> dict[TableName, Committed]:
        """Commit, one swap a table. A table that cannot commit is left out, and does not stop the others."""
        due = self._quiet.without(by_table(parts(staged)), self._set.opened, facts)
        repeated = any(task.repeated for task in staged)
        answers = self._together.each(
            lambda each: self._commit_table(self._set.opened[each[0]], each[1], facts, repeated=repeated),
            [*due.items()],
        )
        committed: dict[TableName, Committed] = {}
        for (name, mine), answer in zip(due.items(), answers, strict=True):
            if isinstance(answer, Committed):
                committed[name] = answer
                self._warnings.committed(name, mine)
        self._set.fail(errors_in(due, answers), others_work=bool(committed))
        return committed

    def _commit_table(
        self, opened: OpenTable, staged: Sequence[StagedTable], facts: Mapping[str, TopicFacts], *, repeated: bool
    ) -> Committed:
        table, stage = opened.table, self._tasks.stage(opened)
        before = self._struck_off(opened)
        progress = advances(staged, before)
        if (partition := stray(staged, progress)) is not None:
            raise StageFailed(f"{partition} for {table.name}", "what was staged does not follow the table's token")
        tokens = moved(before, progress, facts, time.time_ns() // 1_000_000)
        files = [file for part in staged for file in part.files]
        keeps_rejects = self._settings.errors_tolerance == "all"
        reject_files = [part.rejects.path for part in staged if part.rejects and keeps_rejects]
        output_files = [part.output for part in staged if part.output is not None]
        written = [*(file.path for file in files), *reject_files, *output_files]
        if reject_files:
            listed = self._listed(table, stage.reject_list, stage, reject_files, tokens.rejects)
            tokens = replace(tokens, rejects=listed)
            written.append(listed)
        if output_files:
            listed = self._listed(table, stage.output_list, stage, output_files, tokens.output)
            tokens = replace(tokens, output=listed)
            written.append(listed)
        if reject := first_reject(staged, self._settings.source.kind):
            tokens = replace(tokens, last_error=last_error(reject))
        dropped = KeptDropped(tokens.dropped)
        for part in staged:
            for key, count in part.dropped.items():
                dropped.note(key, count)
        tokens = replace(tokens, dropped=dict(dropped))
        tokens = replace(
            tokens, commit=stage.id, owner=self._opener.owner, opener=self._opener.opener, epoch=opened.epoch
        )
        expected = Expectation(
            connector=self._settings.key,
            owner=self._opener.owner,
            epoch=opened.epoch,
            commit=opened.tokens.commit,
            shapes=tuple({part.shape for part in staged if part.files}),
            uuid=opened.uuid,
            staged_at=self._tasks.began,
            max_age=self._settings.stage_max_age_ms / 1000,
        )
        abandoned = self._tasks.abandoned(opened)
        handed_over = self._uncommitted.hand_over(written)
        done = commit(table, files, tokens, expected, undone=handed_over.take_back)
        opened.tokens, opened.holds = done.tokens, False
        self._delivery.committed(opened)
        self._republishing.committed(opened, len(output_files))
        self._opener.sweeper.abandon(table, abandoned)
        if repeated:
            self._opener.sweeper.lost_attempts(table, stage.id, [path.rpartition("/")[2] for path in written])
        try:
            table.expire(self._settings.snapshots_min_age_ms, self._needed(table.name))
        except FrazilError as error:
            # The commit happened, whatever becomes of old snapshots.
            _log.warning("old snapshots were not expired this time", table=str(table.name), cause=error.message)
        return done

    def _struck_off(self, opened: OpenTable) -> Tokens:
        """The tokens of a table without what has come to where it goes."""
        return self._republishing.struck_off(opened, self._delivery.struck_off(opened))

    def _settle(self, opened: OpenTable) -> None:
        self._opener.move(opened, self._struck_off(opened))
        self._delivery.committed(opened)
        self._republishing.settled(opened)

    def _listed(self, table: WritableTable, name: str, stage: Stage, files: Sequence[str], previous: str | None) -> str:
        """Write a list of files of a stage; where it is."""
        path = outbox.new_path(table, name)
        self._uncommitted.add_path(table.name, path)
        outbox.write_list(table, path, stage, files, previous)
        return path


def by_table(staged: Iterable[StagedTable]) -> dict[TableName, list[StagedTable]]:
    """What was staged for each table, the tables in the order of their names."""
    found: dict[TableName, list[StagedTable]] = {}
    for part in sorted(staged, key=lambda part: part.shape.table):
        found.setdefault(part.shape.table, []).append(part)
    return found
