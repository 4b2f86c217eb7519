"""How old records are when they are in the table, and how long a small cycle takes.

    python bench/latency.py [--rate 1000] [--seconds 60] [--warmup 20] [--runs 3] [--intervals 1000 0]
                            [--subjects frazil plain-spark] [--only follow small] [--json FILE]

docs/performance.md says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import lake
import workload
from common import CONSOLE, Answer, Columns, Job, Subject, described, machine, medians, percentile, plain, show
from frazil.dev.kafka import KafkaBroker
from frazil.dev.orders_producer import OrderProducer
from frazil.testing.topics import wait_until

PARTITIONS: Final = 4
FOLLOWERS: Final[Mapping[str, str]] = {"frazil": "subject_frazil.py", "plain-spark": "subject_plain_follow.py"}
"""Subjects that follow a producer until their input is closed."""

STARTED: Final = 3
"""Commits after which a subject counts as started; the warm-up begins then."""

SMALL_RECORDS: Final = 100
SMALL_CYCLES: Final = 50
SMALL_WARMUP: Final = 10
"""Small cycles that are run before those that count."""

PHASES: Final = ("plan", "stage", "append", "commit", "acknowledge")
"""Of a cycle; plain Spark has an append in place of stage, commit and acknowledge."""

PARTS: Final = ("read", "convert", "project", "move")

SPREAD: Final[Columns] = {
    "ms": ("what", str),
    "p50": ("p50", plain(0)),
    "p95": ("p95", plain(0)),
    "max": ("max", plain(0)),
}


def main() -> None:
    asked = arguments()
    directory = Path(tempfile.mkdtemp(prefix="frazil-bench-"))
    results: dict[str, Any] = {"machine": machine(), "rate": asked.rate, "seconds": asked.seconds}
    CONSOLE.print(described(results["machine"]))
    try:
        with KafkaBroker(directory / "broker", progress=CONSOLE.log) as broker:
            if "follow" in asked.only:
                results["follow"] = follow_all(asked, broker, directory)
            if "small" in asked.only:
                runs = [small_cycles(asked, broker, directory, run) for run in range(asked.runs)]
                middle = cell_medians(runs)
                results["small"] = {"runs": runs, "medians": middle}
                show(f"{SMALL_CYCLES} cycles of {SMALL_RECORDS} records: medians of {asked.runs}", SPREAD, middle)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=1000, help="records per second")
    parser.add_argument("--seconds", type=int, default=60, help="how long latencies are measured")
    parser.add_argument("--warmup", type=int, default=20, help="seconds before that, once it has begun to commit")
    parser.add_argument("--cores", type=int, default=2, help="Spark's local[N]")
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured; they take turns")
    parser.add_argument("--intervals", type=int, nargs="+", default=(1000, 0), help="frazil.commit.interval.ms")
    parser.add_argument("--subjects", nargs="+", choices=FOLLOWERS, default=list(FOLLOWERS), metavar="NAME")
    parser.add_argument("--only", nargs="+", choices=("follow", "small"), default=("follow", "small"))
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    return parser.parse_args()


def follow_all(asked: argparse.Namespace, broker: KafkaBroker, directory: Path) -> list[dict[str, Any]]:
    """All subjects at all intervals, in turns."""
    rows = []
    for interval in asked.intervals:
        found = [
            follow(name, interval, asked, broker, directory, run)
            for run in range(asked.runs)
            for name in asked.subjects
        ]
        rows += found
        for name in asked.subjects:
            tables = [[*row["latency"], *row["parts"]] for row in found if row["subject"] == name]
            show(f"{name}, commit interval {interval} ms: medians of {asked.runs}", SPREAD, cell_medians(tables))
    return rows


def cell_medians(tables: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The median of each cell of tables of the same rows."""
    return [{"what": same[0]["what"], **medians(same)} for same in zip(*tables, strict=True)]


def follow(
    name: str, interval: int, asked: argparse.Namespace, broker: KafkaBroker, directory: Path, run: int
) -> dict[str, Any]:
    """Follow a producer of steady rate, and look at every record of the measured time."""
    topic = f"{name}-{interval}-{run}"
    workload.create_topic(broker.bootstrap_servers, topic, PARTITIONS)
    home = directory / topic
    job = job_for(broker, topic, home, asked, {"frazil.commit.interval.ms": str(interval)})
    with Subject(FOLLOWERS[name], job) as subject:
        CONSOLE.log(f"{name} at a commit interval of {interval} ms, {asked.rate} records/s")
        producer = OrderProducer(broker.bootstrap_servers, topic, asked.rate).start()
        wait_until_started(subject, home)
        time.sleep(asked.warmup)
        since = time.time()
        time.sleep(asked.seconds)
        until = time.time()
        produced = producer.stop()
        answer = subject.finish()
    cycles = [cycle for cycle in answer.cycles if since <= cycle["began"] < until]
    found = lake.landed(lake.files_of_table(home))
    times = lake.latencies(home, moments(answer), since, until)
    shutil.rmtree(home)
    row = {
        "subject": name,
        "interval_ms": interval,
        "records": times["records"],
        "verified": found.is_complete(produced.records) and produced.failed == 0,
        "cycles_s": len(cycles) / asked.seconds,
        "files_s": sum(cycle["files"] for cycle in cycles) / asked.seconds,
        "cores": subject.meter.cpu(since, until) / (until - since),
        "latency": [
            quantiles("created → committed_at", times["latency"]),
            quantiles("created → visible", times["visible"]),
        ],
        "parts": [quantiles("wait for the cycle", times["wait"]), *phases(cycles)],
    }
    show_follow(row)
    return row


