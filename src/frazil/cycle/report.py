"""What one cycle did, for people and metrics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from frazil.cycle.accounting import advances, parts
from frazil.cycle.planning import Plan
from frazil.cycle.sending import Backlog
from frazil.errors import FrazilError
from frazil.model import Staged, StagedTable, TableName
from frazil.tables.commit import Committed


@dataclass(frozen=True, slots=True)
class TableCounts:
    """What one cycle did to one table."""

    snapshot: int
    """The snapshot made."""

    records: int
    """Records read for it."""

    rows: int
    """Rows committed."""

    errors: int
    """Records rejected."""

    skipped: int
    """Records that became no row on purpose."""

    files: int
    """Data files committed."""

    size: int
    """Bytes of these files."""

    def __add__(self, later: TableCounts) -> TableCounts:
        """What this cycle and a later one did."""
        return TableCounts(
            later.snapshot,
            self.records + later.records,
            self.rows + later.rows,
            self.errors + later.errors,
            self.skipped + later.skipped,
            self.files + later.files,
            self.size + later.size,
        )


@dataclass(frozen=True, slots=True)
class CycleReport:
    """One cycle. An idle one read nothing and cost no Spark job."""

    number: int
    connector: str = ""
    """The connector's name, as it was written."""

    application: str | None = None
    """As whom it reads streams; None for topics."""

    records: int = 0
    """Records read."""

    rows: int = 0
    """Rows committed."""

    errors: int = 0
    """Records rejected."""

    bytes: int = 0
    """Bytes of values read."""

    files: int = 0
    """Data files committed."""

    tables: Mapping[TableName, TableCounts] = field(default_factory=dict)
    """What became of each table that committed; the counts above are those of all."""

    lag_records: int = 0
    """Offsets that were in the source when the cycle was planned and that no cycle covered yet."""

    latencies: tuple[float, ...] = ()
    """Seconds from a record's timestamp to its snapshot, for a sample of the records."""

    newest: float | None = None
    """When the newest record read was produced, in seconds since the epoch."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of the phases: `plan`, `stage`, `commit`, `acknowledge`."""

    task_seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time within the slowest task: `read`, `convert`, `project`, `move`."""

    output_backlogs: Mapping[TableName, Backlog] = field(default_factory=dict)
    """What accepted records wait to be sent on, by table."""

    failure: FrazilError | None = None
    """What ends the connector, now that all before it is committed."""

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do."""
        return not self.tables

    @property
    def snapshots(self) -> Mapping[TableName, int]:
        """The snapshot made in each table."""
        return {name: counts.snapshot for name, counts in self.tables.items()}


class Clock:
    """Wall time of a cycle's phases."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Everything since the last lap was `phase`."""
        now = time.perf_counter()
        self.seconds[phase] = now - self._last
        self._last = now


def report_of(
    number: int,
    plan: Plan,
    staged: Sequence[Staged],
    committed: Mapping[TableName, Committed],
    seconds: Mapping[str, float],
) -> CycleReport:
    """The report of a cycle that read something."""
    read, landed = [each for task in staged for each in task.ranges], parts(staged)
    written = [each for part in landed for each in part.ranges]
    newest = max(done.time for done in committed.values())
    slowest = max(staged, key=lambda task: sum(task.seconds.values()))
    return CycleReport(
        number=number,
        records=sum(each.parsed for each in read),
        rows=sum(each.inserted for each in written),
        errors=sum(each.errors for each in written),
        bytes=sum(each.bytes for each in read),
        files=sum(len(part.files) for part in landed),
        tables={name: _counts(done, landed, name) for name, done in committed.items()},
        lag_records=plan.lag({partition: advance.covered for partition, advance in advances(staged).items()}),
        latencies=tuple((newest - stamp) / 1000 for each in read for stamp in each.sample),
        newest=max((each.newest / 1000 for each in read if each.newest is not None), default=None),
        seconds=dict(seconds),
        task_seconds=dict(slowest.seconds),
    )


def _counts(done: Committed, landed: Sequence[StagedTable], name: TableName) -> TableCounts:
    mine = [part for part in landed if part.shape.table == name]
    ranges = [each for part in mine for each in part.ranges]
    files = [file for part in mine for file in part.files]
    return TableCounts(
        done.snapshot,
        records=sum(each.parsed for each in ranges),
        rows=sum(each.inserted for each in ranges),
        errors=sum(each.errors for each in ranges),
        skipped=sum(each.skipped for each in ranges),
        files=len(files),
        size=sum(file.size for file in files),
    )
