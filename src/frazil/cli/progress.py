"""What a person sees while connectors run: a live table on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import structlog
from rich.console import Console
from rich.live import Live
from rich.table import Table

from frazil.cli.visible import cell
from frazil.connector import Connector
from frazil.connector.states import ENDED
from frazil.cycle import CycleReport
from frazil.cycle.report import TableCounts
from frazil.model import TableName

LINE_EVERY = 10.0
"""Seconds between two log lines where there is no terminal."""

_WINDOW = 5.0
"""Seconds over which rates are measured."""

_log = structlog.get_logger(__name__)


class Meter:
    """What one connector did lately and in all."""

    def __init__(self, connector: Connector) -> None:
        self.connector = connector
        self._lock = threading.Lock()
        self._recent: deque[tuple[float, CycleReport]] = deque()
        self._latencies: deque[float] = deque(maxlen=2000)
        self._began = time.monotonic()
        identity = connector.settings.source.identity
        self.who = {"connector": connector.settings.name} | ({"application": identity} if identity else {})
        """What says in log lines whose they are."""

        self.records = 0
        self.rows = 0
        self.errors = 0
        self.files = 0
        self.lag_records = 0
        self.snapshot: int | None = None
        self.tables: dict[TableName, TableCounts] = {}
        self._newest: float | None = None
        """When the newest record that landed was produced, in seconds since the epoch."""

        connector.on_cycle(self._note)

    def rates(self) -> tuple[float, float]:
        """Records and bytes per second over the last seconds."""
        now = time.monotonic()
        with self._lock:
            while self._recent and now - self._recent[0][0] > _WINDOW:
                self._recent.popleft()
            span = min(_WINDOW, max(now - self._began, 1.0))
            return (
                sum(report.records for _, report in self._recent) / span,
                sum(report.bytes for _, report in self._recent) / span,
            )

    def latency(self, quantile: float) -> float | None:
        """Seconds from a record's timestamp to its snapshot, at a quantile of the last cycles' samples."""
        with self._lock:
            ordered = sorted(self._latencies)
        return ordered[min(len(ordered) - 1, int(quantile * len(ordered)))] if ordered else None

    def age(self) -> float | None:
        """Seconds since the newest record that landed was produced; what waits is younger."""
        return None if self._newest is None else time.time() - self._newest

    def _note(self, report: CycleReport) -> None:
        with self._lock:
            self.lag_records = report.lag_records
            if report.idle:
                return
            self._recent.append((time.monotonic(), report))
            self._latencies.extend(report.latencies)
            self._newest = report.newest
            self.records += report.records
            self.rows += report.rows
            self.errors += report.errors
            self.files += report.files
            self.snapshot = next(reversed(list(report.snapshots.values())), self.snapshot)
            for name, counts in report.tables.items():
                known = self.tables.get(name)
                self.tables[name] = known + counts if known else counts


class Progress:
    """Shows meters; use it as a context manager and call `look` often."""

    def __init__(self, console: Console) -> None:
        self._meters: dict[str, Meter] = {}
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        if self._live:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.__exit__(kind, error, trace)
        for meter in self.meters:
            _log_line(meter)
            _log_tables(meter)

    def watch(self, connector: Connector) -> Connector:
        """Show a connector from now on, in place of another one of its key."""
        self._meters[connector.settings.key] = Meter(connector)
        return connector

    @property
    def meters(self) -> list[Meter]:
        """One for each connector, in the order in which they came."""
        return [*self._meters.values()]

    def look(self) -> None:
        """Show what is so now."""
        if self._live:
            self._live.update(overview(self.meters))
        elif time.monotonic() - self._last_line > LINE_EVERY:
            self._last_line = time.monotonic()
            for meter in self.meters:
                _log_line(meter)


def overview(meters: Sequence[Meter]) -> Table:
    """One line a connector."""
    table = Table(
        "connector", "state", "records/s", "MB/s", "rows", "rejected", "lag", "latency p50 / p95", "snapshot", box=None
    )
    for meter in meters:
        records, size = meter.rates()
        table.add_row(
            cell(meter.connector.settings.name),
            cell(describe_state(meter.connector)),
            f"{records:,.0f}",
            f"{size / 1e6:.1f}",
            f"{meter.rows:,}",
            f"{meter.errors:,}",
            f"{meter.lag_records:,}",
            f"{describe_seconds(meter.latency(0.5))} / {describe_seconds(meter.latency(0.95))}",
            str(meter.snapshot or "–"),
        )
    return table


def describe_state(connector: Connector) -> str:
    """The state, with what is being waited for."""
    if connector.next_attempt is None or connector.error is None:
        return f"{connector.state}{_left_out(connector)}"
    seconds = round(connector.next_attempt - time.time())
    when = f"next attempt in {seconds} s" if seconds > 0 else "trying again"
    return f"{connector.state}: {connector.error.message}, {when}"


def _left_out(connector: Connector) -> str:
    """The tables that are left out, the first of them with its reason."""
    failing = {} if connector.state in ENDED else connector.failing
    if not failing:
        return ""
    (name, failure), *others = failing.items()
    more = f" and {len(others)} more" if others else ""
    return f", without {name}{more}: {failure.error.message}"


def describe_seconds(seconds: float | None) -> str:
    """A duration for people."""
    return "–" if seconds is None else f"{seconds:.2f} s"


def _log_line(meter: Meter) -> None:
    records, _ = meter.rates()
    _log.info(
        "progress",
        **meter.who,
        state=describe_state(meter.connector),
        rows=meter.rows,
        rejected=meter.errors,
        records_per_second=round(records),
        lag=meter.lag_records,
    )


def _log_tables(meter: Meter) -> None:
    """What became of each table, where there are several."""
    for name, counts in sorted(meter.tables.items()) if len(meter.tables) > 1 else ():
        _log.info(
            "landed",
            **meter.who,
            table=str(name),
            records=counts.records,
            rows=counts.rows,
            rejected=counts.errors,
            skipped=counts.skipped,
            files=counts.files,
            snapshot=counts.snapshot,
        )
