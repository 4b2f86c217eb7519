"""What the demos share: a connector that is opened, watched and stopped in front of somebody, and a proof."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from frazil.cli.progress import Meter, describe_seconds, describe_state
from frazil.cli.visible import cell
from frazil.connector import Connector, State
from frazil.connector.states import ENDED

_CATCH_UP: Final = 60.0
"""Seconds the connector may take to land what was produced last."""

_WIDTH: Final = 96


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of a proof; it holds if what was found is what was expected."""

    name: str
    expected: int
    found: int

    @property
    def holds(self) -> bool:
        """Whether it does."""
        return self.expected == self.found


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One run of a demo, whatever its source."""

    home: Path
    console: Console
    stopping: threading.Event
    """Somebody has seen enough."""

    def open(self, connector: Connector) -> None:
        """Start a connector, and wait until its table is open."""
        connector.start()
        with self.console.status("Opening the table …"):
            while connector.state == State.OPENING and not self.stopping.wait(0.1):
                pass

    def watch(
        self,
        connector: Connector,
        seconds: float,
        view: Callable[[float], RenderableType],
        turns: Sequence[Callable[[], None]] = (),
    ) -> None:
        """Show what goes on while the connector runs.

        Args:
            connector: it ends the show if it ends.
            seconds: how long.
            view: gives what is shown; it is given the seconds that are left.
            turns: what happens meanwhile, at equal distances.
        """
        began = time.monotonic()
        ends = began + seconds
        waiting = [(began + seconds * nth / (len(turns) + 1), turn) for nth, turn in enumerate(turns, 1)]
        with Live(console=self.console, refresh_per_second=4, transient=not self.console.is_terminal) as live:
            while time.monotonic() < ends and connector.state not in ENDED and not self.stopping.wait(0.25):
                if waiting and time.monotonic() >= waiting[0][0]:
                    waiting.pop(0)[1]()
                live.update(view(max(0.0, ends - time.monotonic())))

    def land(self, connector: Connector) -> bool:
        """Let the connector finish; whether everything is in the table. It is not stopped."""
        with self.console.status("Landing the last records …"):
            caught_up = connector.wait_until_caught_up(_CATCH_UP)
        if not caught_up:
            self.console.print(f"The table is not caught up after {_CATCH_UP:.0f} s.", style="red")
        return caught_up

    def prove(self, facts: Sequence[Fact]) -> bool:
        """Show the facts; whether all of them hold."""
        table = Table("proof", "expected", "found", "", box=None, pad_edge=False)
        for fact in facts:
            mark = "[green]✓" if fact.holds else "[red]✗"
            table.add_row(fact.name, f"{fact.expected:,}", f"{fact.found:,}", mark)
        self.console.print(table)
        return all(fact.holds for fact in facts)

    def suggest(self, query: str) -> None:
        """Tell what to ask next."""
        self.console.print("\nAsk it something:")
        self.console.print(f'  .venv/bin/frazil sql --home {self.home} "{query}"', highlight=False, soft_wrap=True)


def figures(meter: Meter, produced: int, rate: int) -> list[tuple[str, str]]:
    """What is so of a connector that follows a producer, line by line."""
    records, size = meter.rates()
    waiting = max(0, produced - meter.records)
    latencies = [describe_seconds(meter.latency(quantile)) for quantile in (0.5, 0.95)]
    return [
        ("produced", f"{produced:,} orders at {rate:,}/s"),
        ("landed", f"{meter.rows:,} rows in {meter.files:,} files"),
        ("throughput", f"{records:,.0f} records/s, {size / 1e6:.1f} MB/s"),
        ("lag", f"{waiting:,} records, {describe_seconds(meter.age() if waiting else 0.0)}"),
        ("latency", f"p50 {latencies[0]}, p95 {latencies[1]} to the snapshot"),
        ("snapshot", str(meter.snapshot or "–")),
        ("state", describe_state(meter.connector)),
    ]


def grid(rows: Sequence[tuple[str, str]]) -> Table:
    """Names and what they are."""
    found = Table.grid(padding=(0, 3))
    for name, value in rows:
        found.add_row(f"[dim]{name}", cell(value))
    return found


def panel(content: RenderableType, left: float) -> Panel:
    """What a demo shows while it runs."""
    subtitle = f"{round(left)} s left, Ctrl-C ends it"
    return Panel(content, title="orders → frazil.public.ORDERS", subtitle=subtitle, width=_WIDTH)
