"""Consumers are registered, and sent what comes to a shard until it ends, they are overtaken, or five minutes are over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from botocore.eventstream import EventStreamBuffer
from botocore.exceptions import EventStreamError
from tests.dev.kinesis.support import client, data, make, put, records, refuses, settled, shard_id

from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.faults import SUBSCRIPTION_EVENTS
from frazil.testing.topics import wait_until

MIDDLE = str(2**127)
MIB = 1 << 20


def register(local: LocalKinesis, kinesis: Any, name: str = "reader") -> str:
    stream = kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    arn = kinesis.register_stream_consumer(StreamARN=stream, ConsumerName=name)["Consumer"]["ConsumerARN"]

    def active() -> bool:
        described = kinesis.describe_stream_consumer(ConsumerARN=arn)["ConsumerDescription"]
        return bool(described["ConsumerStatus"] == "ACTIVE")

    wait_until(active, "the consumer to be ACTIVE")
    return str(arn)


def subscribe(kinesis: Any, arn: str, shard: int = 0, kind: str = "TRIM_HORIZON", **more: Any) -> Iterator[Any]:
    answer = kinesis.subscribe_to_shard(
        ConsumerARN=arn, ShardId=shard_id(shard), StartingPosition={"Type": kind, **more}
    )
    return (event["SubscribeToShardEvent"] for event in answer["EventStream"])


def test_a_consumer_is_registered_described_listed_and_deregistered(local: LocalKinesis) -> None:
    kinesis = make(local)
    stream = kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    arn = register(local, kinesis)

    with refuses("ResourceInUseException"):
        kinesis.register_stream_consumer(StreamARN=stream, ConsumerName="reader")
    assert [each["ConsumerARN"] for each in kinesis.list_stream_consumers(StreamARN=stream)["Consumers"]] == [arn]
    assert kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["ConsumerCount"] == 1

    kinesis.deregister_stream_consumer(StreamARN=stream, ConsumerName="reader")
    with refuses("ResourceNotFoundException"):
        kinesis.describe_stream_consumer(ConsumerARN=arn)


def test_consumers_are_listed_by_the_page(local: LocalKinesis) -> None:
    kinesis = make(local)
    for name in "cab":
        register(local, kinesis, name)
    stream = kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]

    first = kinesis.list_stream_consumers(StreamARN=stream, MaxResults=2)
    second = kinesis.list_stream_consumers(StreamARN=stream, NextToken=first["NextToken"])

    names = [[each["ConsumerName"] for each in page["Consumers"]] for page in (first, second)]
    assert names == [["a", "b"], ["c"]]
    assert "NextToken" not in second


def test_a_stream_with_consumers_is_deleted_only_if_that_is_said(local: LocalKinesis) -> None:
    kinesis = make(local)
    register(local, kinesis)

    with refuses("ResourceInUseException"):
        kinesis.delete_stream(StreamName="orders")
    kinesis.delete_stream(StreamName="orders", EnforceConsumerDeletion=True)


def test_what_was_there_and_what_comes_is_sent(local: LocalKinesis) -> None:
    kinesis = make(local)
    put(kinesis, b"1", b"2")
    events = subscribe(kinesis, register(local, kinesis))

    assert data(next(events)["Records"]) == [b"1", b"2"]
    put(client(local), b"3")
    assert data(next(event for event in events if event["Records"])["Records"]) == [b"3"]


def test_the_continuation_advances_without_records_and_is_where_the_next_subscription_begins(
    local: LocalKinesis, clock
) -> None:
    kinesis = make(local)
    arn = register(local, kinesis)
    events = subscribe(kinesis, arn, kind="LATEST")
    first = next(events)["ContinuationSequenceNumber"]
    clock.forward(10)
    later = next(event for event in events if event["ContinuationSequenceNumber"] != first)

    assert later["Records"] == []
    assert int(later["ContinuationSequenceNumber"]) > int(first)
    (number,) = put(client(local), b"1")
    assert int(number) > int(later["ContinuationSequenceNumber"])
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        clock.forward(5)
        again = subscribe(client(local), arn, kind=kind, SequenceNumber=later["ContinuationSequenceNumber"])
        assert data(next(again)["Records"]) == [b"1"]


def test_after_the_continuation_of_records_the_next_one_comes(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    put(kinesis, b"x" * (MIB - 3), b"2")
    arn = register(local, kinesis)
    first = next(subscribe(kinesis, arn))
    assert len(first["Records"]) == 1

    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        clock.forward(5)
        again = subscribe(client(local), arn, kind=kind, SequenceNumber=first["ContinuationSequenceNumber"])
        assert data(next(again)["Records"]) == [b"2"]


def test_at_the_end_of_a_shard_its_children_are_named_and_the_events_end(local: LocalKinesis) -> None:
    kinesis = make(local)
    put(kinesis, b"1")
    kinesis.split_shard(StreamName="orders", ShardToSplit=shard_id(0), NewStartingHashKey=MIDDLE)
    settled(kinesis)

    *_, last = subscribe(kinesis, register(local, kinesis))

    assert data(last["Records"]) == [b"1"]
    assert [child["ShardId"] for child in last["ChildShards"]] == [shard_id(1), shard_id(2)]
    assert "ContinuationSequenceNumber" not in last


def test_a_subscription_lasts_five_minutes(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    events = subscribe(kinesis, register(local, kinesis))
    next(events)

    clock.forward(300)

    assert all(event["Records"] == [] for event in events)


def test_nobody_subscribes_twice_within_five_seconds_and_then_the_later_call_wins(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    arn = register(local, kinesis)
    first = subscribe(kinesis, arn)
    next(first)

    with refuses("ResourceInUseException"):
        subscribe(client(local), arn)
    clock.forward(5)
    second = subscribe(client(local), arn)
    put(client(local), b"1")

    assert data(next(event for event in second if event["Records"])["Records"]) == [b"1"]
    with pytest.raises(EventStreamError, match="ResourceInUseException"):
        list(first)


def test_a_consumer_that_is_deregistered_is_sent_an_error(local: LocalKinesis) -> None:
    kinesis = make(local)
    arn = register(local, kinesis)
    events = subscribe(kinesis, arn)
    next(events)

    client(local).deregister_stream_consumer(ConsumerARN=arn)

    with pytest.raises(EventStreamError, match="ResourceNotFoundException"):
        list(events)


def test_errors_come_within_a_subscription_on_demand(local: LocalKinesis) -> None:
    kinesis = make(local)
    events = subscribe(kinesis, register(local, kinesis))
    next(events)

    local.faults.kms("KMSDisabledException", SUBSCRIPTION_EVENTS, times=1)

    with pytest.raises(EventStreamError, match="KMSDisabledException"):
        list(events)


def test_a_subscription_is_reset_on_demand(local: LocalKinesis) -> None:
    kinesis = make(local)
    events = subscribe(kinesis, register(local, kinesis))
    next(events)

    local.faults.reset(SUBSCRIPTION_EVENTS, times=1)

    with pytest.raises(Exception, match=r"(?i)reset|broken|aborted"):
        list(events)


def test_a_consumer_is_sent_two_mebibytes_a_second_while_others_read_as_they_may(limited: LocalKinesis, clock) -> None:
    kinesis = make(limited)
    for _ in range(5):
        put(kinesis, b"x" * (MIB - 3))
        clock.forward(1)
    events = subscribe(kinesis, register(limited, kinesis))

    sent = [len(next(events)["Records"]) for _ in range(2)]
    assert sent == [1, 1]
    assert len(records(client(limited))) == 5
    clock.forward(1)
    assert len(next(events)["Records"]) == 1


def test_events_come_over_http2_as_well(local: LocalKinesis) -> None:
    kinesis = make(local)
    put(kinesis, b"1")
    arn = register(local, kinesis)
    headers = {"X-Amz-Target": "Kinesis_20131202.SubscribeToShard", "Content-Type": "application/x-amz-json-1.1"}
    wanted = {"ConsumerARN": arn, "ShardId": shard_id(0), "StartingPosition": {"Type": "TRIM_HORIZON"}}
    buffer = EventStreamBuffer()

    with (
        httpx2.Client(http1=False, http2=True) as http,
        http.stream("POST", local.endpoint, headers=headers, json=wanted) as answer,
    ):
        assert answer.http_version == "HTTP/2"
        assert answer.headers["content-type"] == "application/vnd.amazon.eventstream"
        found = []
        for part in answer.iter_raw():
            buffer.add_data(part)
            found += [message.headers[":event-type"] for message in buffer]
            if len(found) == 2:
                break

    assert found == ["initial-response", "SubscribeToShardEvent"]


def test_a_client_that_goes_away_leaves_the_server_well(local: LocalKinesis, clock) -> None:
    kinesis = make(local)
    arn = register(local, kinesis)
    answer = kinesis.subscribe_to_shard(ConsumerARN=arn, ShardId=shard_id(0), StartingPosition={"Type": "LATEST"})
    answer["EventStream"].close()

    clock.forward(5)
    again = subscribe(client(local), arn, kind="LATEST")
    put(client(local), b"1")

    assert data(next(event for event in again if event["Records"])["Records"]) == [b"1"]
