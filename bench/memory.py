"""What a backlog costs in memory: driver, JVM and each Python worker, for records of many shapes.

    python bench/memory.py [--megabytes 2048] [--partitions 1] [--cores 2] [--only NAME…] [--json FILE]

Memory is the highest resident size a process ever had, by the kernel's own account (VmHWM), pages it shares included.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import duckdb

import lake
import shapes
from common import CONSOLE, Answer, Columns, Job, Subject, described, machine, plain, show
from frazil.dev.kafka import KafkaBroker
from shapes import SHAPES, Loaded, WriteShape

COLUMNS: Columns = {
    "shape": ("shape", str),
    "records": ("records", plain(0)),
    "MB": ("mb", plain(0)),
    "driver MB": ("driver_mb", plain(0)),
    "JVM MB": ("jvm_mb", plain(0)),
    "worker MB": ("worker_mb", plain(0)),
    "CPU-s": ("cpu_s", plain(1)),
    "MB per CPU-s": ("mb_cpu_s", plain(1)),
    "cycles": ("cycles", plain(0)),
    "files": ("files", plain(0)),
    "right": ("verified", lambda found: "yes" if found else "NO"),
}


def main() -> None:
    asked = arguments()
    directory = Path(tempfile.mkdtemp(prefix="frazil-bench-"))
    where = machine()
    rows = []
    try:
        for shape in (each for each in SHAPES if each.name in asked.only):
            rows.append(measure(asked, shape, directory / shape.name))
            shutil.rmtree(directory / shape.name)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    CONSOLE.print(described(where))
    show("Peak memory by process", COLUMNS, rows)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": where, "runs": rows}, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2048, help="values in the topic")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--cores", type=int, default=2, help="Spark's local[N]")
    names = [shape.name for shape in SHAPES]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    return parser.parse_args()


def measure(asked: argparse.Namespace, shape: WriteShape, directory: Path) -> dict[str, Any]:
    """Load one topic on a broker of its own, and land it."""
    with KafkaBroker(directory / "broker") as broker:
        CONSOLE.log(f"{shape.name}: loading {asked.megabytes:,} MB of records of {shape.meaning}")
        found = shapes.load(broker.bootstrap_servers, "records", shape, asked.partitions, asked.megabytes * 1_000_000)
        job = Job(
            broker.bootstrap_servers,
            "records",
            asked.partitions,
            found.records,
            found.bytes / found.records,
            str(directory / "home"),
            asked.cores,
            settings=shape.settings,
        )
        with Subject("subject_land.py", job) as running:
            answer = running.finish(3600)
    row = {"shape": shape.name, **figures(shape, found, running, answer, Path(job.home))}
    CONSOLE.log(f"{shape.name}: worker {row['worker_mb']:,.0f} MB, JVM {row['jvm_mb']:,.0f} MB")
    return row


def figures(shape: WriteShape, loaded: Loaded, running: Subject, answer: Answer, home: Path) -> dict[str, Any]:
    """One run in numbers."""
    peaks = running.meter.peaks
    cpu = running.meter.cpu(running.started, answer.ended)
    files = lake.files_of_table(home)
    return {
        "records": loaded.records,
        "mb": loaded.bytes / 1e6,
        **{f"{role}_mb": max(peaks.get(role, [0])) / 1e6 for role in ("driver", "jvm", "worker")},
        "workers_mb": [peak / 1e6 for peak in peaks.get("worker", [])],
        "cpu_s": cpu,
        "mb_cpu_s": loaded.bytes / 1e6 / cpu,
        "cycles": len(answer.cycles),
        "files": len(files),
        "verified": is_complete(shape, loaded, files),
    }


def is_complete(shape: WriteShape, loaded: Loaded, files: list[Path]) -> bool:
    """Whether every record is a row, once; or none is, where none can be."""
    if shape.rejected:
        return not files
    found = duckdb.execute(
        "SELECT count(*), count(DISTINCT (RECORD_METADATA.partition, RECORD_METADATA.offset)) "
        "FROM read_parquet($files, union_by_name = true)",
        {"files": list(map(str, files))},
    ).fetchone()
    return found == (loaded.records, loaded.records)


if __name__ == "__main__":
    main()
