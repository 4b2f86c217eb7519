"""A Kafka cluster in memory, and what one connector sees of it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from frazil.errors import BrokerUnavailable, NoStartingOffset
from frazil.model import Range, SourcePartition
from frazil.sources.base import GroupOffset, TopicFacts


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One record."""

    value: Mapping[str, Any] | bytes | None
    """A JSON object, bytes that are none and become a reject, or None for a tombstone."""

    size: int = 100
    """Bytes it claims to have, which plans are bounded and split by."""

    timestamp: int = 0
    """Milliseconds since the epoch."""


@dataclass(slots=True)
class MemoryLog:
    """One partition: its records by offset. Offsets without one are gaps."""

    records: dict[int, MemoryRecord] = field(default_factory=dict)
    earliest: int = 0
    """The first offset it still holds."""

    latest: int = 0
    """The offset its next record will have."""

    def append(self, *records: MemoryRecord | None) -> int:
        """Add records; None is an offset without one, as a transaction's marker has. The first offset comes back."""
        first = self.latest
        for record in records:
            if record is not None:
                self.records[self.latest] = record
            self.latest += 1
        return first

    def compact(self, offset: int) -> None:
        """Make a gap of a record, as compaction does."""
        self.records.pop(offset, None)

    def retain(self, first: int) -> None:
        """Delete everything before `first`, as retention does."""
        self.earliest = max(self.earliest, min(first, self.latest))
        self.records = {offset: record for offset, record in self.records.items() if offset >= self.earliest}

    def truncate(self, end: int) -> None:
        """Forget everything from `end` on, as a leader does that was elected uncleanly."""
        self.latest = max(self.earliest, min(end, self.latest))
        self.records = {offset: record for offset, record in self.records.items() if offset < self.latest}


@dataclass(frozen=True, slots=True)
class MemoryTopic:
    """One topic."""

    id: str
    logs: list[MemoryLog]
    """By partition."""


class MemoryCluster:
    """Topics and consumer groups that many connectors share."""

    def __init__(self) -> None:
        self.id = str(uuid.uuid4())
        self.topics: dict[str, MemoryTopic] = {}
        self.groups: dict[str, dict[SourcePartition, GroupOffset]] = {}
        """The offsets each consumer group has published."""

        self.on_request: Callable[[str], object] = lambda _: None
        """Called with the name of a request before it is answered; what it raises is the answer."""

    def create_topic(self, name: str, partitions: int = 1) -> MemoryTopic:
        """Make a topic; one of that name is deleted first, and the new one has another id."""
        self.topics[name] = MemoryTopic(str(uuid.uuid4()), [MemoryLog() for _ in range(partitions)])
        return self.topics[name]

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        del self.topics[name]

    def add_partitions(self, name: str, total: int) -> None:
        """Raise the number of a topic's partitions to `total`."""
        logs = self.topics[name].logs
        logs += [MemoryLog() for _ in range(total - len(logs))]

    def log(self, partition: SourcePartition) -> MemoryLog:
        """One partition.

        Raises:
            BrokerUnavailable: there is none.
        """
        topic = self.topics.get(partition.topic)
        if topic is None or partition.partition >= len(topic.logs):
            raise BrokerUnavailable("memory", f"find {partition}", "it does not exist")
        return topic.logs[partition.partition]


class MemorySource:
    """The topics of one connector; see `frazil.sources.base.Source`."""

    def __init__(
        self,
        cluster: MemoryCluster,
        group: str,
        topics: Collection[str] = (),
        topics_regex: str | None = None,
        reset: Literal["earliest", "latest", "none"] = "earliest",
    ) -> None:
        self._cluster = cluster
        self._group = group
        self._topics = tuple(topics)
        self._pattern = re.compile(topics_regex) if topics_regex else None
        self._reset = reset

    def discover(self) -> Mapping[str, TopicFacts]:
        """The topics the connector reads that exist now, by name."""
        self._cluster.on_request("discover")
        if self._pattern is None:
            return self._facts(self._topics)
        return self._facts([name for name in sorted(self._cluster.topics) if self._pattern.fullmatch(name)])

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        """What there is to say of `topics` now; those that do not exist are absent."""
        self._cluster.on_request("facts")
        return self._facts(topics)

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        """The end of each partition."""
        self._cluster.on_request("latest")
        return {each: self._cluster.log(each).latest for each in partitions}

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        """The first offset each partition still holds."""
        self._cluster.on_request("earliest")
        return {each: self._cluster.log(each).earliest for each in partitions}

    def initial(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        """Where `reset` says."""
        self._cluster.on_request("initial")
        if partitions and self._reset == "none":
            first = min(partitions)
            raise NoStartingOffset(self._group, first.topic, first.partition)
        return {each: self._beginning(each) for each in partitions}

    def group_offsets(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, GroupOffset]:
        """Where the group stands."""
        self._cluster.on_request("group_offsets")
        published = self._cluster.groups.get(self._group, {})
        return {each: published[each] for each in partitions if each in published}

    def oldest_timestamps(self, starts: Mapping[SourcePartition, int]) -> Mapping[SourcePartition, int]:
        """When the first record at or after each start was produced, where there is one."""
        self._cluster.on_request("oldest_timestamps")
        waiting = {each: self._waiting(each, start, self._cluster.log(each).latest) for each, start in starts.items()}
        return {each: records[0].timestamp for each, records in waiting.items() if records}

    def average_sizes(self, ranges: Collection[Range]) -> Mapping[str, float]:
        """Average bytes per record, by topic."""
        self._cluster.on_request("average_sizes")
        sizes: dict[str, list[int]] = {}
        for each in ranges:
            records = self._waiting(each.partition, each.start, each.end)
            sizes.setdefault(each.partition.topic, []).extend(record.size for record in records)
        return {topic: sum(found) / len(found) for topic, found in sizes.items() if found}

    def publish(self, positions: Mapping[SourcePartition, GroupOffset]) -> None:
        """Remember the group's offsets."""
        self._cluster.on_request("publish")
        self._cluster.groups.setdefault(self._group, {}).update(positions)

    def reader_config(self) -> Mapping[str, Any]:
        """Nothing: staging in memory knows the cluster."""
        return {}

    def close(self) -> None:
        """Nothing is open."""

    def _facts(self, topics: Collection[str]) -> dict[str, TopicFacts]:
        found = {name: self._cluster.topics[name] for name in topics if name in self._cluster.topics}
        return {name: TopicFacts(name, self._cluster.id, topic.id, len(topic.logs)) for name, topic in found.items()}

    def _beginning(self, partition: SourcePartition) -> int:
        log = self._cluster.log(partition)
        return log.latest if self._reset == "latest" else log.earliest

    def _waiting(self, partition: SourcePartition, start: int, end: int) -> list[MemoryRecord]:
        records = self._cluster.log(partition).records
        return [records[offset] for offset in sorted(records) if start <= offset < end]
