"""Logs of a real broker that lost their ends while it was down, and grew again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from tests.support.brokers import short_lived
from tests.support.channels import at
from tests.support.truncation import truncate_log

from frazil.errors import BrokerUnavailable
from frazil.model import Range, SourcePartition, StagedRange
from frazil.sources.base import ReadFailed
from frazil.sources.kafka.consumers import consumer_config
from frazil.sources.kafka.reader import RangeReader
from frazil.sources.kafka.source import KafkaSource
from frazil.testing.records import produce, produce_transaction
from frazil.testing.topics import create_topic, wait_until

pytestmark = pytest.mark.slow

SOON_FORGOTTEN = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "200"}
"""A broker that was killed may come back once its session has ended."""


class Place:
    """A broker of its own, and one consumer of a worker, kept throughout."""

    def __init__(self, directory: Path) -> None:
        self.broker = short_lived(directory, properties=SOON_FORGOTTEN).start()
        self.client = {"bootstrap.servers": self.broker.bootstrap_servers, "group.id": "truncated"}
        self.consumer = Consumer(consumer_config({**self.client, "topic.metadata.refresh.interval.ms": 500}))
        self.source = KafkaSource(self.client, "truncated", [], None, "earliest", "read_uncommitted")

    def topic(self, name: str) -> str:
        return create_topic(self.broker.bootstrap_servers, name)

    def write(self, topic: str, *values: str) -> None:
        produce(self.broker.bootstrap_servers, topic, values)

    def read(self, topic: str, start: int, end: int, epoch: int | None = None) -> tuple[list[bytes], StagedRange]:
        reader = RangeReader(self.consumer, [Range(SourcePartition(topic, 0), at(start, epoch), at(end))])
        values = [value for batch in reader.batches() for value in batch.column("value").to_pylist()]
        return values, reader.ranges[0]

    def restart(self, **ends: int) -> None:
        """Kill the broker and start it again; the first partitions of topics have lost what was after their ends."""
        self.broker.kill()
        for topic, end in ends.items():
            truncate_log(self.broker, SourcePartition(topic, 0), end)
        self.broker.start()
        wait_until(self._answers, "the broker to lead its partitions again")

    def _answers(self) -> bool:
        try:
            self.source.ends([SourcePartition(name, 0) for name in self.source.facts(self._topics())])
        except BrokerUnavailable:
            return False
        return True

    def _topics(self) -> list[str]:
        return [name for name in self.consumer.list_topics(timeout=10).topics if not name.startswith("__")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    opened = Place(tmp_path_factory.mktemp("truncated"))
    yield opened
    opened.consumer.close()
    opened.source.close()
    opened.broker.stop()


def test_a_range_that_follows_what_its_log_has_lost_is_not_read(place: Place) -> None:
    topic = place.topic("regrown")
    place.write(topic, *(f"old {n}" for n in range(10)))
    place.write(topic, *(f"old {n}" for n in range(10, 15)))
    _, read = place.read(topic, 0, 15)
    place.restart(regrown=10)
    place.write(topic, *(f"new {n}" for n in range(10, 18)))

    with pytest.raises(ReadFailed, match=r"regrown-0 is gone.*truncation") as failed:
        place.read(topic, 15, 18, read.covered.leader_epoch)

    partition = SourcePartition(topic, 0)
    assert (failed.value.failure.error, failed.value.failure.partition) == ("data_loss", partition)
    assert place.source.diverged({partition: at(15, read.covered.leader_epoch)}) == {partition: at(10)}
    values, _ = place.read(topic, 10, 18, read.covered.leader_epoch)
    assert values == [b"new %d" % n for n in range(10, 18)]


@pytest.mark.long
def test_where_a_log_parts_is_found_of_many_partitions_at_once_wherever_they_end_now(place: Place) -> None:
    topics = {end: place.topic(f"ends_at_{end}") for end in (10, 12, 15, 20)}
    for topic in topics.values():
        place.write(topic, *"abcdefghij")
        place.write(topic, *"klmno")
    intact = place.topic("intact")
    place.write(intact, *"abcdefghijklmno")
    epochs = {topic: place.read(topic, 0, 15)[1].covered.leader_epoch for topic in (*topics.values(), intact)}
    place.restart(**dict.fromkeys(topics.values(), 10))
    for end, topic in topics.items():
        if end > 10:
            place.write(topic, *"x" * (end - 10))

    asked = {SourcePartition(topic, 0): at(15, epoch) for topic, epoch in epochs.items()}
    found = place.source.diverged(asked)

    assert found == {SourcePartition(topic, 0): at(10) for topic in topics.values()}


@pytest.mark.long
def test_leaders_that_come_and_go_without_losing_anything_are_no_truncation(place: Place) -> None:
    topic, partition = place.topic("elected"), SourcePartition("elected", 0)
    place.write(topic, "0")
    _, first = place.read(topic, 0, 1)
    position = at(1, first.covered.leader_epoch)
    for number in range(1, 4):
        place.restart()
        assert place.source.diverged({partition: position}) == {}
        place.write(topic, str(number))
        values, read = place.read(topic, position.offset, number + 1, position.leader_epoch)
        assert values == [b"%d" % number]
        position = at(number + 1, read.covered.leader_epoch)

    assert (position.leader_epoch or 0) > (first.covered.leader_epoch or 0)
    assert place.source.diverged({partition: position}) == {}
    assert place.source.ends([partition])[partition].offset == 4


def test_markers_that_a_later_leader_wrote_are_no_truncation(place: Place) -> None:
    topic, partition = place.topic("markers"), SourcePartition("markers", 0)
    place.write(topic, "0")
    place.restart()
    produce_transaction(place.broker.bootstrap_servers, topic, [b"1"], commit=False)  # its marker is 2
    end = place.source.ends([partition])[partition]
    committed = Consumer(consumer_config({**place.client, "isolation.level": "read_committed"}))
    reader = RangeReader(committed, [Range(partition, at(0), at(3, end.leader_epoch))])

    values = [value for batch in reader.batches() for value in batch.column("value").to_pylist()]
    committed.close()
    place.restart()

    (read,) = reader.ranges
    assert (values, read.covered) == ([b"0"], at(3))
    assert read.record_epoch != read.covered.leader_epoch == end.leader_epoch
    assert place.source.diverged({partition: at(3, read.covered.leader_epoch)}) == {}


def test_an_epoch_that_the_log_never_had_tells_of_no_place(place: Place) -> None:
    topic, partition = place.topic("strange"), SourcePartition("strange", 0)
    place.write(topic, "0", "1")

    assert place.source.diverged({partition: at(2, 1_000_000)}) == {partition: None}


@pytest.mark.long
def test_positions_of_two_versions_of_one_log_are_told_apart(place: Place) -> None:
    topic, partition = place.topic("versions"), SourcePartition("versions", 0)
    place.write(topic, "0", "1")
    place.write(topic, "2", "3")
    former = place.read(topic, 0, 4)[1].covered.leader_epoch
    place.restart(versions=2)
    place.write(topic, "new 2")
    present = place.read(topic, 2, 3)[1].covered.leader_epoch

    ends = place.source.ends([partition])
    assert place.source.look_for_truncation({partition: at(4, former)}, ends) == {partition: at(2)}
    assert place.source.look_for_truncation({partition: at(3, present)}, ends) == {}
    assert place.source.diverged({partition: at(3, former)}) == {partition: at(2)}
    assert place.source.diverged({partition: at(2, former)}) == {}
