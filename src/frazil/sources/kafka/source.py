"""The driver's side of Kafka: topics, positions, starting points and the published group offset."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec

from frazil.errors import BrokerUnavailable, NoStartingOffset
from frazil.model import Range, SourcePartition
from frazil.sources.base import GroupOffset, Position, TopicFacts
from frazil.sources.kafka.admin_client import BrokerAdmin
from frazil.sources.kafka.divergence import Prober, divergences
from frazil.sources.kafka.faults import QUIET, translate
from frazil.sources.kafka.leaders import Leaders
from frazil.sources.kafka.sample import average_sizes

_POLL = 0.2
"""Seconds one call waits for records."""

_LISTEN = 0.005
"""Seconds one call listens for what becomes of something; it does not return any sooner."""

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id of clusters that have none: sixteen zero bytes."""

_log = structlog.get_logger(__name__)


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
        self._asking = BrokerAdmin(_without_consumer_keys(self._client), isolation)
        ours = {"group.id": group, "enable.auto.commit": False, "on_commit": self._note_published}
        self._consumer = Consumer({**QUIET, **self._client, **ours})
        self._leaders = Leaders(self._consumer)
        self._published: list[tuple[KafkaError | None, list[TopicPartition]]] = []
        """What became of offsets that were published."""

        self._reading = threading.Lock()
        self._warned: set[str] = set()

    def discover(self) -> Mapping[str, TopicFacts]:
        return self.facts(self._matching() if self._pattern else self._topics)

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        if not topics:
            return {}
        cluster = self.cluster()
        admin, wanted = self._asking.admin, TopicCollection(list(topics))
        futures = self._asking.ask(
            "describe topics", lambda: admin.describe_topics(wanted, request_timeout=self._asking.patience)
        )
        found = {}
        for topic, description in self._asking.answers("give a description", futures):
            found[topic] = TopicFacts(topic, cluster, self._identity(topic, description), len(description.partitions))
        return found

    def cluster(self) -> str:
        asked = self._asking.admin.describe_cluster(request_timeout=self._asking.patience)
        return self._asking.answer("describe the cluster", asked).cluster_id or ""

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        return self._asking.positions(partitions, OffsetSpec.latest())

    def ends(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        return self._asking.places(partitions, OffsetSpec.latest())

    def divergences(self, positions: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int | None]:
        if not positions:
            return {}
        earliest, ends = self.earliest(positions), self.ends(positions)
        there = {each: positions[each] for each in earliest.keys() & ends.keys()}
        with Prober(self.reader_config(), self._asking.patience) as prober:
            return divergences(prober.holds, there, earliest, ends)

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        return self._asking.positions(partitions, OffsetSpec.earliest())

    def at_time(self, partitions: Collection[SourcePartition], moment: int) -> Mapping[SourcePartition, int]:
        """The first record at or after `moment`, in ms since the epoch; the end of the partition where none is."""
        found = self._asking.positions(partitions, OffsetSpec.for_timestamp(moment))
        older = [partition for partition, offset in found.items() if offset < 0]
        return {**found, **self.latest(older)}

    def initial(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        if partitions and self._reset == "none":
            first = min(partitions)
            raise NoStartingOffset(self._group, first.topic, first.partition)
        return self.latest(partitions) if self._reset == "latest" else self.earliest(partitions)

    def group_offsets(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, GroupOffset]:
        if not partitions:
            return {}
        asked = [TopicPartition(each.topic, each.partition) for each in partitions]
        answers = self._asking.ask(
            "give the group's offsets", lambda: self._consumer.committed(asked, timeout=self._asking.patience)
        )
        return {
            SourcePartition(each.topic, each.partition): GroupOffset(each.offset, each.metadata or "")
            for each in answers
            if each.offset >= 0
        }

    def oldest_timestamps(self, starts: Mapping[SourcePartition, int]) -> Mapping[SourcePartition, int]:
        waiting = {(each.topic, each.partition): each for each in starts}
        found: dict[SourcePartition, int] = {}
        deadline = time.monotonic() + self._asking.patience / 3
        with self._reading:
            self._leaders.find(each.topic for each in starts)
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
            self._leaders.find(each.partition.topic for each in ranges)
            return average_sizes(self._consumer, ranges)

    def publish(self, positions: Mapping[SourcePartition, GroupOffset]) -> None:
        if not positions:
            return
        offsets = [
            TopicPartition(each.topic, each.partition, found.offset, found.metadata)
            for each, found in positions.items()
        ]
        action = f"publish the offsets of the group {self._group}"
        with self._reading:
            # Committed synchronously, the call would wait for a lost coordinator for most of a minute.
            self._published.clear()
            try:
                self._consumer.commit(offsets=offsets, asynchronous=True)
            except KafkaException as error:
                raise translate(error, self._brokers, action) from error
            failed = self._until_published(offsets, action)
        if failed is not None:
            raise translate(KafkaException(failed), self._brokers, action)

    def reader_config(self) -> Mapping[str, Any]:
        return {**self._client, "group.id": self._group, "isolation.level": self._isolation}

    def close(self) -> None:
        self._consumer.close()

    def _note_published(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        self._published.append((error, offsets))

    def _until_published(self, offsets: Sequence[TopicPartition], action: str) -> KafkaError | None:
        """Wait for what becomes of `offsets`: what kept one of them from being published, if anything did."""
        wanted = {(each.topic, each.partition, each.offset) for each in offsets}
        deadline = time.monotonic() + self._asking.patience
        while time.monotonic() < deadline:
            self._consumer.poll(_LISTEN)
            for error, told in self._published:
                # The answer to an earlier publication may come late.
                if {(each.topic, each.partition, each.offset) for each in told} == wanted:
                    return error or next((each.error for each in told if each.error), None)
        raise BrokerUnavailable(self._brokers, action, f"no answer within {self._asking.patience:.0f} s")

    def _matching(self) -> list[str]:
        metadata = self._asking.ask(
            "list topics", lambda: self._asking.admin.list_topics(timeout=self._asking.patience)
        )
        pattern = self._pattern
        # Kafka's own topics (__consumer_offsets …) match no regex of a Java consumer either.
        return sorted(name for name in metadata.topics if pattern and pattern.fullmatch(name) and name[:2] != "__")

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


_CONSUMER_ONLY = re.compile(
    r"fetch\.|queued\.|isolation\.level|enable\.partition\.eof|auto\.offset|check\.crcs|group\.|max\.partition"
)


def _without_consumer_keys(client: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in client.items() if not _CONSUMER_ONLY.match(key)}
