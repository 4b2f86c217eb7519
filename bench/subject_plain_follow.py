"""Subject: plain PySpark that follows a topic, an append at each tick of a trigger, as Structured Streaming does it.

It runs until its input is closed and everything in the topic is in the table.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from common import Answer, Job, tell, told
from subject_plain_spark import append, session
from workload import FULL_NAME, create_table


def main() -> None:
    job = told()
    spark = session(job)
    create_table(spark)
    ends = Ends(job)
    closed = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), closed.set()), daemon=True).start()
    interval = int(job.settings["frazil.commit.interval.ms"]) / 1000
    cycles: list[dict[str, Any]] = []
    while True:
        last, began = closed.is_set(), time.time()
        ranges = ends.ranges()
        planned = time.time()
        if ranges:
            append(spark, job, ranges)
            cycles.append(as_row(ranges, began, planned))
        elif last:
            break
        time.sleep(max(0.0, began + interval - time.time()))
    ids = spark.sql(f"SELECT snapshot_id FROM {FULL_NAME}.snapshots ORDER BY committed_at").collect()
    for cycle, (snapshot,) in zip(cycles, ids, strict=True):
        cycle["snapshots"] = [snapshot]
    tell(job, Answer(cycles[-1]["committed"], cycles=cycles))
    spark.stop()


class Ends:
    """How far the topic goes, and how far it has been read."""

    def __init__(self, job: Job) -> None:
        self._consumer = Consumer({"bootstrap.servers": job.bootstrap_servers, "group.id": "plain-follow"})
        self._topic = job.topic
        self._read = dict.fromkeys(range(job.partitions), 0)

    def ranges(self) -> list[tuple[int, int, int]]:
        """What has come since the last call: partition, first offset, and the one after the last."""
        found = []
        for partition, start in self._read.items():
            _, end = self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), timeout=10)
            if end > start:
                found.append((partition, start, end))
                self._read[partition] = end
        return found


def as_row(ranges: list[tuple[int, int, int]], began: float, planned: float) -> dict[str, Any]:
    """One append, as `subject_frazil` tells of a cycle; Spark stages and commits in one go."""
    now = time.time()
    return {
        "began": began,
        "committed": now,
        "records": sum(end - start for _, start, end in ranges),
        "files": len(ranges),
        "seconds": {"plan": planned - began, "append": now - planned},
    }


if __name__ == "__main__":
    main()
