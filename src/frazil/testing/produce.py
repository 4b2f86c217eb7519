"""Produce records that carry the proof of their own integrity, and write down which were acknowledged.

    python -m frazil.testing.produce --bootstrap 127.0.0.1:9092 --topic t --partitions 4 --rate 2000 --wal acked.csv

SIGTERM or Ctrl-C ends it: it waits for what is in flight and prints the number of acknowledged records.
"""

from __future__ import annotations

import argparse
import hashlib
import signal
import sys
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TextIO

import orjson
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from frazil.dev.pace import Pace

ALPHABET = "abcdefghijklmnopqrstuvwxyz 0123456789\"\\/{}[]:,\n\t'$%äöüßłжש中文😀\u2028"
"""What has been lost on the way from JSON to Parquet before."""

TICK = 0.01
"""Seconds between two batches."""


def record(run: str, partition: int, seq: int) -> bytes:
    """The record number `seq` of a run in a partition; equal arguments give equal bytes.

    `run` tells producers apart; within one, `seq` increases with the offset, and `sha256` is that of `payload`.
    """
    rng = Random(f"{run}/{partition}/{seq}")  # noqa: S311 (test data)
    payload = "".join(rng.choices(ALPHABET, k=rng.randrange(300)))
    digest = hashlib.sha256(payload.encode()).hexdigest()
    return orjson.dumps({"run": run, "partition": partition, "seq": seq, "payload": payload, "sha256": digest})


class RecordProducer:
    """Produce records to all partitions in turn until stopped; every acknowledged one gets a line in the WAL.

    Args:
        bootstrap: Where the broker is.
        topic: An existing topic.
        partitions: How many of its partitions to fill.
        rate: Records per second in all partitions together; None is as many as possible.
        wal: Where `partition,offset,seq` lines are appended.
        run: Tells producers apart; random when not given.
    """

    def __init__(
        self, bootstrap: str, topic: str, partitions: int, rate: float | None, wal: Path, run: str | None = None
    ) -> None:
        self.acknowledged = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "compression.type": "lz4",
                "log_level": 2,
            }
        )
        self._topic = topic
        self._partitions = partitions
        self._rate = rate
        self._wal = wal
        self._run = run or uuid.uuid4().hex[:8]

    def produce(self, stopping: threading.Event, count: int | None = None) -> int:
        """Produce until `stopping` is set, or `count` records; return how many were acknowledged."""
        pace = Pace(self._rate, batch=1000)
        produced = 0
        with self._wal.open("a") as wal:
            while not stopping.is_set() and (count is None or produced < count):
                due = pace.take() if count is None else min(pace.take(), count - produced)
                for number in range(produced, produced + due):
                    self._send(wal, *divmod(number, self._partitions))
                produced += due
                self._producer.poll(0)
                if self._rate is not None:
                    stopping.wait(TICK)
            self._producer.flush()
        return self.acknowledged

    def _send(self, wal: TextIO, seq: int, partition: int) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                raise KafkaException(error)
            wal.write(f"{partition},{message.offset()},{seq}\n")
            self.acknowledged += 1

        value = record(self._run, partition, seq)
        while True:
            try:
                self._producer.produce(self._topic, value, partition=partition, on_delivery=delivered)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return


def main(arguments: Sequence[str] | None = None) -> int:
    """Produce until SIGTERM, Ctrl-C or `--count` records."""
    options = parser().parse_args(arguments)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopping.set())
    producer = RecordProducer(options.bootstrap, options.topic, options.partitions, options.rate, options.wal)
    print(producer.produce(stopping, options.count), flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of this module's command line."""
    options = argparse.ArgumentParser(
        prog="python -m frazil.testing.produce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--bootstrap", required=True, help="host:port of the broker")
    options.add_argument("--topic", required=True, help="an existing topic")
    options.add_argument("--partitions", type=int, default=1, help="how many partitions to fill (default 1)")
    options.add_argument("--rate", type=float, help="records per second in all partitions; absent: no limit")
    options.add_argument("--count", type=int, help="stop after this many records")
    options.add_argument("--wal", type=Path, required=True, help="file to append acknowledged records to")
    return options


if __name__ == "__main__":
    sys.exit(main())
