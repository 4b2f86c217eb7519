"""What the number of partitions and the size of records do to throughput, for every subject of `throughput.py`.

    python bench/sweep.py [--megabytes 400] [--runs 3] [--only NAME…] [--json FILE]

docs/performance.md says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

import throughput
from common import CONSOLE, Columns, described, medians, plain, show
from frazil.dev.kafka import KafkaBroker

POINTS: Final = ((1, 780), (4, 780), (16, 780), (64, 780), (4, 100), (4, 10_000), (4, 100_000))
"""Partitions, and bytes of a record."""

MOST_RECORDS: Final = 1_000_000

COLUMNS: Columns = {
    "partitions": ("partitions", plain(0)),
    "bytes": ("record_bytes", plain(0)),
    "subject": ("subject", str),
    "records/s": ("records_s", plain(0)),
    "MB/s": ("mb_s", plain(1)),
    "per CPU-s": ("records_cpu_s", plain(0)),
    "MB per CPU-s": ("mb_cpu_s", plain(1)),
    "right": ("verified", lambda found: "yes" if found else "NO"),
}


def main() -> None:
    asked = arguments()
    rows: list[dict[str, Any]] = []
    where: dict[str, Any] = {}
    directory = Path(tempfile.mkdtemp(prefix="frazil-bench-"))
    try:
        for partitions, size in POINTS:
            asked.partitions, asked.record_bytes = partitions, size
            asked.records = min(MOST_RECORDS, asked.megabytes * 1_000_000 // size)
            # A broker for each: topics of the points before would be in its page cache's way.
            with KafkaBroker(directory / f"broker-{partitions}-{size}") as broker:
                found = throughput.measure(asked, broker, directory)
            where = where or found["machine"]
            rows += summary(found, partitions, size)
            shutil.rmtree(directory / f"broker-{partitions}-{size}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    CONSOLE.print(described(where))
    show(f"Partitions and sizes of records, medians of {asked.runs}", COLUMNS, rows)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": where, "rows": rows}, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=400, help="values in a topic")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2, help="Spark's local[N], and the processes of the limit")
    parser.add_argument("--only", nargs="+", choices=throughput.SUBJECTS, default=["frazil", "plain-spark", "limit"])
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    return parser.parse_args()


def summary(found: dict[str, Any], partitions: int, size: int) -> list[dict[str, Any]]:
    """The medians of each subject at one point."""
    rows = []
    for subject in dict.fromkeys(run["subject"] for run in found["runs"]):
        runs = [run for run in found["runs"] if run["subject"] == subject]
        middle = medians(runs)
        rows.append(
            {
                "partitions": partitions,
                "record_bytes": size,
                "subject": subject,
                **{key: middle[key] for key in ("records_s", "mb_s", "records_cpu_s")},
                "mb_cpu_s": middle["records_cpu_s"] * found["bytes"] / found["records"] / 1e6,
                "verified": all(run["verified"] for run in runs),
            }
        )
    return rows


if __name__ == "__main__":
    main()
