"""What tests do to a broker's topics: make, grow, alter, shorten and delete them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

FAST_CLEANING: Mapping[str, str] = {
    "log.cleaner.backoff.ms": "100",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "100",
}
"""Broker settings that make compaction and retention happen while a test waits."""

COMPACTED: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.001",
    "segment.ms": "200",
    "delete.retention.ms": "0",
}
"""Topic settings under which compaction soon removes what newer records replace."""

PATIENCE = 30.0
"""Seconds to wait for a broker to do what it was asked."""


def create_topic(bootstrap: str, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
    """Make a topic, wait until each partition has a leader, and return its name."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1, config=dict(config or {}))])[name].result(PATIENCE)
    wait_until(lambda: _leaders(admin, name) == partitions, f"{name} to have {partitions} leaders")
    return name


def delete_topic(bootstrap: str, name: str) -> None:
    """Delete a topic and wait until the broker no longer knows it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([name])[name].result(PATIENCE)
    wait_until(lambda: name not in admin.list_topics(timeout=PATIENCE).topics, f"{name} to be gone")


def add_partitions(bootstrap: str, name: str, total: int) -> None:
    """Raise the number of a topic's partitions to `total`."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(name, total)])[name].result(PATIENCE)
    wait_until(lambda: _leaders(admin, name) == total, f"{name} to have {total} leaders")


def alter_topic(bootstrap: str, name: str, config: Mapping[str, str]) -> None:
    """Set some of the topic's own settings."""
    change = AlterConfigOpType.SET
    entries = [ConfigEntry(key, value, incremental_operation=change) for key, value in config.items()]
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)


def delete_records(bootstrap: str, topic: str, partition: int, before: int) -> None:
    """Delete the records of a partition below offset `before`, as retention does."""
    where = TopicPartition(topic, partition, before)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_records([where])[where].result(PATIENCE)


def group_offsets(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """The offsets a consumer group has committed for a topic, by partition."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    partitions = [
        TopicPartition(topic, number) for number in admin.list_topics(topic, PATIENCE).topics[topic].partitions
    ]
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        return {
            found.partition: found.offset for found in consumer.committed(partitions, PATIENCE) if found.offset >= 0
        }
    finally:
        consumer.close()


def set_group_offsets(bootstrap: str, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Commit a consumer group's offsets for a topic, by partition, as any consumer does."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    try:
        positions = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        consumer.commit(offsets=positions, asynchronous=False)
    finally:
        consumer.close()


def wait_until(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait until `condition` holds.

    Raises:
        TimeoutError: it did not within `patience` seconds; the message names `what`.
    """
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience:.0f} s in vain for {what}")
        time.sleep(0.05)


def _leaders(admin: AdminClient, topic: str) -> int:
    found = admin.list_topics(topic, PATIENCE).topics[topic]
    return sum(partition.leader >= 0 for partition in found.partitions.values())
