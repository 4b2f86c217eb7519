"""Ranges of a real broker's partitions, read without silent gaps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer
from tests.support.channels import at
from tests.support.channels import offsets as between

from frazil.dev.kafka import KafkaBroker
from frazil.model import Range, SourcePartition, StagedRange
from frazil.sources.base import ReadFailed
from frazil.sources.kafka.consumers import consumer_config
from frazil.sources.kafka.leaders import Leaders
from frazil.sources.kafka.reader import SCHEMA, RangeReader
from frazil.testing.records import gaps, offsets, produce, produce_transaction
from frazil.testing.topics import COMPACTED, add_partitions, alter_topic, delete_records, wait_until

MakeTopic = Callable[..., str]
MakeConsumer = Callable[..., Consumer]


@pytest.fixture
def make_consumer(broker: KafkaBroker) -> Iterator[MakeConsumer]:
    """Make consumers as a worker does, with the user's settings on top."""
    made: list[Consumer] = []

    def make(**client: Any) -> Consumer:
        settings = {key.replace("_", "."): value for key, value in client.items()}
        given = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "connect-test", **settings}
        made.append(Consumer(consumer_config(given)))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def span(topic: str, start: int, end: int, partition: int = 0) -> Range:
    return between(SourcePartition(topic, partition), start, end)


def read(consumer: Consumer, *ranges: Range) -> tuple[pa.Table, dict[int, StagedRange]]:
    """All records of the ranges, and what was covered, by partition."""
    reader = RangeReader(consumer, ranges)
    records = pa.Table.from_batches(reader.batches(), SCHEMA)
    return records, {each.partition.partition: each for each in reader.ranges}


def holes(found: StagedRange) -> int:
    """Offsets that gave no record."""
    return found.span - found.parsed


def values(records: pa.Table, partition: int = 0) -> list[bytes | None]:
    return [each["value"] for each in records.to_pylist() if each["partition"] == partition]


