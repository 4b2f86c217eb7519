"""What a pipe costs: the same orders staged through each of them, side by side.

    python bench/pipes.py [--records 300000] [--runs 5] [--only NAME…] [--json FILE]

One process does one Spark task's work, from the broker to files: read, convert, check, project, write. CPU is that of
the whole process, the broker client's threads included. The ratios are to the first pipe, medians of all runs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workload
from common import CONSOLE, Columns, Job, Subject, described, machine, medians, plain, show
from frazil.dev.kafka import KafkaBroker
from stagings import PIPES, STAGINGS

PARTITIONS = 2

COLUMNS: Columns = {
    "pipe": ("pipe", str),
    "records/CPU-s": ("records_cpu_s", plain(0)),
    "µs CPU": ("cpu_us", plain(2)),
    "of the first": ("of_first", plain(2)),
    "files": ("files", plain(0)),
}


def main() -> None:
    asked = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="frazil-bench-") as directory,
        KafkaBroker(Path(directory, "broker")) as broker,
    ):
        CONSOLE.print(described(machine()))
        workload.load(broker.bootstrap_servers, "orders", PARTITIONS, asked.records)
        runs = [
            result
            for number in range(asked.runs)
            for result in _round(number, asked, Path(directory), broker.bootstrap_servers)
        ]
    rows = [{"pipe": name, **medians([run for run in runs if run["pipe"] == name])} for name in asked.only]
    for row in rows:
        row["cpu_us"] = row["cpu_s"] / asked.records * 1e6
        row["records_cpu_s"] = asked.records / row["cpu_s"]
        row["of_first"] = row["records_cpu_s"] / rows[0]["records_cpu_s"]
    show(f"{asked.records:,} orders from the broker to files, medians of {asked.runs} runs", COLUMNS, rows)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": machine(), "rows": rows, "runs": runs}, indent=2))


def _round(number: int, asked: argparse.Namespace, directory: Path, servers: str) -> Iterator[dict[str, Any]]:
    for name in asked.only:
        index = list(STAGINGS).index(name)
        home = str(directory / f"{number}-{index}")
        options = {"checked": 1, "staging": index}
        job = Job(servers, "orders", PARTITIONS, asked.records, 0, home, 1, options=options)
        with (
            CONSOLE.status(f"Run {number + 1} of {asked.runs}: {name} …"),
            Subject("subject_stage.py", job) as subject,
        ):
            (found,) = subject.finish().cycles
        yield {"pipe": name, **found}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000, help="records of a run (default 300,000)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--only", nargs="+", choices=list(PIPES), default=list(PIPES), metavar="NAME")
    parser.add_argument("--json", type=Path, help="write all figures to this file too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
