"""Subject: a frazil connector in default settings, onto a table that exists.

It runs until its input is closed and everything in the topic is in the table.
"""

from __future__ import annotations

import sys
import time
import uuid
from pathlib import Path
from typing import Any

from common import Answer, Job, tell, told
from frazil import Connector
from frazil.cycle import CycleReport
from frazil.tables.jvm.session import DEFAULT_NAMESPACE, open_session
from workload import LAYOUTS, TABLE, create_table


def main() -> None:
    job = told()
    run(job, connector_for(job))


def run(job: Job, connector: Connector) -> None:
    """Run a connector until the input is closed, and until it has caught up if the job does not say otherwise."""
    cycles: list[dict[str, Any]] = []
    connector.on_cycle(lambda report: cycles.append(as_row(report)) if report.records else None)
    connector.start()
    sys.stdin.read()
    if job.options.get("catch_up", 1):
        connector.wait_until_caught_up()
    connector.stop()
    tell(job, answer(cycles))


def connector_for(job: Job) -> Connector:
    """A connector that has its session and its table."""
    home = Path(job.home)
    spark = open_session(home, f"local[{job.cores}]", {})
    create_table(spark, list(LAYOUTS)[job.options.get("layout", 0)])
    properties = {
        "name": "bench",
        # A group of its own for every run: the one before has published that everything is read.
        "consumer.override.group.id": f"bench-{uuid.uuid4()}",
        "connector.class": "frazil.KafkaConnector",
        "bootstrap.servers": job.bootstrap_servers,
        "topics": job.topic,
        "snowflake.topic2table.map": f"{job.topic}:{TABLE}",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "frazil.home": str(home),
        "frazil.namespace": DEFAULT_NAMESPACE,
        "frazil.commit.interval.ms": "0",
        **job.settings,
    }
    return Connector.from_properties(properties, spark=spark)


def as_row(report: CycleReport) -> dict[str, Any]:
    """A cycle's report, with the moments it began and its commit was done; called as soon as the cycle has ended."""
    now = time.time()
    return {
        "number": report.number,
        "began": now - sum(report.seconds.values()),
        "committed": now - report.seconds["acknowledge"],
        "records": report.records,
        "bytes": report.bytes,
        "files": report.files,
        "snapshots": list(report.snapshots.values()),
        "seconds": dict(report.seconds),
        "task_seconds": dict(report.task_seconds),
    }


def answer(cycles: list[dict[str, Any]]) -> Answer:
    """The answer of a connector that did these cycles."""
    return Answer(cycles[-1]["committed"], cycles=cycles)


if __name__ == "__main__":
    main()
