"""What can be set on a stream: retention, encryption, size, mode, tags, policies."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dev.kinesis.support import HOUR, client, data, make, put, records, refuses, settled

from frazil.dev.kinesis import LocalKinesis

MIB = 1 << 20


def summary(kinesis: Any) -> Any:
    return kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]


def test_records_are_kept_for_longer_but_what_is_gone_stays_gone(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    put(kinesis, b"old")
    clock.forward(25 * HOUR)
    put(kinesis, b"new")

    kinesis.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=8760)
    clock.forward(300 * 24 * HOUR)

    assert summary(kinesis)["RetentionPeriodHours"] == 8760
    assert data(records(kinesis)) == [b"new"]


def test_less_retention_removes_what_is_older(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    kinesis.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
    settled(kinesis)
    put(kinesis, b"old")
    clock.forward(25 * HOUR)
    put(kinesis, b"new")
    assert data(records(kinesis)) == [b"old", b"new"]

    kinesis.decrease_stream_retention_period(StreamName="orders", RetentionPeriodHours=24)

    assert data(records(kinesis)) == [b"new"]


@pytest.mark.parametrize("hours", [23, 8761])
def test_retention_has_its_bounds(local: LocalKinesis, hours: int) -> None:
    kinesis = make(local)

    for change in (kinesis.increase_stream_retention_period, kinesis.decrease_stream_retention_period):
        with refuses("InvalidArgumentException"):
            change(StreamName="orders", RetentionPeriodHours=hours)


def test_records_say_that_they_are_encrypted_from_then_until_it_is_stopped(local: LocalKinesis) -> None:
    kinesis = make(local)
    key = {"StreamName": "orders", "EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}

    put(kinesis, b"1")
    kinesis.start_stream_encryption(**key)
    settled(kinesis)
    answered = kinesis.put_record(StreamName="orders", Data=b"2", PartitionKey="k")
    assert summary(kinesis)["KeyId"] == "alias/aws/kinesis"
    kinesis.stop_stream_encryption(**key)
    put(kinesis, b"3")

    assert answered["EncryptionType"] == "KMS"
    assert [record.get("EncryptionType") for record in records(kinesis)] == [None, "KMS", None]
    assert data(records(kinesis)) == [b"1", b"2", b"3"]


def test_records_may_be_larger_once_the_stream_says_so(local: LocalKinesis) -> None:
    kinesis = make(local)
    arn = summary(kinesis)["StreamARN"]
    large = b"x" * (2 * MIB)
    with refuses("InvalidArgumentException"):
        put(kinesis, large)

    kinesis.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=10240)
    put(kinesis, large)

    assert summary(kinesis)["MaxRecordSizeInKiB"] == 10240
    assert data(records(kinesis)) == [large]


def test_shards_of_an_on_demand_stream_are_left_to_the_service(local: LocalKinesis) -> None:
    kinesis = make(local)
    mode = {"StreamMode": "ON_DEMAND"}
    kinesis.update_stream_mode(StreamARN=summary(kinesis)["StreamARN"], StreamModeDetails=mode)
    settled(kinesis)

    with refuses("ValidationException"):
        kinesis.update_shard_count(StreamName="orders", TargetShardCount=2, ScalingType="UNIFORM_SCALING")
    assert summary(kinesis)["StreamModeDetails"] == mode


def test_tags_are_added_listed_by_the_page_and_removed(local: LocalKinesis) -> None:
    kinesis = make(local, Tags={"team": "a"})
    kinesis.add_tags_to_stream(StreamName="orders", Tags={"cost": "1", "zone": "z"})
    kinesis.tag_resource(ResourceARN=summary(kinesis)["StreamARN"], Tags={"team": "b"})

    first = kinesis.list_tags_for_stream(StreamName="orders", Limit=2)
    assert first == first | {
        "Tags": [{"Key": "cost", "Value": "1"}, {"Key": "team", "Value": "b"}],
        "HasMoreTags": True,
    }

    kinesis.remove_tags_from_stream(StreamName="orders", TagKeys=["cost"])
    kinesis.untag_resource(ResourceARN=summary(kinesis)["StreamARN"], TagKeys=["team"])
    left = kinesis.list_tags_for_resource(ResourceARN=summary(kinesis)["StreamARN"])["Tags"]
    assert left == [{"Key": "zone", "Value": "z"}]
    with refuses("InvalidArgumentException"):
        kinesis.add_tags_to_stream(StreamName="orders", Tags={str(number): "" for number in range(50)})


def test_a_policy_is_kept_until_it_is_deleted(local: LocalKinesis) -> None:
    kinesis = make(local)
    arn = summary(kinesis)["StreamARN"]

    kinesis.put_resource_policy(ResourceARN=arn, Policy="{}")
    assert kinesis.get_resource_policy(ResourceARN=arn)["Policy"] == "{}"
    kinesis.delete_resource_policy(ResourceARN=arn)
    with refuses("ResourceNotFoundException"):
        kinesis.get_resource_policy(ResourceARN=arn)


def test_a_consumer_has_a_policy_of_its_own(local: LocalKinesis) -> None:
    kinesis = make(local)
    stream = summary(kinesis)["StreamARN"]
    consumer = kinesis.register_stream_consumer(StreamARN=stream, ConsumerName="reader")["Consumer"]["ConsumerARN"]

    kinesis.put_resource_policy(ResourceARN=consumer, Policy="{}")

    assert kinesis.get_resource_policy(ResourceARN=consumer)["Policy"] == "{}"
    for other in (stream, f"{consumer}0"):
        with refuses("ResourceNotFoundException"):
            kinesis.get_resource_policy(ResourceARN=other)


def test_an_account_has_the_shards_of_its_streams(local: LocalKinesis) -> None:
    make(local, shards=3)
    make(local, "others", shards=2)

    assert client(local).describe_limits()["OpenShardCount"] == 5
