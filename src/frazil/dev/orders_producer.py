"""Produce orders to a topic at a steady rate and count what the broker acknowledged."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Self

from confluent_kafka import KafkaError, Message, Producer

from frazil.dev.orders import moment_now, order
from frazil.dev.pace import Pace

TICK = 0.01
"""Seconds between two batches."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a producer has done so far."""

    acknowledged: dict[int, int]
    """Records the broker has acknowledged, by partition."""

    failed: int
    """Records it refused; 0 in a sane world."""

    bytes: int
    """Bytes of acknowledged values."""

    @property
    def records(self) -> int:
        """Records acknowledged in all partitions."""
        return sum(self.acknowledged.values())


class OrderProducer:
    """A thread that produces orders until it is stopped.

    The producer is idempotent, so the log holds every acknowledged record once, and nothing else of ours after `stop`.

    Args:
        bootstrap_servers: Where the broker is.
        topic: An existing topic; the order id, as key, decides the partition.
        rate: Orders per second; None is as many as possible.
        first: The first order id, so that a second run goes on where the first ended.
        seed: Equal seeds make equal orders, but for their dates.
    """

    def __init__(
        self, bootstrap_servers: str, topic: str, rate: float | None = 1000, first: int = 0, seed: int = 0
    ) -> None:
        self._settings = {
            "bootstrap.servers": bootstrap_servers,
            "enable.idempotence": True,
            "compression.type": "lz4",
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "partitioner": "murmur2_random",  # as Java's clients choose
            "queue.buffering.max.messages": 200_000,
            "log_level": 2,  # a retried connection is not worth a line across somebody's screen
        }
        self._topic = topic
        self._rate = rate
        self._next = first
        self._rng = Random(seed)  # noqa: S311 (made-up orders are no secrets)
        self._acknowledged: Counter[int] = Counter()
        self._failed = 0
        self._bytes = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"orders to {topic}", daemon=True)

    def start(self) -> Self:
        """Begin to produce."""
        order(0, Random(0))  # noqa: S311 (fills the pools, so that the first second is at its rate too)
        self._thread.start()
        return self

    def stop(self) -> Totals:
        """Stop producing, wait until every record is acknowledged, and return the totals."""
        self._stopping.set()
        self._thread.join()
        return self.totals()

    def totals(self) -> Totals:
        """The totals so far."""
        return Totals(dict(self._acknowledged), self._failed, self._bytes)

    def _run(self) -> None:
        producer = Producer(self._settings)
        pace = Pace(self._rate)
        while not self._stopping.is_set():
            moment = moment_now()
            for _ in range(pace.take()):
                self._produce(producer, moment)
            producer.poll(0)
            if self._rate is not None:
                self._stopping.wait(TICK)
        producer.flush()

    def _produce(self, producer: Producer, moment: bytes) -> None:
        value, key = order(self._next, self._rng, moment), b"%d" % self._next
        self._next += 1
        while True:
            try:
                producer.produce(self._topic, value, key, on_delivery=self._delivered)
            except BufferError:
                producer.poll(0.1)
            else:
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed += 1
            return
        self._acknowledged[message.partition() or 0] += 1
        self._bytes += len(message.value() or b"")
