"""Stretches of aborted transactions, which a consumer passes over without a word."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer
from tests.support.brokers import short_lived
from tests.support.channels import offsets
from tests.support.proxy import Delay, Forward, Proxy

from frazil.dev.kafka import KafkaBroker
from frazil.dev.ports import LOOPBACK, free_port
from frazil.model import SourcePartition
from frazil.sources.kafka import consumers
from frazil.sources.kafka.reader import RangeReader
from frazil.sources.kafka.skipping import Skipping
from frazil.testing.records import produce_transaction
from frazil.testing.topics import create_topic

PATIENCE = 4.0
"""Seconds without a record after which a cycle ends."""

NOISE = random.Random(7).randbytes(600)
"""A value of which two do not fit into one answer, compressed or not."""

ROUND_TRIP = 0.05
"""Seconds that each answer takes at least."""

Statistics = Callable[..., str]


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaBroker, Proxy]]:
    port = free_port()
    broker = short_lived(tmp_path_factory.mktemp("aborted"), proxied=f"{LOOPBACK}:{port}")
    with broker, Proxy(broker.proxied_servers, port) as proxy:
        yield broker, proxy


class Transaction:
    """An open transaction; each of its records is a batch, and so an answer, of its own."""

    def __init__(self, broker: KafkaBroker, topic: str, compression: str = "none") -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "transactional.id": str(uuid.uuid4()),
                "batch.num.messages": 1,
                "compression.type": compression,
                "log_level": 2,
            }
        )
        self._producer.init_transactions(30)
        self._producer.begin_transaction()

    def write(self, *values: bytes) -> None:
        for value in values:
            self._producer.produce(self._topic, value, partition=0)
        self._producer.flush()

    def abort(self) -> None:
        self._producer.abort_transaction(30)

    def commit(self) -> None:
        self._producer.commit_transaction(30)


class Reading:
    """What cycles read of the first partition of a topic, one after the other."""

    def __init__(self, proxy: Proxy, topic: str) -> None:
        self.topic = topic
        self.values: list[bytes] = []
        self.covered: list[int] = []
        # One batch an answer.
        sizes = {"message.max.bytes": 1000, "fetch.max.bytes": 1000, "fetch.message.max.bytes": 1000}
        self._client = {
            "bootstrap.servers": proxy.address,
            "group.id": "aborted",
            "isolation.level": "read_committed",
            **sizes,
        }

    def to(self, end: int) -> None:
        """Read one more range, up to `end`, or as far as it comes."""
        begin = self.covered[-1] if self.covered else 0
        wanted = [offsets(SourcePartition(self.topic, 0), begin, end)]
        watched = partial(consumers.watched, self._client, self.topic)
        reader = RangeReader(consumers.kept(self._client, self.topic), wanted, PATIENCE, watched=watched)
        self.values += [value for batch in reader.batches() for value in batch.column("value").to_pylist()]
        self.covered.append(reader.ranges[0].covered.first)

    def close(self) -> None:
        consumers.evict(self._client)


@pytest.fixture
def reading(behind: tuple[KafkaBroker, Proxy], request: pytest.FixtureRequest) -> Iterator[Reading]:
    broker, proxy = behind
    topic = create_topic(broker.bootstrap_servers, request.node.name)
    found = Reading(proxy, topic)
    yield found
    proxy.behave(Forward())
    found.close()


@pytest.mark.long
def test_a_stretch_that_takes_longer_than_a_cycles_patience_is_covered_piece_by_piece(
    behind: tuple[KafkaBroker, Proxy], reading: Reading
) -> None:
    broker, proxy = behind
    aborted = Transaction(broker, reading.topic)
    aborted.write(*[NOISE] * 300)
    aborted.abort()  # its marker is 300
    produce_transaction(broker.bootstrap_servers, reading.topic, [b"behind it"])
    proxy.behave(Delay(ROUND_TRIP / 2))

    while not reading.covered or reading.covered[-1] < 302:
        reading.to(302)
        assert len(reading.covered) < 2 or reading.covered[-1] > reading.covered[-2]

    assert reading.values == [b"behind it"]
    assert len(reading.covered) > 1


def test_a_committed_record_within_a_stretch_is_never_passed_over(
    behind: tuple[KafkaBroker, Proxy], reading: Reading
) -> None:
    broker, proxy = behind
    aborted = Transaction(broker, reading.topic, "lz4")
    for number in range(6):
        aborted.write(*[NOISE] * 30)
        produce_transaction(broker.bootstrap_servers, reading.topic, [b"%d" % number])
    aborted.abort()
    proxy.behave(Delay(ROUND_TRIP / 2))

    while not reading.covered or reading.covered[-1] < 193:
        reading.to(193)

    assert reading.values == [b"%d" % number for number in range(6)]


def test_nothing_is_covered_from_an_open_transaction_on(behind: tuple[KafkaBroker, Proxy], reading: Reading) -> None:
    broker, _ = behind
    aborted = Transaction(broker, reading.topic)
    aborted.write(*[NOISE] * 20)
    aborted.abort()  # its marker is 20
    undecided = Transaction(broker, reading.topic)
    undecided.write(b"undecided")  # 21
    produce_transaction(broker.bootstrap_servers, reading.topic, [b"behind it"])  # 22, its marker is 23

    reading.to(24)

    assert (reading.values, reading.covered) == ([], [21])
    undecided.commit()
    reading.to(25)
    assert (reading.values, reading.covered) == ([b"undecided", b"behind it"], [21, 25])


@pytest.fixture
def statistics() -> Statistics:
    def told(position: int, answers: int, broker: int = 1, state: str = "active") -> str:
        partition = {"next_offset": position, "broker": broker, "fetch_state": state}
        brokers: dict[str, Any] = {"b": {"nodeid": broker, "rx": answers}, "bootstrap": {"nodeid": -1, "rx": 9}}
        return orjson.dumps({"brokers": brokers, "topics": {"t": {"partitions": {"0": partition}}}}).decode()

    return told


def test_a_position_is_certain_once_another_answer_has_come(statistics: Statistics) -> None:
    skipping = Skipping("t")

    def after(position: int, answers: int, **more: Any) -> int:
        skipping.hear(statistics(position, answers, **more))
        return skipping.position(0)

    assert after(100, 7) == -1
    assert after(120, 7) == -1  # the answer is still being taken apart
    assert after(150, 8) == 100
    assert after(180, 9) == 150
    assert after(500, 40, broker=2) == 150
    assert after(510, 41, broker=2) == 500
    assert after(0, 50, broker=2, state="validate-epoch-wait") == 500
    assert after(600, 60, broker=2) == 500
