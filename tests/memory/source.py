"""A Kafka cluster in memory, and what one connector sees of it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from frazil.errors import BrokerUnavailable, NoStartingOffset
from frazil.model import Range, SourcePartition
from frazil.sources.base import GroupOffset, Position, TopicFacts


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One record."""

    value: Mapping[str, Any] | bytes | None
    """A JSON object, bytes that are none and become a reject, or None for a tombstone."""

    size: int = 100
    """Bytes it claims to have, which plans are bounded and split by."""

    timestamp: int = 0
    """Milliseconds since the epoch."""

    leader_epoch: int = 0
    """The epoch of the leader that wrote it; with its offset it tells it from all others of the partition."""


@dataclass(slots=True)
class MemoryLog:
    """One partition: its records by offset. Offsets without one are gaps."""

    records: dict[int, MemoryRecord] = field(default_factory=dict)
    earliest: int = 0
    """The first offset it still holds."""

    latest: int = 0
    """The offset its next record will have."""

    epochs: dict[int, int] = field(default_factory=lambda: {0: 0})
    """Where the records of each leader epoch begin."""

    @property
    def leader_epoch(self) -> int:
        """The epoch of its leader."""
        return max(self.epochs)

    def elect(self) -> None:
        """Have another leader, which loses nothing."""
        self.epochs[self.leader_epoch + 1] = self.latest

    def holds(self, offset: int, leader_epoch: int) -> bool:
        """Whether it still has everything before `offset` that the leader of an epoch had, as far as it can tell."""
        if leader_epoch > self.leader_epoch:
            return False
        # Of what retention deleted, the epochs are forgotten, too.
        later = [max(start, self.earliest) for epoch, start in self.epochs.items() if epoch > leader_epoch]
        return offset <= min(later, default=self.latest)

    def append(self, *records: MemoryRecord | None) -> int:
        """Add records; None is an offset without one, as a transaction's marker has. The first offset comes back."""
        first = self.latest
        for record in records:
            if record is not None:
                self.records[self.latest] = replace(record, leader_epoch=self.leader_epoch)
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
        newest = self.leader_epoch
        self.latest = max(self.earliest, min(end, self.latest))
        self.records = {offset: record for offset, record in self.records.items() if offset < self.latest}
        kept = {epoch: start for epoch, start in self.epochs.items() if start < self.latest}
        self.epochs = {**kept, newest + 1: self.latest}


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

        self.knows_epochs = True
        """Whether it tells leader epochs; old clusters do not."""

        self.on_request: Callable[[str], object] = lambda _: None
        """Called with the name of a request before it is answered; what it raises is the answer."""

    def create_topic(self, name: str, partitions: int = 1) -> MemoryTopic:
        """Make a topic; one of that name is deleted first, and the new one has another id."""
        self.topics[name] = MemoryTopic(str(uuid.uuid4()), [MemoryLog() for _ in range(partitions)])
        return self.topics[name]

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and what groups have published for it, as Kafka does."""
        del self.topics[name]
        for offsets in self.groups.values():
            for partition in [each for each in offsets if each.topic == name]:
                del offsets[partition]

    def add_partitions(self, name: str, total: int) -> None:
        """Raise the number of a topic's partitions to `total`."""
        logs = self.topics[name].logs
        logs += [MemoryLog() for _ in range(total - len(logs))]

    def told(self, leader_epoch: int | None) -> int | None:
        """A leader epoch as clients hear of it."""
        return leader_epoch if self.knows_epochs else None

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

    def cluster(self) -> str:
        """The id of the cluster."""
        self._cluster.on_request("cluster")
        return self._cluster.id

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        """The end of each partition."""
        self._cluster.on_request("latest")
        return {each: self._cluster.log(each).latest for each in partitions}

    def ends(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """The end of each partition, with the epoch of its leader."""
        self._cluster.on_request("latest")
        logs = {each: self._cluster.log(each) for each in partitions}
        return {each: Position(log.latest, self._cluster.told(log.leader_epoch)) for each, log in logs.items()}

    def divergences(self, positions: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int | None]:
        """Where logs no longer hold what was before a position: the first offset that is another one's now."""
        self._cluster.on_request("divergences")
        found: dict[SourcePartition, int | None] = {}
        for each, position in positions.items():
            log, epoch = self._cluster.log(each), position.leader_epoch
            held = [] if epoch is None else [at for at in range(position.offset + 1) if log.holds(at, epoch)]
            if position.offset not in held:
                found[each] = next((at for at in held[-1:] if at >= log.earliest), None)
        return found

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
