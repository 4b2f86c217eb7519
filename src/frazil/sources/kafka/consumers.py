"""Consumers that a worker keeps between tasks, by their whole configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from confluent_kafka import Consumer

from frazil.sources.kafka.faults import QUIET
from frazil.sources.kafka.leaders import Leaders
from frazil.sources.kafka.skipping import STATISTICS

_consumers: dict[str, Consumer] = {}
_leaders: dict[str, Leaders] = {}


def kept(client: Mapping[str, Any], topic: str) -> Consumer:
    """A consumer for this configuration that knows the topic, kept for the next task that has the same."""
    key = _fingerprint(client)
    if key not in _consumers:
        _consumers[key] = Consumer(consumer_config(client))
        _leaders[key] = Leaders(_consumers[key])
    _leaders[key].find([topic])
    return _consumers[key]


def watched(client: Mapping[str, Any], topic: str, hear: Callable[[str], None]) -> Consumer:
    """A consumer for this configuration that knows the topic and gives `hear` its statistics; not kept."""
    opened = Consumer({**consumer_config(client), **STATISTICS, "stats_cb": hear})
    Leaders(opened).find([topic])
    return opened


def evict(client: Mapping[str, Any]) -> None:
    """Close the consumer of this configuration: it failed, and the next task gets a new one."""
    failed = _consumers.pop(_fingerprint(client), None)
    if failed is not None:
        failed.close()


def consumer_config(client: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a task's consumer: the user's, with what correctness needs on top."""
    tuned = {
        "fetch.wait.max.ms": 10,
        "fetch.message.max.bytes": 8 * 1024 * 1024,
        "queued.min.messages": 100_000,
        "queued.max.messages.kbytes": 32_768,
        # By default a queue that was full once is not filled again for a second: half of the time of a task.
        "fetch.queue.backoff.ms": 10,
        **QUIET,
    }
    fixed = {
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        # Unset, librdkafka answers a vanished offset with a plain end of partition: records lost in silence.
        "auto.offset.reset": "error",
    }
    return {**tuned, **client, **fixed}


def _fingerprint(client: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(dict(client), option=orjson.OPT_SORT_KEYS)).hexdigest()
