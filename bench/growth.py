"""Whether commits take longer the more there have been: small cycles back to back on one table.

    python bench/growth.py [--cycles 5000] [--records 100] [--partitions 4] [--json FILE]

Snapshots older than two minutes are expired on the way, as `frazil.snapshots.min.age` says; by default it is twenty.
docs/performance.md says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import lake
import workload
from common import CONSOLE, Columns, Job, Subject, described, machine, percentile, plain, show
from frazil.dev.kafka import KafkaBroker

SETTINGS: Final = {"frazil.snapshots.min.age": "120000"}
WINDOW: Final = 50
"""Cycles on either side of the one that is looked at; its own figures would be chance."""

LOOKED_AT: Final = (100, 250, 500, 1_000, 2_500, 5_000, 10_000)

COLUMNS: Columns = {
    "commits": ("number", plain(0)),
    "commit ms": ("commit", plain(1)),
    "p95": ("commit_p95", plain(1)),
    "whole cycle ms": ("cycle", plain(1)),
    "of the 100th": ("ratio", plain(2)),
}


def main() -> None:
    asked = arguments()
    directory = Path(tempfile.mkdtemp(prefix="frazil-bench-"))
    where = machine()
    CONSOLE.print(described(where))
    try:
        with KafkaBroker(directory / "broker", progress=CONSOLE.log) as broker:
            rows, size = measure(asked, broker, directory / "home")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    title = f"{asked.cycles:,} cycles of {asked.records} records, {asked.partitions} partitions"
    show(f"{title}; the last metadata file has {size / 1024:.0f} KiB", COLUMNS, rows)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": where, "metadata_bytes": size, "rows": rows}, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=5_000)
    parser.add_argument("--records", type=int, default=100, help="records of a cycle")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def measure(asked: argparse.Namespace, broker: KafkaBroker, home: Path) -> tuple[list[dict[str, Any]], int]:
    """The commits' times as the table grows, and the bytes of its last metadata file.

    Raises:
        SystemExit: the table does not have exactly what was produced.
    """
    workload.create_topic(broker.bootstrap_servers, "growth", asked.partitions)
    options = {"records": asked.records, "cycles": asked.cycles, "kept_small": 1}
    job = Job(broker.bootstrap_servers, "growth", asked.partitions, 0, 0.0, str(home), asked.cores, SETTINGS, options)
    with CONSOLE.status(f"{asked.cycles:,} cycles …"), Subject("subject_small_cycle.py", job) as subject:
        cycles = subject.finish().cycles
    if not lake.landed(lake.files_of_table(home)).is_complete(asked.records * asked.cycles):
        raise SystemExit("the table does not have every record once")
    metadata = max(home.glob("warehouse/**/*.metadata.json*"), key=lambda each: each.stat().st_mtime_ns)
    return over_time(cycles), metadata.stat().st_size


def over_time(cycles: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Medians around the cycles that are looked at."""
    rows: list[dict[str, Any]] = []
    for number in (each for each in LOOKED_AT if each <= len(cycles)):
        around = cycles[max(0, number - WINDOW) : number + WINDOW]
        commits = [1000 * each["seconds"]["commit"] for each in around]
        median = percentile(commits, 0.5)
        rows.append(
            {
                "number": number,
                "commit": median,
                "commit_p95": percentile(commits, 0.95),
                "cycle": 1000 * percentile([sum(each["seconds"].values()) for each in around], 0.5),
                "ratio": median / rows[0]["commit"] if rows else 1.0,
            }
        )
    return rows


if __name__ == "__main__":
    main()
