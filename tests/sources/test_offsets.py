"""Positions and group offsets, asked of a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.support.channels import at

from frazil.dev.kafka import KafkaBroker
from frazil.errors import NoStartingOffset
from frazil.model import SourcePartition
from frazil.sources.base import Acknowledgement
from frazil.sources.kafka.initial_offsets import GroupOffset, StartPolicy
from frazil.sources.kafka.offset_metadata import OffsetMetadata
from frazil.sources.kafka.source import KafkaSource
from frazil.testing.records import produce
from frazil.testing.topics import set_group_offsets


@pytest.fixture
def source(broker: KafkaBroker, topic: str) -> Iterator[KafkaSource]:
    """What a connector sees whose group is named after the topic."""
    client = {"bootstrap.servers": broker.bootstrap_servers}
    policy = StartPolicy("SHOP", "shop", f"group-{topic}", broker.bootstrap_servers)
    found = KafkaSource(client, f"group-{topic}", [topic], None, "latest", "read_uncommitted", policy)
    yield found
    found.close()


def test_offsets_of_several_topics_are_published_in_any_order_with_what_is_written_beside_them(
    source: KafkaSource, make_topic
):
    topics = sorted((make_topic(2), make_topic(2)), reverse=True)
    covered = {
        SourcePartition(topic, number): Acknowledgement(at(10 * number), f"table-of-{topic}", f"commit-{number}")
        for topic in topics
        for number in (1, 0)
    }

    source.acknowledge(covered)

    assert source.group_offsets(covered) == {
        partition: GroupOffset(found.position.first, str(OffsetMetadata("SHOP", found.table, found.commit)))
        for partition, found in covered.items()
    }


def test_what_others_published_has_nothing_written_beside_it(source: KafkaSource, topic: str, broker: KafkaBroker):
    partition = SourcePartition(topic, 0)
    assert source.group_offsets([partition]) == {}

    set_group_offsets(broker.bootstrap_servers, f"group-{topic}", topic, {0: 7})

    assert source.group_offsets([partition]) == {partition: GroupOffset(7, "")}


def test_partitions_and_topics_that_do_not_exist_are_absent(source: KafkaSource, topic: str):
    there = SourcePartition(topic, 0)
    asked = [there, SourcePartition(topic, 5), SourcePartition("no-such-topic", 0)]

    assert source.ends(asked) == source.earliest(asked) == {there: at(0)}
    assert source.facts([topic, "no-such-topic"]).keys() == {topic}


def test_a_moment_after_the_last_record_is_the_end_of_the_partition(
    source: KafkaSource, topic: str, broker: KafkaBroker
):
    partition = SourcePartition(topic, 0)
    moment = int(time.time() * 1000) - 60_000
    for number in range(3):
        produce(broker.bootstrap_servers, topic, ["{}"], timestamp=moment + number * 1000)

    assert source.at_time([partition], moment - 1) == {partition: at(0)}
    assert source.at_time([partition], moment + 1) == {partition: at(1)}
    assert source.at_time([partition], moment + 5000) == {partition: at(3)}


def test_none_forbids_to_choose_where_to_begin(topic: str, broker: KafkaBroker):
    client = {"bootstrap.servers": broker.bootstrap_servers}
    source = KafkaSource(client, "chooses-not", [topic], None, "none", "read_uncommitted")

    assert source.initial([]) == {}
    with pytest.raises(NoStartingOffset, match="chooses-not"):
        source.initial([SourcePartition(topic, 0)])
    source.close()