def small_cycles(asked: argparse.Namespace, broker: KafkaBroker, directory: Path, run: int) -> list[dict[str, Any]]:
    """Cycles of a hundred records, back to back."""
    topic = f"small-{run}"
    workload.create_topic(broker.bootstrap_servers, topic, PARTITIONS)
    home = directory / topic
    options = {"records": SMALL_RECORDS, "cycles": SMALL_WARMUP + SMALL_CYCLES}
    CONSOLE.log(f"{options['cycles']} cycles of {SMALL_RECORDS} records")
    with Subject("subject_small_cycle.py", job_for(broker, topic, home, asked, {}, options)) as subject:
        answer = subject.finish()
    odd = [cycle for cycle in answer.cycles if cycle["records"] != SMALL_RECORDS]
    complete = lake.landed(lake.files_of_table(home)).is_complete(SMALL_RECORDS * options["cycles"])
    shutil.rmtree(home)
    rows = phases(answer.cycles[SMALL_WARMUP:])
    verified = "verified" if complete and not odd else "WRONG"
    show(
        f"{SMALL_CYCLES} cycles of {SMALL_RECORDS} records back to back, after {SMALL_WARMUP}: {verified}", SPREAD, rows
    )
    return rows


def job_for(
    broker: KafkaBroker,
    topic: str,
    home: Path,
    asked: argparse.Namespace,
    settings: Mapping[str, str],
    options: Mapping[str, int] | None = None,
) -> Job:
    """A job on a topic that is still being filled."""
    return Job(broker.bootstrap_servers, topic, PARTITIONS, 0, 0.0, str(home), asked.cores, settings, options or {})


def wait_until_started(subject: Subject, home: Path) -> None:
    """Wait until a subject has committed a few times.

    Raises:
        TimeoutError: it has not within two minutes.
        RuntimeError: it failed.
    """
    wait_until(lambda: subject.ended or lake.commits(home) >= STARTED, f"{STARTED} commits", patience=120)
    if subject.ended:
        subject.finish()


def moments(answer: Answer) -> dict[int, lake.Moments]:
    """By snapshot, when its cycle began and when its commit was done."""
    return {
        snapshot: lake.Moments(cycle["began"], cycle["committed"])
        for cycle in answer.cycles
        for snapshot in cycle["snapshots"]
    }


def phases(cycles: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How the wall time of whole cycles, of their phases, and of the parts of their slowest task spreads."""
    rows = [spread("whole cycle", [sum(cycle["seconds"].values()) for cycle in cycles])]
    for phase in (each for each in PHASES if each in cycles[0]["seconds"]):
        rows.append(spread(f"  {phase}", [cycle["seconds"][phase] for cycle in cycles]))
        if phase == "stage":
            rows += [
                spread(f"    task {part}", [cycle["task_seconds"].get(part, 0.0) for cycle in cycles]) for part in PARTS
            ]
            rows.append(
                spread("    job beside it", [c["seconds"]["stage"] - sum(c["task_seconds"].values()) for c in cycles])
            )
    return rows


def spread(what: str, seconds: Sequence[float]) -> dict[str, Any]:
    """The median, 95th percentile and maximum, in ms."""
    return quantiles(what, [1000 * percentile(seconds, share) for share in (0.5, 0.95, 1.0)])


def quantiles(what: str, found: Sequence[float]) -> dict[str, Any]:
    """A row of `SPREAD`."""
    return {"what": what, **dict(zip(("p50", "p95", "max"), found, strict=True))}


def show_follow(row: Mapping[str, Any]) -> None:
    """Print what following a producer gave."""
    title = (
        f"{row['subject']}, commit interval {row['interval_ms']} ms: {row['records']:,} records, "
        f"{row['cycles_s']:.2f} cycles/s, {row['files_s']:.2f} files/s, {row['cores']:.2f} cores, "
        f"{'verified' if row['verified'] else 'WRONG'}"
    )
    show(title, SPREAD, [*row["latency"], *row["parts"]])


if __name__ == "__main__":
    main()
