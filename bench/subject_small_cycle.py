"""Subject: frazil at small cycles back to back; between two cycles, a few records are produced.

The records are made in the connector's own thread, after a cycle and before the next, so each cycle finds exactly them.
"""

from __future__ import annotations

import threading
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from common import Job, tell, told
from frazil.connector.states import ENDED
from frazil.cycle import CycleReport
from frazil.dev.orders import order
from frazil.tables.iceberg.catalog import PROPERTIES_OF_CREATED, PROPERTIES_ON_LOCAL_DISKS
from subject_frazil import answer, as_row, connector_for
from workload import FULL_NAME, order_producer, send


def main() -> None:
    job = told()
    connector = connector_for(job)
    if job.options.get("kept_small"):
        keep_small()
    feed = Feed(job)
    feed.produce()
    connector.on_cycle(feed.after)
    connector.start()
    while not feed.done.wait(1) and connector.state not in ENDED:
        pass
    connector.stop()
    if connector.error:
        raise connector.error
    tell(job, answer(feed.cycles))


def keep_small() -> None:
    """Give the table the properties of those that frazil creates, whose metadata it keeps small."""
    given = PROPERTIES_OF_CREATED | PROPERTIES_ON_LOCAL_DISKS
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    SparkSession.active().sql(f"ALTER TABLE {FULL_NAME} SET TBLPROPERTIES ({properties})")


class Feed:
    """Gives the connector `options["records"]` records at a time, `options["cycles"]` times."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._producer = order_producer(job.bootstrap_servers)
        self._rng = Random(0)
        self._next = 0
        self.cycles: list[dict[str, Any]] = []
        self.done = threading.Event()

    def after(self, report: CycleReport) -> None:
        """Note what a cycle did, and give the next one its records."""
        if not report.records or self.done.is_set():
            return
        self.cycles.append(as_row(report))
        if len(self.cycles) == self._job.options["cycles"]:
            self.done.set()
        else:
            self.produce()

    def produce(self) -> None:
        """Produce the next records; they are in the topic when this returns."""
        for _ in range(self._job.options["records"]):
            partition = self._next % self._job.partitions
            send(self._producer, self._job.topic, order(self._next, self._rng), b"%d" % self._next, partition)
            self._next += 1
        self._producer.flush()


if __name__ == "__main__":
    main()
