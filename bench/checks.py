"""What the checks cost: the same orders staged with and without them, and with one record in a hundred unfit.

    python bench/checks.py [--records 300000] [--runs 3] [--json FILE]

One process does one Spark task's work, so that the share is not hidden in Spark's. CPU is that of the whole process,
the broker client's threads included. docs/performance.md says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import workload
from common import CONSOLE, Columns, Job, Subject, described, machine, medians, plain, show
from frazil.dev.kafka import KafkaBroker
from frazil.dev.orders import order
from stagings import STAGINGS, TABLES

PARTITIONS = 2

COLUMNS: Columns = {
    "columns": ("table", str),
    "µs CPU": ("cpu_us", plain(2)),
    "checked µs": ("checked_us", plain(2)),
    "checks": ("share", lambda share: f"{share:.0%}"),
    "1 % unfit: rate": ("unfit_rate", plain(2)),
}


def main() -> None:
    arguments = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="frazil-bench-") as directory,
        KafkaBroker(Path(directory, "broker")) as broker,
    ):
        CONSOLE.print(described(machine()))
        for topic, share in (("clean", 0.0), ("unfit", 0.01)):
            with CONSOLE.status(f"Producing {arguments.records:,} records, {share:.0%} of them unfit …"):
                _load(broker.bootstrap_servers, topic, arguments.records, share)
        runs = [
            result
            for number in range(arguments.runs)
            for result in _round(number, Path(directory), broker.bootstrap_servers, arguments.records)
        ]
    rows = [_row(table, [run for run in runs if run["table"] == table], arguments.records) for table in TABLES]
    show(f"The checks' share of a task's CPU, medians of {arguments.runs} runs", COLUMNS, rows)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine(), "rows": rows, "runs": runs}, indent=2))


def _round(number: int, directory: Path, bootstrap_servers: str, records: int) -> Iterator[dict[str, Any]]:
    """Every table once, in the three ways, side by side."""
    for table in TABLES:
        index = list(STAGINGS).index(table)
        for topic, checked in (("clean", 0), ("clean", 1), ("unfit", 1)):
            home = str(directory / f"{number}-{index}-{topic}-{checked}")
            options = {"checked": checked, "staging": index}
            job = Job(bootstrap_servers, topic, PARTITIONS, records, 0, home, 1, options=options)
            doing = f"Run {number + 1}: {table}, {topic}, {'checked' if checked else 'unchecked'} …"
            with CONSOLE.status(doing), Subject("subject_stage.py", job) as subject:
                (found,) = subject.finish().cycles
            yield {"table": table, "topic": topic, "checked": checked, **found}


def _row(table: str, runs: list[Mapping[str, Any]], records: int) -> dict[str, Any]:
    def cpu(topic: str, checked: int) -> float:
        chosen = [run for run in runs if run["topic"] == topic and run["checked"] == checked]
        return float(medians(chosen)["cpu_s"])

    bare, checked, unfit = cpu("clean", 0), cpu("clean", 1), cpu("unfit", 1)
    return {
        "table": table,
        "cpu_us": bare / records * 1e6,
        "checked_us": checked / records * 1e6,
        "share": 1 - bare / checked,
        "unfit_rate": checked / unfit,
    }


def _load(bootstrap_servers: str, topic: str, records: int, unfit: float) -> None:
    """Orders, a share of which has a text where a number belongs, a time that is none, or no JSON at all."""
    workload.create_topic(bootstrap_servers, topic, PARTITIONS)
    producer = workload.order_producer(bootstrap_servers)
    rng = Random(0)
    for number in range(records):
        value = order(number, rng)
        if rng.random() < unfit:
            value = rng.choice(_SPOILERS)(value)
        workload.send(producer, topic, value, b"%d" % number, number % PARTITIONS)
    producer.flush()


_SPOILERS = (
    lambda value: value.replace(b'"order_id":', b'"order_id":"n/a","was":', 1),
    lambda value: value.replace(b'"order_date":"', b'"order_date":"on ', 1),
    lambda value: value[:-1],
)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000, help="records of a run (default 300,000)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--json", type=Path, help="write all figures to this file too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
