"""Consumers are registered once, found again, and deregistered when nobody needs them."""

from __future__ import annotations

import pytest
from tests.dev.kinesis.support import make
from tests.sources.kinesis.fan_out.support import arn_of, consumers, options

from frazil.errors import ConsumersExhausted, StreamRefused
from frazil.sources.kinesis.source import KinesisSource, Reading, observe

STREAM = Reading(("orders",))


def registered(kinesis) -> list[str]:
    return [each["ConsumerName"] for each in kinesis.list_stream_consumers(StreamARN=arn_of(kinesis))["Consumers"]]


def test_a_consumer_is_registered_and_active_when_its_stream_is_first_read(local) -> None:
    kinesis = make(local)
    source = KinesisSource(options(local), STREAM)
    source.discover()
    assert registered(kinesis) == []

    arn = source.reader().client["consumer_arn.orders"]

    described = kinesis.describe_stream_consumer(ConsumerARN=arn)["ConsumerDescription"]
    assert (described["ConsumerName"], described["ConsumerStatus"]) == ("reader", "ACTIVE")
    source.close()


def test_a_consumer_that_is_there_is_used_again(local) -> None:
    kinesis = make(local)

    first = consumers(local, kinesis).arn(arn_of(kinesis))

    assert consumers(local, kinesis).arn(arn_of(kinesis)) == first
    assert registered(kinesis) == ["reader"]


def test_nothing_is_registered_for_who_only_looks(local) -> None:
    kinesis = make(local)
    source = observe(options(local), ["orders"])
    source.discover()

    assert "consumer_arn.orders" not in source.reader().client
    assert registered(kinesis) == []
    source.close()


def test_a_consumer_is_deregistered_once(local) -> None:
    kinesis = make(local)
    own = consumers(local, kinesis)
    own.arn(arn_of(kinesis))

    assert own.deregister(arn_of(kinesis))
    assert registered(kinesis) == []
    assert not own.deregister(arn_of(kinesis))


def test_a_stream_with_too_many_consumers_is_an_error_that_passes(local) -> None:
    kinesis = make(local)
    local.faults.kms("LimitExceededException", "RegisterStreamConsumer", times=1)

    with pytest.raises(ConsumersExhausted, match=r"reader cannot be registered with arn:.*:stream/orders"):
        consumers(local, kinesis).arn(arn_of(kinesis))

    assert consumers(local, kinesis).arn(arn_of(kinesis))


def test_who_may_not_register_is_told(local) -> None:
    kinesis = make(local)
    local.faults.kms("AccessDeniedException", "RegisterStreamConsumer")

    with pytest.raises(StreamRefused, match="AccessDeniedException"):
        consumers(local, kinesis).arn(arn_of(kinesis))
