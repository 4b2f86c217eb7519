"""Catch up with a topic that is full, onto tables that are laid out in different ways, side by side.

    python bench/layout.py [--records 500000] [--runs 3] [--partitions 4] [--cores 2] [--json FILE] [--only NAME…]

The ratios are to the table that is neither partitioned nor sorted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import workload
from common import CONSOLE, Columns, Job, Subject, described, machine, medians, plain, show
from frazil.dev.kafka import KafkaBroker
from throughput import figures

COLUMNS: Columns = {
    "table": ("layout", str),
    "run": ("run", str),
    "records/s": ("records_s", plain(0)),
    "per CPU-s": ("records_cpu_s", plain(0)),
    "of plain": ("of_plain", plain(2)),
    "project s": ("project", plain(2)),
    "move s": ("move", plain(2)),
    "commit s": ("commit", plain(2)),
    "peak MB": ("peak_mb", plain(0)),
    "files": ("files", plain(0)),
    "file MB": ("file_mb", plain(1)),
    "right": ("verified", lambda found: "yes" if found else "NO"),
}


def main() -> None:
    asked = arguments()
    directory = Path(tempfile.mkdtemp(prefix="frazil-bench-"))
    try:
        with KafkaBroker(directory / "broker", progress=CONSOLE.log) as broker:
            results = measure(asked, broker, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    report(results)
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2, help="Spark's local[N]")
    names = list(workload.LAYOUTS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    return parser.parse_args()


def measure(asked: argparse.Namespace, broker: KafkaBroker, directory: Path) -> dict[str, Any]:
    """Load the topic once, then land it in every table in turn, as often as asked."""
    where = machine()
    CONSOLE.log(f"loading {asked.records:,} orders")
    size = workload.load(broker.bootstrap_servers, "orders", asked.partitions, asked.records, None)
    job = Job(
        broker.bootstrap_servers, "orders", asked.partitions, asked.records, size / asked.records, "", asked.cores
    )
    rows = []
    for number, layout in itertools.product(range(1, asked.runs + 1), asked.only):
        place = list(workload.LAYOUTS).index(layout)
        mine = replace(job, home=str(directory / f"{place}-{number}"), options={"layout": place})
        with Subject("subject_frazil.py", mine) as running:
            answer = running.finish()
        row = figures(mine, size, running, answer)
        spent = {
            part: sum(cycle["task_seconds"].get(part, 0.0) for cycle in row["cycles"]) for part in ("project", "move")
        }
        spent["commit"] = sum(cycle["seconds"]["commit"] for cycle in row["cycles"])
        CONSOLE.log(f"{layout}: {row['records_cpu_s']:,.0f} records per CPU-second, {row['files']} files")
        rows.append({"layout": layout, "run": number, **spent, **row})
        shutil.rmtree(mine.home)
    return {"machine": where, "records": asked.records, "bytes": size, "runs": rows}


def report(results: Mapping[str, Any]) -> None:
    """Print every run, and the medians with their ratios to the plain table's."""
    runs: Sequence[Mapping[str, Any]] = results["runs"]
    middle = {}
    for layout in dict.fromkeys(row["layout"] for row in runs):
        mine = [row for row in runs if row["layout"] == layout]
        right = all(row["verified"] for row in mine)
        middle[layout] = {**medians(mine), "layout": layout, "run": "median", "verified": right}
    if "plain" in middle:
        for row in middle.values():
            row["of_plain"] = row["records_cpu_s"] / middle["plain"]["records_cpu_s"]
    CONSOLE.print(described(results["machine"]))
    show(f"{results['records']:,} records", COLUMNS, [*runs, *middle.values()])


if __name__ == "__main__":
    main()
