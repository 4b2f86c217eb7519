from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer
from tests.support.channels import offsets

from frazil.dev.kafka import KafkaBroker
from frazil.model import Range, SourcePartition
from frazil.sources.kafka.sample import average_sizes
from frazil.testing.records import produce, produce_transaction


@pytest.fixture
def consumer(broker: KafkaBroker) -> Iterator[Consumer]:
    opened = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "samples",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    yield opened
    opened.close()


def waiting(topic: str, start: int, end: int) -> Range:
    return offsets(SourcePartition(topic, 0), start, end)


def test_each_topics_size_is_the_average_of_its_first_records(consumer: Consumer, make_topic, broker: KafkaBroker):
    small, large = make_topic(), make_topic()
    produce(broker.bootstrap_servers, small, ["x" * 10, "x" * 20, "x" * 30, "x" * 40])
    produce(broker.bootstrap_servers, large, ["x" * 50_000] * 300)

    found = average_sizes(consumer, [waiting(small, 1, 3), waiting(large, 0, 300)])

    assert found == {small: 25.0, large: 50_000.0}


def test_tombstones_count_and_no_average_is_nothing(consumer: Consumer, topic: str, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, [None, None])

    assert average_sizes(consumer, [waiting(topic, 0, 2)]) == {topic: 1.0}


def test_a_topic_whose_range_holds_no_record_is_absent(consumer: Consumer, topic: str, broker: KafkaBroker):
    produce_transaction(broker.bootstrap_servers, topic, ["x"] * 5, commit=False)

    assert average_sizes(consumer, [waiting(topic, 0, 6)]) == {}
