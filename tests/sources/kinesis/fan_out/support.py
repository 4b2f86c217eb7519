"""Streams with a consumer, and shards read by it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.dev.kinesis.support import make

from frazil.dev.kinesis import LocalKinesis
from frazil.model import Range, SourcePartition
from frazil.sources.kinesis.fan_out.consumers import Consumers
from frazil.sources.kinesis.fan_out.shard import FanOutShard
from frazil.sources.kinesis.fan_out.subscription import Subscriber
from frazil.sources.kinesis.listed_shards import ListedShards
from frazil.sources.kinesis.positions import Hints, KinesisPosition, now
from frazil.sources.kinesis.shard_reading import Outcome, Pulled, RawRecord
from frazil.testing.topics import wait_until

FIRST = SourcePartition("orders", "shardId-000000000000")


def options(local: LocalKinesis) -> dict[str, str]:
    """What settings give as the configuration of a client."""
    keys = {"access_key_id": "local", "secret_access_key": "local"}
    own = {"application": "reader", "consumer_type": "ENHANCED_FAN_OUT"}
    return {"region": local.region, "endpoint": local.endpoint, **keys, **own}


def arn_of(kinesis: Any, stream: str = "orders") -> str:
    found = kinesis.describe_stream_summary(StreamName=stream)
    return str(found["StreamDescriptionSummary"]["StreamARN"])


def consumers(local: LocalKinesis, kinesis: Any) -> Consumers:
    return Consumers(kinesis, local.endpoint, "reader")


def registered(own: Consumers, arn: str) -> str:
    """The ARN of a stream's consumer, once it may subscribe."""
    wait_until(lambda: not own.lacking({"orders": arn}), "the consumer to be ACTIVE")
    return own.options({"orders": arn})["consumer_arn.orders"]


def prepared(local: LocalKinesis, shards: int = 1) -> tuple[Any, Subscriber]:
    """A stream with a consumer that may subscribe: a client, and the consumer."""
    kinesis = make(local, shards=shards)
    return kinesis, Subscriber(options(local), registered(consumers(local, kinesis), arn_of(kinesis)))


class Reading:
    """Reads one shard as a task does, and keeps what it is given."""

    def __init__(self, subscriber: Subscriber, partition: SourcePartition = FIRST, listing: Any = None) -> None:
        """Subscribe to a shard; `listing` is a client that lists shards, for ends that name no children."""
        self.records: list[RawRecord] = []
        self._subscriber = subscriber
        self._shards = ListedShards(listing, partition.topic, None)
        self._partition = partition

    def run(
        self,
        start: KinesisPosition,
        *,
        window: float = 5.0,
        owed: float = 0.0,
        deliver: Callable[[Pulled], bool] = lambda _: True,
        wait: Callable[[float], bool] | None = None,
    ) -> Outcome:
        wanted = Range(self._partition, start, now(0, None, Hints(owed=owed)))
        reading = FanOutShard(self._subscriber.subscribe, wanted, self._shards, window, wait or _waiting)

        def keep(pulled: Pulled) -> bool:
            self.records += pulled.records
            return deliver(pulled)

        return reading.run(keep)

    @property
    def data(self) -> list[bytes]:
        return [each.data for each in self.records]


_waiting = threading.Event().wait
