"""Subject: a frazil connector on many topics: how soon all of their tables are fresh, and what a few busy ones cost."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from common import Answer, Job, tell, told
from frazil import Connector
from frazil.tables.jvm.session import open_session
from subject_scale import note, properties
from workload import send

_BURST = 100
"""Records in each partition at once."""


def main() -> None:
    job = told()
    spark = open_session(Path(job.home), f"local[{job.cores}]", {"spark.driver.memory": "1g"})
    connector = Connector.from_properties(properties(job), spark=spark)
    cycles: list[dict[str, Any]] = []
    connector.on_cycle(lambda report: note(cycles, report))
    topics = job.topic.split(",")
    busy = topics[: job.options["busy"]]
    connector.start()
    connector.wait_until_caught_up()
    new = fresh_after(connector, job, topics)
    again = fresh_after(connector, job, topics)
    before = len(cycles)
    for _ in range(job.options["rounds"]):
        fresh_after(connector, job, busy)
    connector.stop()
    tell(job, Answer(time.time(), cycles=[*cycles, {"new": new, "again": again, "before": before}]))


def fresh_after(connector: Connector, job: Job, topics: list[str]) -> float:
    """Produce a burst to topics; the seconds from its last record until all tables have it."""
    producer = Producer({"bootstrap.servers": job.bootstrap_servers, "linger.ms": 20, "log_level": 2})
    for number in range(_BURST * job.partitions):
        for topic in topics:
            send(producer, topic, b'{"id": %d, "name": "one"}' % number, b"%d" % number, number % job.partitions)
    producer.flush()
    last = time.time()
    connector.wait_until_caught_up()
    return time.time() - last


if __name__ == "__main__":
    main()