def test_a_range_is_read_from_its_start_to_its_end_and_not_beyond(
    broker: KafkaBroker, make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    topic = make_topic(retention_ms="-1")  # else the broker deletes records that old
    produce(broker.bootstrap_servers, topic, [b"%d" % number for number in range(10)], timestamp=1_700_000_000_000)

    records, covered = read(make_consumer(), span(topic, 3, 7))

    assert values(records) == [b"3", b"4", b"5", b"6"]
    assert records.column("offset").to_pylist() == [3, 4, 5, 6]
    found = covered[0]
    assert (found.start, found.covered, found.parsed, found.bytes, holes(found)) == (at(3), at(7), 4, 4, 0)
    assert (found.oldest, found.newest, set(found.sample)) == (
        1_700_000_000_000,
        1_700_000_000_000,
        {1_700_000_000_000},
    )
    assert found.covered.leader_epoch == 0


def test_keys_headers_tombstones_and_timestamps_arrive_as_they_are(
    broker: KafkaBroker, make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    created, appended = make_topic(retention_ms="-1"), make_topic(message_timestamp_type="LogAppendTime")
    headers = [("a", b"1"), ("a", None), ("b", b"\xff")]
    for each in (created, appended):
        produce(
            broker.bootstrap_servers, each, [b"\xff", None, b""], keys=[None, b"k", b""], headers=headers, timestamp=5
        )

    ours, _ = read(make_consumer(), span(created, 0, 3))
    theirs, _ = read(make_consumer(), span(appended, 0, 3))

    assert values(ours) == [b"\xff", None, b""]
    assert ours.column("key").to_pylist() == [None, b"k", b""]
    assert ours.column("headers").to_pylist() == [headers] * 3
    assert ours.column("timestamp").to_pylist() == [5] * 3
    assert ours.column("log_append_time").to_pylist() == [False] * 3
    assert theirs.column("log_append_time").to_pylist() == [True] * 3
    assert all(stamp > 5 for stamp in theirs.column("timestamp").to_pylist())


def test_trailing_transaction_markers_are_covered(broker: KafkaBroker, topic: str, make_consumer: MakeConsumer) -> None:
    produce(broker.bootstrap_servers, topic, [b"0"])
    produce_transaction(broker.bootstrap_servers, topic, [b"1", b"2"])  # its marker is 3

    records, covered = read(make_consumer(), span(topic, 0, 4))

    assert values(records) == [b"0", b"1", b"2"]
    assert (covered[0].covered, holes(covered[0])) == (at(4), 1)


def test_a_range_of_nothing_but_markers_is_covered(
    broker: KafkaBroker, topic: str, make_consumer: MakeConsumer
) -> None:
    produce_transaction(broker.bootstrap_servers, topic, [b"0"])

    records, covered = read(make_consumer(), span(topic, 1, 2))

    assert (records.num_rows, covered[0].covered, covered[0].parsed) == (0, at(2), 0)


def test_aborted_transactions_are_gaps_for_those_who_read_committed(
    broker: KafkaBroker, topic: str, make_consumer: MakeConsumer
) -> None:
    bootstrap = broker.bootstrap_servers
    produce_transaction(bootstrap, topic, [b"0", b"1"], commit=False)  # its marker is 2
    produce_transaction(bootstrap, topic, [b"3"])  # its marker is 4
    produce_transaction(bootstrap, topic, [b"5"], commit=False)  # its marker is 6

    committed, covered = read(make_consumer(isolation_level="read_committed"), span(topic, 0, 7))
    everything, all_covered = read(make_consumer(isolation_level="read_uncommitted"), span(topic, 0, 7))

    assert values(committed) == [b"3"]
    assert (covered[0].covered, holes(covered[0])) == (at(7), 6)
    assert values(everything) == [b"0", b"1", b"3", b"5"]
    assert (all_covered[0].covered, holes(all_covered[0])) == (at(7), 3)


def test_an_end_within_a_gap_is_reached(broker: KafkaBroker, topic: str, make_consumer: MakeConsumer) -> None:
    produce_transaction(broker.bootstrap_servers, topic, [b"0"], commit=False)  # its marker is 1
    produce(broker.bootstrap_servers, topic, [b"2", b"3"])

    records, covered = read(make_consumer(isolation_level="read_committed"), span(topic, 0, 1))

    assert (records.num_rows, covered[0].covered) == (0, at(1))


def test_compacted_offsets_are_gaps(broker: KafkaBroker, make_topic: MakeTopic, make_consumer: MakeConsumer) -> None:
    bootstrap, topic = broker.bootstrap_servers, make_topic()
    alter_topic(bootstrap, topic, COMPACTED)
    produce(bootstrap, topic, [b"old", b"new", b"other"], keys=[b"k", b"k", b"j"])

    def compacted() -> bool:
        produce(bootstrap, topic, [b"tick"], keys=[b"tick"])
        return 0 not in offsets(bootstrap, topic)

    wait_until(compacted, "the old value to be compacted away")
    # The cleaner may still be at work on the ticks: what is told must agree with what was given.
    end = max(offsets(bootstrap, topic)) + 1
    records, covered = read(make_consumer(), span(topic, 0, end))

    assert values(records)[:2] == [b"new", b"other"]
    assert (covered[0].covered, holes(covered[0])) == (at(end), end - records.num_rows)
    assert 0 in gaps(bootstrap, topic)


def test_an_offset_that_retention_deleted_is_data_loss_and_never_a_jump(
    broker: KafkaBroker, topic: str, make_consumer: MakeConsumer
) -> None:
    produce(broker.bootstrap_servers, topic, [b"0", b"1", b"2", b"3"])
    delete_records(broker.bootstrap_servers, topic, 0, before=2)

    with pytest.raises(ReadFailed, match=f"an offset of {topic}-0 is gone") as caught:
        read(make_consumer(), span(topic, 1, 4))

    assert caught.value.failure.error == "data_loss"
    assert caught.value.failure.partition == SourcePartition(topic, 0)
    records, _ = read(make_consumer(), span(topic, 2, 4))
    assert values(records) == [b"2", b"3"]


def test_a_start_beyond_the_end_of_the_log_is_data_loss_too(
    broker: KafkaBroker, topic: str, make_consumer: MakeConsumer
) -> None:
    produce(broker.bootstrap_servers, topic, [b"0"])

    with pytest.raises(ReadFailed) as caught:
        read(make_consumer(), span(topic, 50, 60))

    assert caught.value.failure.error == "data_loss"


def test_several_partitions_end_where_each_was_planned_to(
    broker: KafkaBroker, make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    topic = make_topic(partitions=3)
    for partition, count in enumerate((5000, 10, 300)):
        produce(broker.bootstrap_servers, topic, [b"%d" % each for each in range(count)], partition=partition)

    ranges = [span(topic, 100, 4900, 0), span(topic, 0, 10, 1), span(topic, 7, 8, 2)]
    records, covered = read(make_consumer(), *ranges)

    for each in ranges:
        number = each.partition.partition
        assert values(records, number) == [b"%d" % offset for offset in range(each.start.first, each.end.first)]
        assert (covered[number].covered, covered[number].parsed) == (each.end, each.length)
    assert sum(len(found.sample) for found in covered.values()) <= 256


def test_a_reused_consumer_reads_its_next_ranges_although_it_paused_at_the_end_of_the_last(
    broker: KafkaBroker, make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    bootstrap, topic, consumer = broker.bootstrap_servers, make_topic(partitions=2), make_consumer()
    produce(bootstrap, topic, [b"%d" % each for each in range(5)], partition=0)
    produce(bootstrap, topic, [b"%d" % each for each in range(5000)], partition=1)
    read(consumer, span(topic, 0, 2, 0), span(topic, 0, 5000, 1))  # partition 0 is paused at 2

    produce(bootstrap, topic, [b"new"], partition=1)
    records, covered = read(consumer, span(topic, 2, 5, 0), span(topic, 5000, 5001, 1))

    assert (values(records, 0), values(records, 1)) == ([b"2", b"3", b"4"], [b"new"])
    assert {number: each.covered for number, each in covered.items()} == {0: at(5), 1: at(5001)}
    again, _ = read(consumer, span(topic, 0, 2, 0))  # and back, as after a rollback
    assert values(again) == [b"0", b"1"]


def test_a_reused_consumer_reads_another_topic_and_a_partition_added_since(
    broker: KafkaBroker, make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    bootstrap, one, two, consumer = broker.bootstrap_servers, make_topic(), make_topic(), make_consumer()
    produce(bootstrap, one, [b"one"])
    produce(bootstrap, two, [b"two"])

    assert values(read(consumer, span(one, 0, 1))[0]) == [b"one"]
    assert values(read(consumer, span(two, 0, 1))[0]) == [b"two"]
    add_partitions(bootstrap, one, 2)
    produce(bootstrap, one, [b"added"], partition=1)
    assert values(read(consumer, span(one, 0, 1, 1))[0], 1) == [b"added"]


def test_a_reader_that_is_left_early_leaves_a_consumer_that_can_be_reused(
    broker: KafkaBroker, topic: str, make_consumer: MakeConsumer
) -> None:
    produce(broker.bootstrap_servers, topic, [b"%d" % each for each in range(5000)])
    consumer = make_consumer()
    batches = RangeReader(consumer, [span(topic, 0, 5000)]).batches()
    next(batches)
    batches.close()  # type: ignore[attr-defined]

    records, _ = read(consumer, span(topic, 0, 5000))

    assert records.column("offset").to_pylist() == list(range(5000))


def test_what_correctness_needs_wins_over_the_users_settings() -> None:
    settings = consumer_config({"auto.offset.reset": "latest", "enable.auto.commit": True, "fetch.wait.max.ms": 500})

    assert (settings["auto.offset.reset"], settings["enable.auto.commit"]) == ("error", False)
    assert (settings["enable.partition.eof"], settings["fetch.wait.max.ms"]) == (True, 500)


def test_batches_are_bounded_by_bytes_whatever_was_asked_for(
    broker: KafkaBroker, topic: str, make_consumer: MakeConsumer
) -> None:
    produce(broker.bootstrap_servers, topic, [bytes(900_000)] * 60)

    batches = list(RangeReader(make_consumer(), [span(topic, 0, 60)]).batches())

    assert sum(batch.num_rows for batch in batches) == 60
    assert max(batch.nbytes for batch in batches) < 18 * 1024 * 1024


def test_what_is_beyond_the_budget_is_left_to_the_next_cycle(
    broker: KafkaBroker, topic: str, make_consumer: MakeConsumer
) -> None:
    produce(broker.bootstrap_servers, topic, [bytes(90_000)] * 600)
    reader = RangeReader(make_consumer(), [span(topic, 0, 600)], most_bytes=10_000_000)

    read_ = pa.Table.from_batches(reader.batches())

    (found,) = reader.ranges
    assert at(110) < found.covered < at(600)
    assert read_.column("offset").to_pylist() == list(range(found.covered.first))


def test_topics_are_read_without_waiting_for_their_leaders(
    broker: KafkaBroker, make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    topics = [make_topic() for _ in range(5)]
    for topic in topics:
        produce(broker.bootstrap_servers, topic, [b"1"])
    consumer = make_consumer()
    leaders = Leaders(consumer)
    began = time.monotonic()

    for topic in topics:
        leaders.find([topic])
        read(consumer, span(topic, 0, 1))

    # By itself the consumer looks for the leaders of each of them a second later.
    assert time.monotonic() - began < 3
