"""What is asked of the service, and what its answers mean."""

from __future__ import annotations

import time

import httpx2
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, EventStreamError, HTTPClientError
from tests.dev.kinesis.support import put, settled
from tests.sources.kinesis.fan_out.support import FIRST, arn_of, consumers, options, prepared

from frazil.dev.kinesis.faults import SUBSCRIPTION_EVENTS
from frazil.sources.kinesis.fan_out.subscription import Subscriber
from frazil.sources.kinesis.positions import BEGINNING

SHARD = str(FIRST.partition)


def test_the_last_event_of_a_shard_names_its_children(local) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    kinesis.split_shard(StreamName="orders", ShardToSplit=SHARD, NewStartingHashKey=str(2**127))
    settled(kinesis)

    with subscriber.subscribe(SHARD, BEGINNING, 5.0) as subscription:
        event = subscription.next(5.0)
        after_it = subscription.next(5.0)

    assert event is not None
    assert [each.data for each in event.records] == [b"1"]
    assert (event.continuation, event.behind) == (None, 0)
    assert event.children == ["shardId-000000000001", "shardId-000000000002"]
    assert after_it is None


def test_a_record_larger_than_any_read_comes_whole(local) -> None:
    kinesis, subscriber = prepared(local)
    large = bytes(range(256)) * 4000
    put(kinesis, large)

    with subscriber.subscribe(SHARD, BEGINNING, 5.0) as subscription:
        event = subscription.next(5.0)

    assert event is not None
    assert [each.data for each in event.records] == [large]


def test_nothing_is_waited_for_longer_than_that(local) -> None:
    _, subscriber = prepared(local)
    local.faults.slow(30.0, SUBSCRIPTION_EVENTS)

    began = time.monotonic()
    with subscriber.subscribe(SHARD, BEGINNING, 5.0) as subscription:
        assert subscription.next(0.3) is None

    assert time.monotonic() - began < 5


def test_a_refusal_has_the_services_name(local) -> None:
    kinesis, subscriber = prepared(local)
    consumers(local, kinesis).deregister(arn_of(kinesis))

    with (
        pytest.raises(ClientError, match=r"\(ResourceNotFoundException\).*SubscribeToShard"),
        subscriber.subscribe(SHARD, BEGINNING, 5.0),
    ):
        pass


def test_an_error_within_has_the_services_name(local) -> None:
    _, subscriber = prepared(local)
    local.faults.kms("KMSNotFoundException", SUBSCRIPTION_EVENTS)

    with (
        pytest.raises(EventStreamError, match="KMSNotFoundException"),
        subscriber.subscribe(SHARD, BEGINNING, 5.0) as subscription,
    ):
        subscription.next(5.0)


def test_what_is_sent_is_what_was_signed(local, monkeypatch) -> None:
    sent: list[httpx2.Request] = []

    def send(_: object, request: httpx2.Request, **__: object) -> None:
        sent.append(request)
        raise httpx2.ConnectError("nobody is there")

    monkeypatch.setattr(httpx2.Client, "send", send)
    keys = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "secret", "session_token": "token"}
    subscriber = Subscriber({**options(local), **keys}, "arn:aws:kinesis:us-east-1:1:stream/orders/consumer/a:1")

    with pytest.raises(HTTPClientError, match="nobody is there"), subscriber.subscribe(SHARD, BEGINNING, 5.0):
        pass

    (request,) = sent
    scheme, _, rest = request.headers["authorization"].partition(" ")
    said = dict(part.split("=", 1) for part in rest.split(", "))
    signed = {name: request.headers[name] for name in said["SignedHeaders"].split(";")}
    again = AWSRequest("POST", str(request.url), headers=signed, data=request.content)
    again.context["timestamp"] = request.headers["x-amz-date"]
    auth = SigV4Auth(Credentials(*keys.values()), "kinesis", local.region)
    assert scheme == "AWS4-HMAC-SHA256"
    assert {"host", "content-type", "x-amz-target", "x-amz-security-token"} <= signed.keys()
    assert said["Signature"] == auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
