"""Consumers are registered once, found again, and deregistered when nobody needs them."""

from __future__ import annotations

import pytest
from tests.dev.kinesis.support import make
from tests.sources.kinesis.fan_out.support import FIRST, arn_of, consumers, options, registered

from frazil.errors import ConsumersExhausted, StreamRefused, StreamUnavailable
from frazil.model import SourcePartition
from frazil.sources.kinesis.positions import BEGINNING
from frazil.sources.kinesis.source import KinesisSource, Reading, observe
from frazil.testing.topics import wait_until

STREAM = Reading(("orders",))


def names(kinesis) -> list[str]:
    return [each["ConsumerName"] for each in kinesis.list_stream_consumers(StreamARN=arn_of(kinesis))["Consumers"]]


def test_a_consumer_is_registered_and_active_when_its_stream_is_first_read(local) -> None:
    kinesis = make(local)
    source = KinesisSource(options(local), STREAM)
    source.discover()
    assert names(kinesis) == []

    wait_until(lambda: not source.resting({FIRST: BEGINNING}), "the consumer to be ACTIVE")

    arn = source.reader().client["consumer_arn.orders"]
    described = kinesis.describe_stream_consumer(ConsumerARN=arn)["ConsumerDescription"]
    assert (described["ConsumerName"], described["ConsumerStatus"]) == ("reader", "ACTIVE")
    source.close()


def test_a_consumer_that_is_there_is_used_again(local) -> None:
    kinesis = make(local)

    first = registered(consumers(local, kinesis), arn_of(kinesis))

    assert registered(consumers(local, kinesis), arn_of(kinesis)) == first
    assert names(kinesis) == ["reader"]


def test_nothing_is_registered_for_who_only_looks(local) -> None:
    kinesis = make(local)
    source = observe(options(local), ["orders"])
    source.discover()

    assert "consumer_arn.orders" not in source.reader().client
    assert names(kinesis) == []
    source.close()


def test_a_consumer_is_deregistered_once(local) -> None:
    kinesis = make(local)
    own = consumers(local, kinesis)
    registered(own, arn_of(kinesis))

    assert own.deregister(arn_of(kinesis))
    assert names(kinesis) == []
    assert not own.deregister(arn_of(kinesis))


def test_a_stream_with_too_many_consumers_is_an_error_that_passes(local, monkeypatch) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.consumers._REFUSED", 0.0)
    kinesis = make(local)
    source = opened(local)
    local.faults.kms("LimitExceededException", "RegisterStreamConsumer", times=1)

    with pytest.raises(ConsumersExhausted, match=r"reader cannot be registered with arn:.*:stream/orders"):
        source.resting({FIRST: BEGINNING})

    wait_until(lambda: not source.resting({FIRST: BEGINNING}), "the consumer to be ACTIVE")
    assert names(kinesis) == ["reader"]
    source.close()


def test_who_may_not_register_is_told(local) -> None:
    make(local)
    source = opened(local)
    local.faults.kms("AccessDeniedException", "RegisterStreamConsumer")

    with pytest.raises(StreamRefused, match="AccessDeniedException"):
        source.resting({FIRST: BEGINNING})
    source.close()


def test_a_stream_that_is_full_of_consumers_is_asked_seldom_and_its_shards_wait_while_others_are_read(local) -> None:
    make(local)
    make(local, "more")
    other = SourcePartition("more", FIRST.partition)
    starts = {FIRST: BEGINNING, other: BEGINNING}
    source = opened(local, "orders", "more")
    refused = local.faults.kms("LimitExceededException", "RegisterStreamConsumer", stream="orders")

    wait_until(lambda: source.resting(starts).keys() == {FIRST}, "the other stream to be read")

    assert 0 < source.resting(starts)[FIRST].seconds <= 15
    assert refused.happened == 1
    assert source.held().keys() == {FIRST}
    assert "deregister a consumer that nobody needs" in source.held()[FIRST].reason
    assert not source.held()[FIRST].passes
    assert source.reader().client.keys() >= {"consumer_arn.more"}
    assert "consumer_arn.orders" not in source.reader().client
    source.close()


def test_a_consumer_that_is_made_is_not_waited_for(local) -> None:
    make(local)
    source = opened(local)

    rests = source.resting({FIRST: BEGINNING})

    assert 0 <= rests[FIRST].seconds <= 2
    assert source.held() == {}
    source.close()


def test_a_consumer_that_is_never_made_is_trouble(local, monkeypatch) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.consumers._PATIENCE", 0.0)
    make(local)
    source = opened(local)

    with pytest.raises(StreamUnavailable, match="register the consumer reader"):
        source.resting({FIRST: BEGINNING})
    source.close()


def test_a_consumer_that_cannot_be_described_for_a_while_is_used_on(local, monkeypatch) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.consumers._KNOWN", 0.0)
    make(local)
    source = opened(local)
    wait_until(lambda: not source.resting({FIRST: BEGINNING}), "the consumer to be ACTIVE")
    local.faults.fail("DescribeStreamConsumer")

    assert source.resting({FIRST: BEGINNING}) == {}
    assert "consumer_arn.orders" in source.reader().client
    source.close()


def test_a_consumer_that_somebody_deregisters_is_registered_again(local, monkeypatch) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.consumers._KNOWN", 0.0)
    kinesis = make(local)
    own = consumers(local, kinesis)
    registered(own, arn_of(kinesis))
    kinesis.deregister_stream_consumer(StreamARN=arn_of(kinesis), ConsumerName="reader")
    wait_until(lambda: names(kinesis) == [], "the consumer to be gone")

    registered(own, arn_of(kinesis))

    assert names(kinesis) == ["reader"]


def opened(local, *streams: str) -> KinesisSource:
    source = KinesisSource(options(local), Reading(streams or ("orders",)))
    source.discover()
    return source
