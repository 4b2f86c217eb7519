"""What iterators of all five types give, and where a shard ends."""

from __future__ import annotations

import pytest
from tests.dev.kinesis.support import HOUR, answers, data, iterator, make, put, records, refuses, settled, shard_id

from frazil.dev.kinesis import LocalKinesis

MIB = 1 << 20
MIDDLE = str(2**127)


def test_each_type_of_iterator_begins_where_it_says(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    put(kinesis, b"1")
    clock.forward(10)
    second = put(kinesis, b"2")[0]
    moment = clock.now
    clock.forward(10)
    put(kinesis, b"3")
    latest = iterator(kinesis, kind="LATEST")
    put(kinesis, b"4")

    assert data(records(kinesis)) == [b"1", b"2", b"3", b"4"]
    assert data(records(kinesis, kind="AT_SEQUENCE_NUMBER", StartingSequenceNumber=second)) == [b"2", b"3", b"4"]
    assert data(records(kinesis, kind="AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=second)) == [b"3", b"4"]
    assert data(records(kinesis, kind="AT_TIMESTAMP", Timestamp=moment)) == [b"2", b"3", b"4"]
    assert data(records(kinesis, kind="AT_TIMESTAMP", Timestamp=moment + 0.001)) == [b"3", b"4"]
    assert data(records(kinesis, kind="AT_TIMESTAMP", Timestamp=0)) == [b"1", b"2", b"3", b"4"]
    assert data([record for answer in answers(kinesis, latest) for record in answer["Records"]]) == [b"4"]


def test_a_timestamp_in_the_future_is_refused(local: LocalKinesis, clock) -> None:
    kinesis = make(local)

    with refuses("InvalidArgumentException"):
        iterator(kinesis, kind="AT_TIMESTAMP", Timestamp=clock.now + 1)


def test_numbers_between_records_are_places_as_well(local: LocalKinesis) -> None:
    kinesis = make(local)
    first, _ = put(kinesis, b"1", b"2")
    between = str(int(first) + 1)
    starting = kinesis.list_shards(StreamName="orders")["Shards"][0]["SequenceNumberRange"]["StartingSequenceNumber"]

    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        assert data(records(kinesis, kind=kind, StartingSequenceNumber=between)) == [b"2"]
        assert data(records(kinesis, kind=kind, StartingSequenceNumber=starting)) == [b"1", b"2"]


def test_numbers_of_another_shard_or_incarnation_are_refused(local: LocalKinesis) -> None:
    kinesis = make(local, shards=2)
    other = kinesis.put_record(StreamName="orders", Data=b"", PartitionKey="k", ExplicitHashKey=MIDDLE)
    own = kinesis.put_record(StreamName="orders", Data=b"", PartitionKey="k", ExplicitHashKey="0")

    for number in (other["SequenceNumber"], "17", "9" * 56):
        with refuses("InvalidArgumentException"):
            iterator(kinesis, kind="AT_SEQUENCE_NUMBER", StartingSequenceNumber=number)

    local.engine.settles_within = 0
    kinesis.delete_stream(StreamName="orders")
    make(local, shards=2)
    with refuses("InvalidArgumentException"):
        iterator(kinesis, kind="AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=own["SequenceNumber"])


def test_an_iterator_expires_after_five_minutes(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    given = iterator(kinesis)

    clock.forward(300)
    kinesis.get_records(ShardIterator=given)
    clock.forward(1)

    with refuses("ExpiredIteratorException"):
        kinesis.get_records(ShardIterator=given)


@pytest.mark.parametrize("text", ["x", "AAAA", "a" * 512])
def test_what_is_no_iterator_is_refused(local: LocalKinesis, text: str) -> None:
    kinesis = make(local)

    with refuses("InvalidArgumentException"):
        kinesis.get_records(ShardIterator=text)


def test_an_answer_has_as_many_records_as_it_may(local: LocalKinesis) -> None:
    kinesis = make(local)
    kinesis.put_records(StreamName="orders", Records=[{"Data": b"%d" % n, "PartitionKey": "k"} for n in range(10)])

    sizes = [len(answer["Records"]) for answer in answers(kinesis, iterator(kinesis), Limit=4)]

    assert sizes == [4, 4, 2]
    with refuses("ValidationException"):
        kinesis.get_records(ShardIterator=iterator(kinesis), Limit=10001)


def test_an_answer_ends_before_the_record_that_makes_it_too_large(local: LocalKinesis) -> None:
    kinesis = make(local)
    put(kinesis, *[b"x" * (MIB - 3)] * 11)

    sizes = [len(answer["Records"]) for answer in answers(kinesis, iterator(kinesis))]

    assert sizes == [10, 1]


def test_how_far_behind_is_told_in_milliseconds_until_the_tip(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    put(kinesis, b"1")
    clock.forward(2)
    put(kinesis, b"2", b"3")

    behind = [answer["MillisBehindLatest"] for answer in answers(kinesis, iterator(kinesis), Limit=1)]

    assert behind == [2000, 1, 0]


def test_a_closed_shard_ends_when_all_of_it_was_read_and_names_its_children(local: LocalKinesis) -> None:
    kinesis = make(local)
    put(kinesis, b"1", b"2")
    kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey=MIDDLE)

    first, last = answers(kinesis, iterator(kinesis), Limit=1)

    assert "NextShardIterator" in first
    assert "ChildShards" not in first
    assert "NextShardIterator" not in last
    assert [child["ShardId"] for child in last["ChildShards"]] == [shard_id(1), shard_id(2)]
    assert {child["ParentShards"][0] for child in last["ChildShards"]} == {shard_id(0)}
    assert data(first["Records"] + last["Records"]) == [b"1", b"2"]


def test_the_ending_number_of_a_shard_is_its_end(local: LocalKinesis) -> None:
    kinesis = make(local)
    put(kinesis, b"1")
    kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey=MIDDLE)
    ending = kinesis.list_shards(StreamName="orders")["Shards"][0]["SequenceNumberRange"]["EndingSequenceNumber"]

    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        (answer,) = answers(kinesis, iterator(kinesis, kind=kind, StartingSequenceNumber=ending))
        assert answer["Records"] == []
        assert "NextShardIterator" not in answer
    with refuses("InvalidArgumentException"):
        iterator(kinesis, kind="AT_SEQUENCE_NUMBER", StartingSequenceNumber=str(int(ending) + 1))


def test_records_are_gone_after_their_retention_and_none_come_back_when_it_is_raised(
    local: LocalKinesis, clock
) -> None:
    kinesis = make(local)
    (old,) = put(kinesis, b"old")
    held = iterator(kinesis)
    clock.forward(23 * HOUR)
    put(kinesis, b"new")
    clock.forward(1 * HOUR + 1)

    assert data(records(kinesis)) == [b"new"]
    assert data(records(kinesis, kind="AT_SEQUENCE_NUMBER", StartingSequenceNumber=old)) == [b"new"]
    with refuses("ExpiredIteratorException"):
        kinesis.get_records(ShardIterator=held)


def test_a_closed_shard_is_read_until_its_retention_ends_and_then_expires(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    put(kinesis, b"1")
    kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey=MIDDLE)
    settled(kinesis)

    clock.forward(24 * HOUR)
    assert len(kinesis.list_shards(StreamName="orders")["Shards"]) == 3
    assert data(records(kinesis)) == [b"1"]

    clock.forward(1)
    assert [shard["ShardId"] for shard in kinesis.list_shards(StreamName="orders")["Shards"]] == [
        shard_id(1),
        shard_id(2),
    ]
    with refuses("ResourceNotFoundException"):
        iterator(kinesis)


def test_five_reads_a_second_are_answered(limited: LocalKinesis, clock) -> None:
    kinesis = make(limited)
    given = iterator(kinesis)

    for _ in range(5):
        kinesis.get_records(ShardIterator=given)

    with refuses("ProvisionedThroughputExceededException"):
        kinesis.get_records(ShardIterator=given)
    clock.forward(0.2)
    kinesis.get_records(ShardIterator=given)


def test_five_iterators_a_second_are_given(limited: LocalKinesis, clock) -> None:
    kinesis = make(limited)
    for _ in range(5):
        iterator(kinesis)

    with refuses("ProvisionedThroughputExceededException"):
        iterator(kinesis)
    clock.forward(0.2)
    iterator(kinesis)


def test_ten_mebibytes_at_once_are_paid_off_for_five_seconds(limited: LocalKinesis, clock) -> None:
    kinesis = make(limited)
    for _ in range(10):
        put(kinesis, b"x" * (MIB - 3))
        clock.forward(1)
    given = iterator(kinesis)

    assert len(kinesis.get_records(ShardIterator=given)["Records"]) == 10

    clock.forward(4.9)
    with refuses("ProvisionedThroughputExceededException"):
        kinesis.get_records(ShardIterator=given)
    clock.forward(0.2)
    kinesis.get_records(ShardIterator=given)


def test_two_mebibytes_a_second_are_given_for_as_long_as_one_asks(limited: LocalKinesis, clock) -> None:
    kinesis = make(limited)
    for _ in range(20):
        put(kinesis, b"x" * (MIB // 2 - 3))
        clock.forward(1)
    given = iterator(kinesis)

    read = 0
    for _ in range(5):
        for _ in range(4):
            clock.forward(0.25)
            answer = kinesis.get_records(ShardIterator=given, Limit=1)
            given, read = answer["NextShardIterator"], read + len(answer["Records"])

    assert read == 20
