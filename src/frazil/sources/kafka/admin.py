"""The driver's side of Kafka: topics, positions, starting points and the published group offset."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from typing import Any, Literal, TypeVar

import structlog
from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from frazil.errors import BrokerRefused, NoStartingOffset
from frazil.model import Range, SourcePartition
from frazil.sources.base import TopicFacts
from frazil.sources.kafka.faults import QUIET, Refusals, is_missing_topic, translate
from frazil.sources.kafka.sample import average_sizes

_PATIENCE = 15.0
"""Seconds to wait for one answer of a broker."""

_POLL = 0.2
"""Seconds one call waits for records."""

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id of clusters that have none: sixteen zero bytes."""

_log = structlog.get_logger(__name__)
_Answer = TypeVar("_Answer")


class KafkaSource:
    """Topics of one cluster, as one connector reads them; see `frazil.sources.base.Source`."""

    def __init__(
        self,
        client: Mapping[str, Any],
        group: str,
        topics: Collection[str],
        topics_regex: str | None,
        reset: Literal["earliest", "latest", "none"],
        isolation: Literal["read_uncommitted", "read_committed"],
    ) -> None:
        self._client = dict(client)
        self._group = group
        self._topics = tuple(topics)
        self._pattern = re.compile(topics_regex) if topics_regex else None
        self._reset = reset
        self._isolation = isolation
        self._brokers = str(client["bootstrap.servers"])
        self._refusals = Refusals()
        admin = {**QUIET, **_without_consumer_keys(self._client), "error_cb": self._refusals.hear}
        self._admin = AdminClient(admin)
        self._consumer = Consumer({**QUIET, **self._client, "group.id": group, "enable.auto.commit": False})
        self._reading = threading.Lock()
        self._warned: set[str] = set()

    def discover(self) -> Mapping[str, TopicFacts]:
        return self.facts(self._matching() if self._pattern else self._topics)

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        if not topics:
            return {}
        cluster = self._cluster()
        futures = self._ask("describe topics", lambda: self._admin.describe_topics(TopicCollection(list(topics))))
        found = {}
        for topic, future in futures.items():
            try:
                description = self._answer(f"describe the topic {topic}", future)
            except KafkaException as error:
                if is_missing_topic(error.args[0]):
                    continue
                raise translate(error, self._brokers, f"describe the topic {topic}") from error
            found[topic] = TopicFacts(topic, cluster, self._identity(topic, description), len(description.partitions))
        return found

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        return self._positions(partitions, OffsetSpec.latest())

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        return self._positions(partitions, OffsetSpec.earliest())

    def starts(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        committed = self._group_offsets(partitions)
        missing = [partition for partition in partitions if partition not in committed]
        if missing and self._reset == "none":
            raise NoStartingOffset(self._group, missing[0].topic, missing[0].partition)
        chosen = self.latest(missing) if self._reset == "latest" else self.earliest(missing)
        return {**committed, **chosen}

    def oldest_timestamps(self, starts: Mapping[SourcePartition, int]) -> Mapping[SourcePartition, int]:
        waiting = {(each.topic, each.partition): each for each in starts}
        found: dict[SourcePartition, int] = {}
        deadline = time.monotonic() + _PATIENCE / 3
        with self._reading:
            assigned = [TopicPartition(each.topic, each.partition, offset) for each, offset in starts.items()]
            self._consumer.assign(assigned)
            self._consumer.resume(assigned)
            try:
                while waiting and time.monotonic() < deadline:
                    for message in self._consumer.consume(len(waiting), _POLL):
                        partition = waiting.get((message.topic(), message.partition()))
                        if message.error() is None and partition is not None:
                            del waiting[partition.topic, partition.partition]
                            self._consumer.pause([TopicPartition(partition.topic, partition.partition)])
                            found[partition] = int(message.timestamp()[1])
            finally:
                self._consumer.unassign()
        return found

    def average_sizes(self, ranges: Collection[Range]) -> Mapping[str, float]:
        with self._reading:
            return average_sizes(self._consumer, ranges)

    def publish(self, positions: Mapping[SourcePartition, int]) -> None:
        if not positions:
            return
        offsets = [TopicPartition(each.topic, each.partition, offset) for each, offset in positions.items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            raise translate(error, self._brokers, f"publish the offsets of the group {self._group}") from error

    def reader_config(self) -> Mapping[str, Any]:
        return {**self._client, "group.id": self._group, "isolation.level": self._isolation}

    def close(self) -> None:
        self._consumer.close()

    def _matching(self) -> list[str]:
        metadata = self._ask("list topics", lambda: self._admin.list_topics(timeout=_PATIENCE))
        pattern = self._pattern
        # Kafka's own topics (__consumer_offsets …) match no regex of a Java consumer either.
        return sorted(name for name in metadata.topics if pattern and pattern.fullmatch(name) and name[:2] != "__")

    def _cluster(self) -> str:
        description = self._answer("describe the cluster", self._admin.describe_cluster(request_timeout=_PATIENCE))
        return description.cluster_id or ""

    def _identity(self, topic: str, description: Any) -> str:
        identity = str(description.topic_id)
        if identity != _NO_ID:
            return identity
        if topic not in self._warned:
            self._warned.add(topic)
            _log.warning(
                "the cluster gives this topic no id: making it again under its name cannot be told", topic=topic
            )
        return ""

    def _positions(self, partitions: Collection[SourcePartition], spec: OffsetSpec) -> dict[SourcePartition, int]:
        if not partitions:
            return {}
        isolation = (
            IsolationLevel.READ_COMMITTED if self._isolation == "read_committed" else IsolationLevel.READ_UNCOMMITTED
        )
        asked = {TopicPartition(each.topic, each.partition): spec for each in partitions}
        futures = self._ask(
            "list offsets",
            lambda: self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=_PATIENCE),
        )
        found = {}
        for asked_for, future in futures.items():
            partition = SourcePartition(asked_for.topic, asked_for.partition)
            try:
                found[partition] = int(self._answer(f"give the offsets of {partition}", future).offset)
            except KafkaException as error:
                raise translate(error, self._brokers, f"give the offsets of {partition}") from error
        return found

    def _group_offsets(self, partitions: Collection[SourcePartition]) -> dict[SourcePartition, int]:
        asked = [TopicPartition(each.topic, each.partition) for each in partitions]
        answers = self._ask("give the group's offsets", lambda: self._consumer.committed(asked, timeout=_PATIENCE))
        return {SourcePartition(each.topic, each.partition): each.offset for each in answers if each.offset >= 0}

    def _ask(self, action: str, request: Callable[[], _Answer]) -> _Answer:
        try:
            return request()
        except KafkaException as error:
            self._admin.poll(0)  # brings what was told aside
            raise translate(error, self._brokers, action, self._refusals) from error

    def _answer(self, action: str, future: Future[_Answer]) -> _Answer:
        asked = time.monotonic()
        while not future.done() and time.monotonic() - asked < _PATIENCE * 2:
            wait([future], _POLL)
            self._admin.poll(0)
            if self._refusals.last and not future.done() and time.monotonic() - asked > _PATIENCE / 3:
                raise BrokerRefused(self._brokers, action, self._refusals.last)
        try:
            answer = future.result(timeout=0)
        except KafkaException as error:
            if is_missing_topic(error.args[0]):
                raise
            raise translate(error, self._brokers, action, self._refusals) from error
        self._refusals.last = None
        return answer


_CONSUMER_ONLY = re.compile(
    r"fetch\.|queued\.|isolation\.level|enable\.partition\.eof|auto\.offset|check\.crcs|group\.|max\.partition"
)


def _without_consumer_keys(client: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in client.items() if not _CONSUMER_ONLY.match(key)}
