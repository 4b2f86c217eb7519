"""Streams come, are described, go, and survive a restart with their records."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.dev.kinesis.support import (
    HOUR,
    Clock,
    client,
    data,
    iterator,
    make,
    put,
    records,
    refuses,
    shard_id,
)

from frazil.dev.errors import DirectoryInUse, PortInUse
from frazil.dev.kinesis import LocalKinesis
from frazil.testing.topics import wait_until


def summary(kinesis, name: str = "orders"):
    return kinesis.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]


def settle(local: LocalKinesis) -> None:
    """Have what is under way of the stream done."""
    with local.engine.lock:
        local.engine.stream("orders").settles = 0.0


def test_a_stream_is_creating_then_active_then_deleting_then_gone(local: LocalKinesis) -> None:
    kinesis = client(local)
    local.engine.settles_within = HOUR
    kinesis.create_stream(StreamName="orders", ShardCount=1)
    assert summary(kinesis)["StreamStatus"] == "CREATING"
    with refuses("ResourceInUseException"):
        kinesis.create_stream(StreamName="orders", ShardCount=1)
    with refuses("ResourceNotFoundException"):
        put(kinesis, b"x")

    settle(local)
    assert summary(kinesis)["StreamStatus"] == "ACTIVE"
    kinesis.delete_stream(StreamName="orders")
    assert summary(kinesis)["StreamStatus"] == "DELETING"

    settle(local)
    with refuses("ResourceNotFoundException"):
        summary(kinesis)
    assert kinesis.list_streams()["StreamNames"] == []


def test_a_stream_made_again_has_another_birth_and_none_of_the_records(local: LocalKinesis) -> None:
    kinesis = make(local)
    put(kinesis, b"x")
    first, held = summary(kinesis)["StreamCreationTimestamp"], iterator(kinesis)
    local.engine.settles_within = 0.0

    kinesis.delete_stream(StreamName="orders")
    make(local)

    assert summary(kinesis)["StreamCreationTimestamp"] > first
    assert records(kinesis) == []
    with refuses("ResourceNotFoundException"):
        kinesis.get_records(ShardIterator=held)


def test_streams_are_listed_by_the_page(local: LocalKinesis) -> None:
    kinesis = client(local)
    for name in ("c", "a", "b"):
        kinesis.create_stream(StreamName=name, ShardCount=1)

    first = kinesis.list_streams(Limit=2)
    second = kinesis.list_streams(NextToken=first["NextToken"])

    assert (first["StreamNames"], first["HasMoreStreams"]) == (["a", "b"], True)
    assert (second["StreamNames"], second["HasMoreStreams"]) == (["c"], False)
    assert kinesis.list_streams(ExclusiveStartStreamName="b")["StreamNames"] == ["c"]


def test_an_answer_has_a_hundred_streams_or_shards_at_most(local: LocalKinesis) -> None:
    kinesis = make(local, shards=101)
    for number in range(100):
        local.provide(f"other{number}")

    described = kinesis.describe_stream(StreamName="orders", Limit=10_000)["StreamDescription"]
    listed = kinesis.list_streams(Limit=10_000)

    assert (len(described["Shards"]), described["HasMoreShards"]) == (100, True)
    assert (len(listed["StreamNames"]), listed["HasMoreStreams"]) == (100, True)


def test_a_stream_is_found_by_its_arn(local: LocalKinesis) -> None:
    kinesis = make(local)
    arn = summary(kinesis)["StreamARN"]

    kinesis.put_record(StreamARN=arn, Data=b"x", PartitionKey="k")

    assert kinesis.describe_stream(StreamARN=arn)["StreamDescription"]["StreamName"] == "orders"
    assert len(kinesis.list_shards(StreamARN=arn)["Shards"]) == 1
    with refuses("ResourceNotFoundException"):
        kinesis.describe_stream(StreamARN=arn.replace("000000000000", "000000000001"))
    with refuses("InvalidArgumentException"):
        kinesis.describe_stream(StreamARN=arn, StreamName="others")


def test_records_shards_and_numbers_survive_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    with LocalKinesis(tmp_path, clock=clock, quotas=False) as local:
        kinesis = make(local)
        before = put(kinesis, b"1", b"2")
        held = iterator(kinesis, kind="LATEST")

    clock.forward(1)
    with local:
        kinesis = client(local)
        after = put(kinesis, b"3")
        kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey="7")

        assert [record["SequenceNumber"] for record in records(kinesis)] == before + after
        assert data(kinesis.get_records(ShardIterator=held)["Records"]) == [b"3"]
        assert len(kinesis.list_shards(StreamName="orders")["Shards"]) == 3


def test_places_go_on_after_a_restart_though_all_records_were_trimmed(tmp_path: Path) -> None:
    clock = Clock()
    with LocalKinesis(tmp_path, clock=clock, quotas=False) as local:
        kinesis = make(local)
        (number,) = put(kinesis, b"1")
        clock.forward(25 * HOUR)
        assert records(kinesis) == []
        held = iterator(kinesis, kind="LATEST")

    with local:
        (later,) = put(client(local), b"2")

        assert data(client(local).get_records(ShardIterator=held)["Records"]) == [b"2"]
        assert int(later) > int(number)


def test_one_server_at_a_time_has_a_directory_and_a_port(tmp_path: Path) -> None:
    with LocalKinesis(tmp_path) as local:
        with pytest.raises(DirectoryInUse, match=str(tmp_path)):
            LocalKinesis(tmp_path).start()
        with pytest.raises(PortInUse, match=str(local.port)):
            LocalKinesis(port=local.port).start()
        make(local)


def test_a_server_that_was_stopped_is_gone_and_starts_again(tmp_path: Path) -> None:
    local = LocalKinesis(tmp_path).start()
    endpoint = local.endpoint
    local.stop()
    local.stop()
    with pytest.raises(RuntimeError):
        _ = local.engine

    with local.start():
        assert local.endpoint == endpoint
        wait_until(lambda: client(local).list_streams()["StreamNames"] == [], "an answer")
