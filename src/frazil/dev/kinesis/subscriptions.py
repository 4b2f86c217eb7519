"""Subscriptions: a consumer is sent the records of a shard as they come, for five minutes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

from frazil.dev.kinesis import events, iterators, reading
from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import Refused, in_use
from frazil.dev.kinesis.faults import SUBSCRIPTION_EVENTS
from frazil.dev.kinesis.iterators import Start
from frazil.dev.kinesis.model import Consumer, Shard, Stream
from frazil.dev.kinesis.numbers import LAST_BETWEEN, Number
from frazil.dev.kinesis.operations.naming import consumer_of_arn, rehearsed
from frazil.dev.kinesis.operations.records import describe_records
from frazil.dev.kinesis.operations.streams import describe_child
from frazil.dev.kinesis.quotas import MIB, READ_BYTES, Bucket
from frazil.dev.kinesis.reading import Portion

LASTS: Final = 300.0
"""Seconds."""

NOT_AGAIN_WITHIN: Final = 5.0
"""Seconds after a call that was answered within which the same consumer may not subscribe to the same shard."""

IDLE: Final = 1.0
"""Seconds, by no clock of the caller's, after which an event without records says how far a subscription has come."""

MOST_BYTES: Final = MIB
"""Bytes of data and partition keys in one event; a record that is larger has an event for itself."""


@dataclass(slots=True)
class Subscription:
    """One call of SubscribeToShard that was answered."""

    stream: Stream
    shard: Shard
    consumer: Consumer
    ordinal: int
    """The record to send next, if it is still there."""

    began: float
    paid: Bucket = field(default_factory=lambda: Bucket(READ_BYTES))
    """What a consumer is sent of a shard in a second."""

    overtaken: bool = False
    """Whether a later call has taken its place."""

    ended: bool = False
    spoken: float = 0.0
    """When the last event was sent, by the stopwatch."""


@dataclass(slots=True)
class Sent:
    """What is to be sent now."""

    message: bytes = b""
    reset: bool = False
    """The connection is to be reset instead."""

    seconds: float = 0.0
    """How long to wait before."""


class Subscriptions:
    """Who is subscribed to what.

    Args:
        engine: Has the streams.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._latest: dict[tuple[str, int], Subscription] = {}

    def open(self, given: dict[str, Any]) -> Subscription:
        """Begin a subscription; an older one of the same consumer and shard ends.

        Raises:
            Refused: there is no such consumer or shard, it may not subscribe yet, or it cannot begin there.
        """
        with self._engine.lock:
            stream, consumer = consumer_of_arn(self._engine, given["ConsumerARN"])
            if not self._engine.is_settled(consumer.settles):
                raise in_use(f"Consumer {consumer.arn} is not ACTIVE.")
            shard = self._engine.shard(stream, given["ShardId"])
            ordinal = iterators.place(self._engine, stream, shard, _start(given["StartingPosition"]))
            rehearsed(given)
            now = self._engine.clock()
            before = self._latest.get((consumer.arn, shard.row))
            if before is not None:
                if now - before.began < NOT_AGAIN_WITHIN:
                    raise in_use(
                        f"Another active subscription exists for this consumer: {consumer.arn}, shard {shard.id}, "
                        f"which subscribed less than {NOT_AGAIN_WITHIN:.0f} seconds ago."
                    )
                before.overtaken = True
            subscription = Subscription(stream, shard, consumer, ordinal, now)
            self._latest[consumer.arn, shard.row] = subscription
            return subscription

    def next(self, subscription: Subscription) -> Sent | None:
        """What a subscription is to be sent now, if anything; it has `ended` when that was the last."""
        with self._engine.lock:
            try:
                return self._next(subscription)
            except Refused as refused:
                subscription.ended = True
                return Sent(events.exception(refused))

    def _next(self, subscription: Subscription) -> Sent | None:
        self._check(subscription)
        now = self._engine.clock()
        if now - subscription.began >= LASTS:
            subscription.ended = True
            return None
        subscription.paid.fill(now)
        if self._engine.quotas.enforced and subscription.paid.level <= 0:
            return None
        portion = self._portion(subscription)
        if portion is None:
            return None
        fault = self._engine.faults.meet(SUBSCRIPTION_EVENTS, subscription.stream.name, subscription.shard.id)
        if fault is not None and fault.reset:
            subscription.ended = True
            return Sent(reset=True, seconds=fault.seconds)
        if fault is not None and fault.error is not None:
            raise fault.refused()
        return Sent(self._event(subscription, portion), seconds=fault.seconds if fault else 0.0)

    def _check(self, subscription: Subscription) -> None:
        if subscription.overtaken:
            raise in_use(f"Another subscription of consumer {subscription.consumer.arn} has taken over.")
        stream = self._engine.incarnation(subscription.stream.row)
        consumer_of_arn(self._engine, subscription.consumer.arn)
        self._engine.shard(stream, subscription.shard.id)

    def _portion(self, subscription: Subscription) -> Portion | None:
        shard = subscription.shard
        idle = time.monotonic() - subscription.spoken >= IDLE
        if subscription.ordinal > shard.count and shard.is_open and not idle:
            return None
        return reading.read(self._engine, subscription.stream, shard, subscription.ordinal, most_bytes=MOST_BYTES)

    def _event(self, subscription: Subscription, portion: Portion) -> bytes:
        shard = subscription.shard
        members: dict[str, Any] = {
            "Records": describe_records(shard, portion.records),
            "MillisBehindLatest": portion.behind,
        }
        if portion.next is None:
            subscription.ended = True
            children = reading.children(self._engine, subscription.stream, shard)
            members["ChildShards"] = [describe_child(child) for child in children]
        else:
            members["ContinuationSequenceNumber"] = self._continuation(shard, portion)
            subscription.ordinal = portion.next
        subscription.paid.pay(portion.size)
        subscription.spoken = time.monotonic()
        return events.event("SubscribeToShardEvent", members)

    def _continuation(self, shard: Shard, portion: Portion) -> str:
        # It lies behind the last record that was sent, so that AT and AFTER it mean the same.
        if portion.behind:
            last = portion.records[-1]
            return str(Number(shard.epoch, shard.number, last.arrival, last.ordinal, LAST_BETWEEN))
        # What arrives from now on is later than this, even if the clock should be set back.
        shard.arrival = max(self._engine.now(), shard.arrival)
        return str(Number(shard.epoch, shard.number, shard.arrival, shard.count, LAST_BETWEEN))


def _start(given: dict[str, Any]) -> Start:
    return Start(given["Type"], given.get("SequenceNumber"), given.get("Timestamp"))
