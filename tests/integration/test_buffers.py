"""`buffer.*` keys: a partition waits until time, number or bytes is reached, whichever is first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.support.connectors import KAFKA_JSON
from tests.support.waiting import caught_up, until_state

from frazil import Connector
from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce
from frazil.testing.topics import wait_until

Buffered = Callable[..., Connector]

NEVER = {"buffer.flush.time": "600", "buffer.count.records": "1000000000", "buffer.size.bytes": "1000000000000"}
"""Bounds that no test reaches; each test lowers one of them."""


@pytest.fixture
def buffered(spark: SparkSession, lake: Path, broker: KafkaBroker) -> Iterator[Buffered]:
    """Start a connector at the default pace: `buffered(topic, **{"buffer.count.records": "5"})`."""
    started: list[Connector] = []

    def start(topic: str, *, begin: bool = True, **settings: str) -> Connector:
        configuration = {
            "name": f"to_{topic}",
            "topics": topic,
            "bootstrap.servers": broker.bootstrap_servers,
            "frazil.home": str(lake),
            **KAFKA_JSON,
            **settings,
        }
        connector = Connector.from_properties(configuration, spark)
        started.append(connector)
        if begin:
            connector.start()
        return connector

    yield start
    for connector in started:
        connector.stop()


def numbers(first: int, count: int, size: int = 0) -> list[str]:
    """Records of one number each, of about `size` bytes."""
    return [json.dumps({"n": number, "fill": "x" * (size - 24)}) for number in range(first, first + count)]


def plans_pass(connector: Connector, count: int = 3) -> None:
    """Wait until some more plans have looked at the topic."""
    wait_until(lambda: connector._ingestion is not None, "the connector to open")
    begun = connector._ingestion.plans
    wait_until(lambda: connector._ingestion.plans > begun + count, f"{count} more plans")


def test_time_alone_makes_a_partition_due(buffered, topic, rows, broker: KafkaBroker):
    connector = buffered(topic, **{**NEVER, "buffer.flush.time": "5"})
    plans_pass(connector, 0)
    produce(broker.bootstrap_servers, topic, numbers(0, 3))

    caught_up(connector)

    (opened,) = connector._ingestion.tables.values()
    committed = opened.tokens.topics[topic].channels[0].time
    assert committed - rows(topic)[0]["RECORD_METADATA"]["CreateTime"] >= 5_000
    (status,) = connector.status()
    assert (status.offset_token, status.lag_records) == ("2", 0)


def test_the_number_of_records_alone_makes_a_partition_due(buffered, topic, rows, broker: KafkaBroker):
    connector = buffered(topic, **{**NEVER, "buffer.count.records": "5"})
    produce(broker.bootstrap_servers, topic, numbers(0, 4))

    plans_pass(connector)
    assert rows(topic) == []
    assert (connector.status()[0].lag_records, str(connector.state)) == (4, "RUNNING")

    produce(broker.bootstrap_servers, topic, numbers(4, 1))
    caught_up(connector)
    assert [row["n"] for row in rows(topic)] == [0, 1, 2, 3, 4]


def test_bytes_alone_make_a_partition_due_before_and_after_a_first_commit(buffered, topic, rows, broker: KafkaBroker):
    connector = buffered(topic, **{**NEVER, "buffer.size.bytes": "49000"})
    for landed in (0, 5):
        produce(broker.bootstrap_servers, topic, numbers(landed, 4, size=10_000))

        plans_pass(connector)
        assert len(rows(topic)) == landed

        produce(broker.bootstrap_servers, topic, numbers(landed + 4, 1, size=10_000))
        caught_up(connector)
        assert [row["n"] for row in rows(topic)] == list(range(landed + 5))


def test_each_partition_waits_for_itself(buffered, make_topic, rows, broker: KafkaBroker):
    topic = make_topic(partitions=2)
    connector = buffered(topic, **{**NEVER, "buffer.count.records": "5"})
    plans_pass(connector, 1)  # now there is a table to look into
    produce(broker.bootstrap_servers, topic, numbers(0, 2), partition=0)
    produce(broker.bootstrap_servers, topic, numbers(10, 6), partition=1)

    wait_until(lambda: len(rows(topic)) == 6, "the fuller partition to land")

    plans_pass(connector)
    assert [row["n"] for row in rows(topic)] == list(range(10, 16))
    assert [status.lag_records for status in connector.status()] == [2, 0]


def test_what_waits_when_a_connector_stops_is_left_for_the_next_start(buffered, topic, rows, broker: KafkaBroker):
    connector = buffered(topic, **NEVER)
    produce(broker.bootstrap_servers, topic, numbers(0, 3))
    plans_pass(connector)
    connector.stop()
    assert rows(topic) == []

    caught_up(buffered(topic))

    assert [row["n"] for row in rows(topic)] == [0, 1, 2]


def test_who_runs_until_caught_up_waits_for_nothing(buffered, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, numbers(0, 3))
    connector = buffered(topic, begin=False, **NEVER)

    connector.start(until_caught_up=True)

    assert connector.wait(60)
    assert (str(connector.state), [row["n"] for row in rows(topic)]) == ("STOPPED", [0, 1, 2])


@pytest.mark.parametrize(
    "voids",
    [
        {"frazil.commit.interval.ms": "200"},
        {"snowflake.streaming.enable.single.buffer": "true", "buffer.size.bytes": "1"},
    ],
)
def test_an_interval_of_ones_own_and_the_single_buffer_void_time_and_number(
    buffered, topic, rows, voids: dict[str, str], broker: KafkaBroker
):
    produce(broker.bootstrap_servers, topic, numbers(0, 3))

    caught_up(buffered(topic, **{**NEVER, **voids}), 30)

    assert len(rows(topic)) == 3


def test_a_partition_that_is_due_does_not_wait_for_the_next_interval(buffered, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, numbers(0, 3))
    connector = buffered(topic, **{**NEVER, "buffer.flush.time": "2", "snowflake.streaming.max.client.lag": "600"})

    until_state(connector, "RUNNING")
    wait_until(lambda: len(rows(topic)) == 3, "the records to land long before the interval has passed", 60)
