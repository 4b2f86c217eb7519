"""Consumers that have a shard's throughput to themselves: registered, described, listed, deregistered."""

from __future__ import annotations

from typing import Any, Final

from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import in_use, invalid, limit_exceeded, not_found
from frazil.dev.kinesis.model import Consumer, Stream
from frazil.dev.kinesis.operations.naming import consumer_of_arn, name_in, next_token

MOST_CONSUMERS: Final = 20
"""How many a stream may have."""

_LISTED: Final = 100


def register_stream_consumer(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Begin a consumer."""
    stream = engine.stream_of_arn(given["StreamARN"])
    if engine.status(stream) not in ("ACTIVE", "UPDATING"):
        raise in_use(f"Stream {stream.name} is {engine.status(stream)}.")
    name = given["ConsumerName"]
    if name in stream.consumers:
        raise in_use(f"Consumer {name} of stream {stream.name} already exists.")
    if engine.quotas.enforced and len(stream.consumers) >= MOST_CONSUMERS:
        raise limit_exceeded(f"Stream {stream.name} has {MOST_CONSUMERS} consumers already.")
    created = engine.moment()
    arn = f"{stream.arn}/consumer/{name}:{created // 1000}"
    consumer = Consumer(name, arn, created, given.get("Tags", {}), settles=engine.settling())
    stream.consumers[name] = consumer
    engine.save(stream)
    return {"Consumer": describe(engine, consumer)}


def deregister_stream_consumer(engine: Engine, given: dict[str, Any]) -> None:
    """End a consumer, and its subscriptions with it."""
    stream, consumer = _named(engine, given)
    del stream.consumers[consumer.name]
    engine.save(stream)


def describe_stream_consumer(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """All about a consumer."""
    stream, consumer = _named(engine, given)
    return {"ConsumerDescription": {**describe(engine, consumer), "StreamARN": stream.arn}}


def list_stream_consumers(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """A stream's consumers, by the page."""
    stream = engine.stream_of_arn(given["StreamARN"])
    after = name_in(given["NextToken"]) if "NextToken" in given else ""
    limit = min(given.get("MaxResults", _LISTED), _LISTED)
    found = [consumer for name, consumer in sorted(stream.consumers.items()) if name > after]
    listed: dict[str, Any] = {"Consumers": [describe(engine, consumer) for consumer in found[:limit]]}
    if len(found) > limit:
        listed["NextToken"] = next_token(found[limit - 1].name)
    return listed


def describe(engine: Engine, consumer: Consumer) -> dict[str, Any]:
    """A consumer as answers have it."""
    return {
        "ConsumerName": consumer.name,
        "ConsumerARN": consumer.arn,
        "ConsumerStatus": "ACTIVE" if engine.is_settled(consumer.settles) else "CREATING",
        "ConsumerCreationTimestamp": consumer.created / 1000,
    }


def _named(engine: Engine, given: dict[str, Any]) -> tuple[Stream, Consumer]:
    arn, name = given.get("ConsumerARN"), given.get("ConsumerName")
    if arn is not None:
        stream, consumer = consumer_of_arn(engine, arn)
        if name not in (None, consumer.name) or given.get("StreamARN", stream.arn) != stream.arn:
            raise invalid(f"ConsumerName or StreamARN is not of {arn}.")
        return stream, consumer
    if name is None or "StreamARN" not in given:
        raise invalid("Either ConsumerARN, or StreamARN and ConsumerName must be given.")
    stream = engine.stream_of_arn(given["StreamARN"])
    if name not in stream.consumers:
        raise not_found(f"Consumer {name} of stream {stream.name} not found.")
    return stream, stream.consumers[name]


OPERATIONS: Final = {
    "RegisterStreamConsumer": register_stream_consumer,
    "DeregisterStreamConsumer": deregister_stream_consumer,
    "DescribeStreamConsumer": describe_stream_consumer,
    "ListStreamConsumers": list_stream_consumers,
}
