"""What a converter and a transform cost: the same orders as JSON, Avro and Protobuf, side by side.

    python bench/converters.py [--records 300000] [--runs 5] [--only NAME…] [--json FILE]

One process does one Spark task's work, from the broker to files: read, convert, transform, check, project, write. CPU
is that of the whole process, the broker client's threads included. The ratios are to plain JSON, medians of all runs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import workload
from common import CONSOLE, Columns, Job, Subject, described, machine, medians, plain, show
from forms import FORMS, Form
from frazil.dev.kafka import KafkaBroker
from frazil.dev.orders import order
from frazil.testing.schema_registry import SchemaRegistry, served
from stagings import STAGINGS

PARTITIONS = 2
TABLE = list(STAGINGS).index("default, structs")

COLUMNS: Columns = {
    "form": ("form", str),
    "records/CPU-s": ("records_cpu_s", plain(0)),
    "µs CPU": ("cpu_us", plain(2)),
    "of the first": ("of_first", plain(2)),
    "rejects": ("rejects", plain(0)),
}


def main() -> None:
    asked = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="frazil-bench-") as directory,
        KafkaBroker(Path(directory, "broker")) as broker,
        served() as registry,
    ):
        CONSOLE.print(described(machine()))
        for form in {FORMS[name].topic: FORMS[name] for name in asked.only}.values():
            with CONSOLE.status(f"Writing {form.topic} …"):
                _load(broker.bootstrap_servers, form, asked.records, registry)
        runs = [
            result
            for number in range(asked.runs)
            for result in _round(number, asked, Path(directory), broker.bootstrap_servers, registry.url)
        ]
    rows = [{"form": name, **medians([run for run in runs if run["form"] == name])} for name in asked.only]
    for row in rows:
        row["cpu_us"] = row["cpu_s"] / asked.records * 1e6
        row["records_cpu_s"] = asked.records / row["cpu_s"]
        row["of_first"] = row["records_cpu_s"] / rows[0]["records_cpu_s"]
    show(f"{asked.records:,} orders from the broker to files, medians of {asked.runs} runs", COLUMNS, rows)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": machine(), "rows": rows, "runs": runs}, indent=2))


def _load(servers: str, form: Form, records: int, registry: SchemaRegistry) -> None:
    workload.create_topic(servers, form.topic, PARTITIONS)
    producer, rng, schema = workload.order_producer(servers), Random(0), form.registered(registry)
    for number in range(records):
        value = form.written(order(number, rng), schema)
        workload.send(producer, form.topic, value, b"%d" % number, number % PARTITIONS)
    producer.flush()


def _round(
    number: int, asked: argparse.Namespace, directory: Path, servers: str, registry: str
) -> Iterator[dict[str, Any]]:
    for name in asked.only:
        index = list(FORMS).index(name)
        home = str(directory / f"{number}-{index}")
        options = {"checked": 1, "staging": TABLE, "form": index}
        settings = {"schema.registry.url": registry}
        job = Job(servers, FORMS[name].topic, PARTITIONS, asked.records, 0, home, 1, settings, options)
        with (
            CONSOLE.status(f"Run {number + 1} of {asked.runs}: {name} …"),
            Subject("subject_stage.py", job) as subject,
        ):
            (found,) = subject.finish().cycles
        yield {"form": name, **found}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000, help="records of a run (default 300,000)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--only", nargs="+", choices=list(FORMS), default=list(FORMS), metavar="NAME")
    parser.add_argument("--json", type=Path, help="write all figures to this file too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
