"""How soon the tables of many topics are fresh after the last record, and a cycle's time when few of them are busy.

    python bench/freshness.py [--tables 200] [--partitions 3] [--busy 5] [--rounds 20] [--cores 2] [--json FILE]

Every partition gets a burst of 100 records while the connector runs: once while the tables are empty and have no
columns yet, once when they have; then only the busy topics do, round by round. The catalog is the embedded one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from common import CONSOLE, Columns, Job, Subject, described, machine, percentile, plain, show
from frazil.dev.kafka import KafkaBroker

COLUMNS: Columns = {
    "tables": ("tables", str),
    "partitions each": ("partitions", plain(0)),
    "new tables fresh after s": ("new", plain(1)),
    "tables fresh after s": ("again", plain(1)),
    "busy": ("busy", plain(0)),
    "their cycle p50 s": ("p50", plain(2)),
    "p95 s": ("p95", plain(2)),
    "CPU-s": ("cpu_s", plain(1)),
}


def main() -> None:
    asked = arguments()
    directory = Path(tempfile.mkdtemp(prefix="frazil-bench-"))
    try:
        with KafkaBroker(directory / "broker", progress=CONSOLE.log) as broker:
            where, row = machine(), measure(asked, broker, directory / "home")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    CONSOLE.print(described(where))
    show("Many tables in one connector", COLUMNS, [row])
    if asked.json:
        asked.json.write_text(json.dumps({"machine": where, "runs": [row]}, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--partitions", type=int, default=3, help="of each topic")
    parser.add_argument("--busy", type=int, default=5, help="topics that get records in each round")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cores", type=int, default=2, help="Spark's local[N]")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    return parser.parse_args()


def measure(asked: argparse.Namespace, broker: KafkaBroker, home: Path) -> dict[str, Any]:
    """Make the topics, and land the bursts."""
    topics = [f"records_{number}" for number in range(asked.tables)]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 2})
    for made in admin.create_topics([NewTopic(topic, asked.partitions, 1) for topic in topics]).values():
        made.result(120)
    options = {"busy": asked.busy, "rounds": asked.rounds}
    job = Job(
        broker.bootstrap_servers, ",".join(topics), asked.partitions, 0, 25, str(home), asked.cores, options=options
    )
    with Subject("subject_freshness.py", job) as running:
        answer = running.finish(900)
    *cycles, told = answer.cycles
    busy = [sum(cycle["seconds"].values()) for cycle in cycles[told["before"] :]]
    return {
        "tables": asked.tables,
        "partitions": asked.partitions,
        "busy": asked.busy,
        "new": told["new"],
        "again": told["again"],
        "p50": percentile(busy, 0.5),
        "p95": percentile(busy, 0.95),
        "cpu_s": running.meter.cpu(running.started, answer.ended),
        "cycles": cycles,
    }


if __name__ == "__main__":
    main()
