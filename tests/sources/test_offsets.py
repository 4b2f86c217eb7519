"""Positions and group offsets, asked of a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from frazil.dev.kafka import KafkaBroker
from frazil.errors import NoStartingOffset
from frazil.model import SourcePartition
from frazil.sources.base import GroupOffset
from frazil.sources.kafka.source import KafkaSource
from frazil.testing.records import produce
from frazil.testing.topics import set_group_offsets


@pytest.fixture
def source(broker: KafkaBroker, topic: str) -> Iterator[KafkaSource]:
    """What a connector sees whose group is named after the topic."""
    client = {"bootstrap.servers": broker.bootstrap_servers}
    found = KafkaSource(client, f"group-{topic}", [topic], None, "latest", "read_uncommitted")
    yield found
    found.close()


def test_offsets_of_several_topics_are_published_in_any_order_with_what_is_written_beside_them(
    source: KafkaSource, make_topic
):
    topics = sorted((make_topic(2), make_topic(2)), reverse=True)
    positions = {
        SourcePartition(topic, number): GroupOffset(10 * number, f"frazil:{topic}")
        for topic in topics
        for number in (1, 0)
    }

    source.publish(positions)

    assert source.group_offsets(positions) == positions


def test_what_others_published_has_nothing_written_beside_it(source: KafkaSource, topic: str, broker: KafkaBroker):
    partition = SourcePartition(topic, 0)
    assert source.group_offsets([partition]) == {}

    set_group_offsets(broker.bootstrap_servers, f"group-{topic}", topic, {0: 7})

    assert source.group_offsets([partition]) == {partition: GroupOffset(7, "")}


def test_partitions_and_topics_that_do_not_exist_are_absent(source: KafkaSource, topic: str):
    there = SourcePartition(topic, 0)
    asked = [there, SourcePartition(topic, 5), SourcePartition("no-such-topic", 0)]

    assert source.latest(asked) == source.earliest(asked) == {there: 0}
    assert source.facts([topic, "no-such-topic"]).keys() == {topic}


def test_a_moment_after_the_last_record_is_the_end_of_the_partition(
    source: KafkaSource, topic: str, broker: KafkaBroker
):
    partition = SourcePartition(topic, 0)
    moment = int(time.time() * 1000) - 60_000
    for number in range(3):
        produce(broker.bootstrap_servers, topic, ["{}"], timestamp=moment + number * 1000)

    assert source.at_time([partition], moment - 1) == {partition: 0}
    assert source.at_time([partition], moment + 1) == {partition: 1}
    assert source.at_time([partition], moment + 5000) == {partition: 3}


def test_none_forbids_to_choose_where_to_begin(topic: str, broker: KafkaBroker):
    client = {"bootstrap.servers": broker.bootstrap_servers}
    source = KafkaSource(client, "chooses-not", [topic], None, "none", "read_uncommitted")

    assert source.initial([]) == {}
    with pytest.raises(NoStartingOffset, match="chooses-not"):
        source.initial([SourcePartition(topic, 0)])
    source.close()
