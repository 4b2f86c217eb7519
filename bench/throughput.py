"""Catch up with a topic that is full: frazil, plain Spark and the limit, side by side on one broker.

    python bench/throughput.py [--records 1000000] [--runs 3] [--partitions 4] [--cores 2] [--json FILE] [--only NAME…]

docs/performance.md says what the columns mean.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lake
import workload
from common import CONSOLE, Answer, Columns, Job, Subject, described, machine, medians, plain, show
from frazil.dev.kafka import KafkaBroker

SUBJECTS: Mapping[str, str] = {
    "frazil": "subject_frazil.py",
    "plain-spark": "subject_plain_spark.py",
    "limit": "subject_limit.py",
    "bare-limit": "subject_limit.py",
}
OPTIONS: Mapping[str, Mapping[str, int]] = {"limit": {"checked": 1}, "bare-limit": {"checked": 0}}
RATIOS = (("frazil", "plain-spark"), ("frazil", "limit"), ("frazil", "bare-limit"))

COLUMNS: Columns = {
    "subject": ("subject", str),
    "run": ("run", str),
    "records/s": ("records_s", plain(0)),
    "warm": ("warm_records_s", plain(0)),
    "MB/s": ("mb_s", plain(1)),
    "wall s": ("wall_s", plain(2)),
    "CPU-s": ("cpu_s", plain(2)),
    "per CPU-s": ("records_cpu_s", plain(0)),
    "start s": ("startup_s", plain(1)),
    "peak MB": ("peak_mb", plain(0)),
    "commits": ("commits", plain(0)),
    "files": ("files", plain(0)),
    "file MB": ("file_mb", plain(1)),
    "right": ("verified", lambda found: "yes" if found else "NO"),
}
RATIO_COLUMNS: Columns = {
    "": ("subject", str),
    "records/s": ("records_s", plain(2)),
    "warm": ("warm_records_s", plain(2)),
    "per CPU-s": ("records_cpu_s", plain(2)),
    "peak MB": ("peak_mb", plain(2)),
}

PHASES = ("plan", "stage", "commit", "acknowledge")
PARTS = ("read", "convert", "project", "move")
"""What a task does; the slowest task's wall time, within `stage`."""

CYCLES: Columns = {
    "cycle": ("number", str),
    "records": ("records", plain(0)),
    "files": ("files", plain(0)),
    **{phase: (phase, plain(3)) for phase in PHASES},
    **{part: (part, plain(3)) for part in PARTS},
    "beside": ("beside", plain(3)),
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
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--record-bytes", type=int, help="size of an order; its note is cut or grows")
    parser.add_argument("--cores", type=int, default=2, help="Spark's local[N], and the processes of the limit")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, default=list(SUBJECTS), metavar="NAME")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    return parser.parse_args()


def measure(asked: argparse.Namespace, broker: KafkaBroker, directory: Path) -> dict[str, Any]:
    """Load the topic once, then run the subjects in turn, as often as asked."""
    where = machine()
    CONSOLE.log(f"loading {asked.records:,} orders")
    topic = f"orders-{asked.partitions}-{asked.record_bytes or 0}"
    size = workload.load(broker.bootstrap_servers, topic, asked.partitions, asked.records, asked.record_bytes)
    job = Job(broker.bootstrap_servers, topic, asked.partitions, asked.records, size / asked.records, "", asked.cores)
    rows = []
    for number, subject in itertools.product(range(1, asked.runs + 1), asked.only):
        mine = replace(job, home=str(directory / f"{subject}-{number}"), options=dict(OPTIONS.get(subject, {})))
        with Subject(SUBJECTS[subject], mine) as running:
            answer = running.finish()
        row = figures(mine, size, running, answer)
        CONSOLE.log(f"{subject}: {row['records_s']:,.0f} records/s, {'verified' if row['verified'] else 'WRONG'}")
        rows.append({"subject": subject, "run": number, **row})
        shutil.rmtree(mine.home)
    options = {"records": asked.records, "bytes": size, "partitions": asked.partitions, "cores": asked.cores}
    return {"machine": where, **options, "runs": rows}


def figures(job: Job, size: int, subject: Subject, answer: Answer) -> dict[str, Any]:
    """One run in numbers, its result read back: the clock runs from the first read to the last commit."""
    found = lake.landed(list(map(Path, answer.files)) or lake.files_of_table(Path(job.home)))
    wall = answer.ended - found.first_read
    cpu = subject.meter.cpu(found.first_read, answer.ended)
    return {
        "records_s": job.records / wall,
        "mb_s": size / wall / 1e6,
        "warm_records_s": warm_rate(answer.cycles),
        "wall_s": wall,
        "cpu_s": cpu,
        "records_cpu_s": job.records / cpu,
        "startup_s": found.first_read - subject.started,
        "peak_mb": subject.meter.peak / 1e6,
        "commits": len(answer.cycles),
        "files": found.files,
        "file_mb": found.bytes / found.files / 1e6,
        "verified": found.is_complete(job.records, short=size < workload.SHORT * job.records),
        "cycles": answer.cycles,
    }


def warm_rate(cycles: Sequence[Mapping[str, Any]]) -> float | None:
    """Records per second after the first commit, if there is another."""
    first, *others = cycles or [{}]
    if not others:
        return None
    records = sum(cycle["records"] for cycle in others)
    return float(records / (others[-1]["committed"] - first["committed"]))


def report(results: Mapping[str, Any]) -> None:
    """Print every run, the medians, their ratios, and where frazil's time goes."""
    runs: Sequence[Mapping[str, Any]] = results["runs"]
    CONSOLE.print(described(results["machine"]))
    average = results["bytes"] / results["records"]
    by_subject = {
        name: [row for row in runs if row["subject"] == name] for name in dict.fromkeys(row["subject"] for row in runs)
    }
    middle = {name: {**medians(rows), "subject": name, "run": "median"} for name, rows in by_subject.items()}
    for name, row in middle.items():
        row["verified"] = all(each["verified"] for each in by_subject[name])
    title = f"{results['records']:,} records of {average:.0f} B in {results['partitions']} partitions"
    show(f"{title}, {results['cores']} cores", COLUMNS, [*runs, *middle.values()])
    ratios = [
        {"subject": f"{one} / {other}"}
        | {key: value / middle[other][key] for key, value in medians([middle[one]]).items() if middle[other].get(key)}
        for one, other in RATIOS
        if one in middle and other in middle
    ]
    if ratios:
        show("Ratios of the medians", RATIO_COLUMNS, ratios)
    if "frazil" in by_subject:
        ordered = sorted(by_subject["frazil"], key=lambda row: row["records_s"])
        show_cycles(ordered[len(ordered) // 2])


def show_cycles(run: Mapping[str, Any]) -> None:
    """Where the time of frazil's median run went, cycle by cycle."""
    rows = [flat(cycle) for cycle in run["cycles"]]
    total: Counter[str] = Counter()
    for row in rows:
        total.update({key: value for key, value in row.items() if key != "number"})
    show(f"frazil's cycles in run {run['run']}, seconds", CYCLES, [*rows, {**total, "number": "all"}])


def flat(cycle: Mapping[str, Any]) -> dict[str, Any]:
    """A cycle's report as one row; `beside` is what the Spark job took beyond its slowest task."""
    parts = {part: cycle["task_seconds"].get(part, 0.0) for part in PARTS}
    beside = cycle["seconds"]["stage"] - sum(parts.values())
    return {
        "number": cycle["number"],
        "records": cycle["records"],
        "files": cycle["files"],
        **cycle["seconds"],
        **parts,
        "beside": beside,
    }


if __name__ == "__main__":
    main()
