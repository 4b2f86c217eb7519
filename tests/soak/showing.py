"""A soak's result as a table for people and as JSON for programs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from tests.soak.lives import FAULTS
from tests.soak.tally import Judgement, Tally, figures, verdict


def document(seed: int, seconds: float, tally: Tally, judgement: Judgement | None) -> dict[str, Any]:
    """Everything that is known of a run."""
    return {
        "seed": seed,
        "seconds": round(seconds),
        "machine": {"cores": os.cpu_count(), "load": [round(each, 1) for each in os.getloadavg()]},
        "faults": {name: tally.fired[name] for name in FAULTS},
        "kills": tally.kills,
        "recovery_seconds": figures(tally.recoveries),
        "spark_start_seconds": figures(tally.starts),
        "table": asdict(judgement) if judgement else None,
        "failed": verdict(tally, judgement),
    }


def shown(found: Mapping[str, Any]) -> Group:
    """The same for people."""
    faults = Table("fault", "times", title="What happened", title_justify="left")
    for name, times in found["faults"].items():
        faults.add_row(escape(name), str(times) if times else "[red]never[/]")
    result = Table(show_header=False, title="What came of it", title_justify="left")
    for name, value in _rows(found):
        result.add_row(name, value)
    failed = [Text(f"✗ {reason}", style="red") for reason in found["failed"]]
    return Group(faults, result, *(failed or [Text("✓ every record once", style="green")]))


def _rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    recovery, start, table = found["recovery_seconds"], found["spark_start_seconds"], found["table"] or {}
    return [
        ("seed", str(found["seed"])),
        ("kills (kill -9)", f"{found['kills']} in {found['seconds']} s"),
        (
            "from a kill to the next rows",
            f"p50 {recovery['p50']} s, at most {recovery['max']} s, of {recovery['count']}",
        ),
        ("  and Spark's start-up", f"p50 {start['p50']} s, at most {start['max']} s, of {start['count']}"),
        *((name, f"{value:,}") for name, value in table.items() if isinstance(value, int)),
        (
            "load of the machine",
            ", ".join(map(str, found["machine"]["load"])) + f" on {found['machine']['cores']} cores",
        ),
    ]
