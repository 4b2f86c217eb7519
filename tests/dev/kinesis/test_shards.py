"""Splits, merges and scaling: hash keys always belong to one open shard, and descent is told."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from tests.dev.kinesis.support import HOUR, data, make, put, records, refuses, settled, shard_id

from frazil.dev.kinesis import LocalKinesis

MIDDLE = str(2**127)


def listed(kinesis: Any, **options: Any) -> list[Any]:
    return list(kinesis.list_shards(StreamName="orders", **options)["Shards"])


def ids(shards: list[Any]) -> list[int]:
    return [int(shard["ShardId"][-12:]) for shard in shards]


def open_ranges(kinesis: Any) -> list[tuple[int, int]]:
    return sorted(
        (int(shard["HashKeyRange"]["StartingHashKey"]), int(shard["HashKeyRange"]["EndingHashKey"]))
        for shard in listed(kinesis, ShardFilter={"Type": "AT_LATEST"})
    )


def is_partition(ranges: list[tuple[int, int]]) -> bool:
    ends = [-1, *(end for _, end in ranges)]
    return ends[-1] == 2**128 - 1 and [start for start, _ in ranges] == [end + 1 for end in ends[:-1]]


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_the_shards_of_a_new_stream_share_all_hash_keys(local: LocalKinesis, shards: int) -> None:
    kinesis = make(local, shards=shards)

    assert len(open_ranges(kinesis)) == shards
    assert is_partition(open_ranges(kinesis))


def test_a_split_closes_the_shard_and_its_children_go_on_with_greater_numbers(local: LocalKinesis) -> None:
    kinesis = make(local)
    before = put(kinesis, b"1", b"2")
    kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey="100")
    after = put(kinesis, b"3")

    parent, first, second = listed(kinesis)
    ending = int(parent["SequenceNumberRange"]["EndingSequenceNumber"])
    assert int(before[-1]) < ending < int(first["SequenceNumberRange"]["StartingSequenceNumber"]) < int(after[0])
    assert first["ParentShardId"] == second["ParentShardId"] == shard_id(0)
    assert first["HashKeyRange"]["EndingHashKey"] == "99"
    assert data(records(kinesis, 0)) == [b"1", b"2"]
    assert data(records(kinesis, 2)) == [b"3"]


def test_a_merge_has_two_parents_and_their_hash_keys(local: LocalKinesis) -> None:
    kinesis = make(local, shards=2)
    put(kinesis, b"1")

    kinesis.merge_shards(StreamName="orders", ShardToMerge=shard_id(0), AdjacentShardToMerge=shard_id(1))
    put(kinesis, b"2")

    child = listed(kinesis)[2]
    assert (child["ParentShardId"], child["AdjacentParentShardId"]) == (shard_id(0), shard_id(1))
    assert child["HashKeyRange"] == {"StartingHashKey": "0", "EndingHashKey": str(2**128 - 1)}
    assert data(records(kinesis, 0) + records(kinesis, 1) + records(kinesis, 2)) == [b"1", b"2"]


def test_what_cannot_be_split_or_merged_is_refused_and_stays_as_it_is(local: LocalKinesis) -> None:
    kinesis = make(local, shards=3)

    with refuses("InvalidArgumentException"):
        kinesis.merge_shards(StreamName="orders", ShardToMerge=shard_id(0), AdjacentShardToMerge=shard_id(2))
    with refuses("InvalidArgumentException"):
        kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey=MIDDLE)
    with refuses("InvalidArgumentException"):
        kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey="0")
    with refuses("ResourceNotFoundException"):
        kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(7), NewStartingHashKey="1")

    assert len(listed(kinesis)) == 3


def test_a_closed_shard_is_not_split_again_and_a_stream_changes_one_thing_at_a_time(local: LocalKinesis) -> None:
    kinesis = make(local)
    local.engine.settles_within = HOUR
    kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey=MIDDLE)

    with refuses("ResourceInUseException"):
        kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(1), NewStartingHashKey="7")
    put(kinesis, b"while it is UPDATING")

    with local.engine.lock:
        local.engine.stream("orders").settles = 0.0
    with refuses("InvalidArgumentException"):
        kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey=MIDDLE)


def test_scaling_makes_even_shards_and_closes_what_comes_in_between(local: LocalKinesis) -> None:
    kinesis = make(local, shards=2)

    answer = kinesis.update_shard_count(StreamName="orders", TargetShardCount=3, ScalingType="UNIFORM_SCALING")

    assert (answer["CurrentShardCount"], answer["TargetShardCount"]) == (2, 3)
    ranges = open_ranges(kinesis)
    assert is_partition(ranges)
    assert [start for start, _ in ranges] == [2**128 * part // 3 for part in range(3)]
    closed = [shard for shard in listed(kinesis) if "EndingSequenceNumber" in shard["SequenceNumberRange"]]
    assert max(ids(closed)) > 1


def test_scaling_has_its_limits(limited: LocalKinesis, clock) -> None:
    kinesis = make(limited, shards=4)

    def scale(target: int) -> None:
        kinesis.update_shard_count(StreamName="orders", TargetShardCount=target, ScalingType="UNIFORM_SCALING")
        settled(kinesis)

    for target in (9, 1):
        with refuses("InvalidArgumentException"):
            scale(target)
    for turn in range(10):
        clock.forward(1)
        scale(8 if turn % 2 == 0 else 4)
    with refuses("LimitExceededException"):
        scale(8)
    clock.forward(24 * HOUR)
    scale(8)


def test_there_are_not_more_shards_than_an_account_may_have(local: LocalKinesis) -> None:
    kinesis = make(local)

    with refuses("LimitExceededException"):
        kinesis.create_stream(StreamName="others", ShardCount=10**6)
    with refuses("LimitExceededException"):
        kinesis.update_shard_count(StreamName="orders", TargetShardCount=10**6, ScalingType="UNIFORM_SCALING")


def test_pages_of_shards_make_the_whole_list(local: LocalKinesis, clock) -> None:
    kinesis = make(local, shards=7)

    first = kinesis.list_shards(StreamName="orders", MaxResults=3)
    second = kinesis.list_shards(NextToken=first["NextToken"], MaxResults=3)
    third = kinesis.list_shards(NextToken=second["NextToken"])

    assert [ids(page["Shards"]) for page in (first, second, third)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert "NextToken" not in third
    with refuses("InvalidArgumentException"):
        kinesis.list_shards(StreamName="orders", NextToken=first["NextToken"])
    clock.forward(301)
    with refuses("ExpiredNextTokenException"):
        kinesis.list_shards(NextToken=first["NextToken"])


def test_listing_begins_after_the_shard_that_is_named(local: LocalKinesis) -> None:
    kinesis = make(local, shards=4)

    assert ids(listed(kinesis, ExclusiveStartShardId=shard_id(1))) == [2, 3]
    assert ids(listed(kinesis, ShardFilter={"Type": "AFTER_SHARD_ID", "ShardId": shard_id(2)})) == [3]


def test_each_filter_gives_the_shards_of_its_time(local: LocalKinesis, clock) -> None:
    kinesis = make(local, shards=2)
    clock.forward(10)
    kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey="5")
    between = clock.now + 5
    clock.forward(10)
    settled(kinesis)
    kinesis.merge_shards(StreamName="orders", ShardToMerge=shard_id(2), AdjacentShardToMerge=shard_id(3))
    clock.forward(10)

    def filtered(kind: str, **more: Any) -> list[int]:
        return ids(listed(kinesis, ShardFilter={"Type": kind, **more}))

    assert filtered("FROM_TRIM_HORIZON") == [0, 1, 2, 3, 4]
    assert filtered("AT_TRIM_HORIZON") == [0, 1]
    assert filtered("AT_LATEST") == [1, 4]
    assert filtered("AT_TIMESTAMP", Timestamp=between) == [1, 2, 3]
    assert filtered("FROM_TIMESTAMP", Timestamp=between) == [1, 2, 3, 4]
    clock.forward(24 * HOUR - 15)
    assert filtered("AT_TRIM_HORIZON") == [1, 2, 3]
    with refuses("InvalidArgumentException"):
        filtered("AT_TIMESTAMP")


def test_all_shards_that_are_made_at_once_are_there_at_that_time(local: LocalKinesis, clock) -> None:
    kinesis = make(local, shards=50)
    at = {"Type": "AT_TIMESTAMP", "Timestamp": clock.now}
    assert len(kinesis.list_shards(StreamName="orders", ShardFilter=at)["Shards"]) == 50

    clock.forward(1)
    kinesis.update_shard_count(StreamName="orders", TargetShardCount=100, ScalingType="UNIFORM_SCALING")
    clock.forward(0.001)

    at = {"Type": "AT_TIMESTAMP", "Timestamp": clock.now}
    assert len(kinesis.list_shards(StreamName="orders", ShardFilter=at)["Shards"]) == 100


@pytest.mark.parametrize("issued", ["now", 0])
def test_a_token_that_was_not_given_out_is_refused(local: LocalKinesis, issued: object) -> None:
    forged = {"stream": 1, "after": "", "kind": "ALL", "shard": None, "timestamp": None, "issued": issued}

    with refuses("InvalidArgumentException"):
        make(local).list_shards(NextToken=base64.urlsafe_b64encode(json.dumps(forged).encode()).decode())


def test_the_shards_of_one_incarnation_are_not_those_of_another(local: LocalKinesis) -> None:
    kinesis = make(local)
    created = kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"][
        "StreamCreationTimestamp"
    ]

    assert ids(listed(kinesis, StreamCreationTimestamp=created)) == [0]
    with refuses("ResourceNotFoundException"):
        listed(kinesis, StreamCreationTimestamp=created.timestamp() - 60)
