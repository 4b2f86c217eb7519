"""A cluster in memory, of Kafka's kind or of one with shards and sequence numbers, and what one connector sees of it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.memory.sequences import positions as sequences

from frazil.errors import BrokerUnavailable, NoStartingOffset
from frazil.model import PartitionId, Position, Range, ReaderSpec, RecordOffset, SourcePartition, StagedRange
from frazil.sources import kinds
from frazil.sources.base import Acknowledgement, Held, PartitionFacts, Rest, TopicFacts
from frazil.sources.kafka.initial_offsets import GroupOffset, StartPolicy, resolve_starts
from frazil.sources.kafka.leader_epochs import LeaderEpochs
from frazil.sources.kafka.offset_metadata import OffsetMetadata
from frazil.sources.kafka.positions import KafkaPosition, of_kafka
from frazil.sources.kafka.truncation import TruncationWatch

SEQUENCES = "memory-sequences"
kinds.register(SEQUENCES, "tests.memory.sequences")


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

    parents: tuple[PartitionId, ...] = ()
    """The partitions whose records come before all of its own."""

    closed: bool = False
    """Whether it gets no more records."""

    vanished: bool = False
    """Whether nobody can find it any more."""

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

    def __init__(self, kind: str = kinds.KAFKA) -> None:
        """Be a cluster of that kind: `kafka`, or `SEQUENCES`."""
        self.kind = kind
        self.id = str(uuid.uuid4())
        self.topics: dict[str, MemoryTopic] = {}
        self.groups: dict[str, dict[SourcePartition, GroupOffset]] = {}
        """The offsets each consumer group has published."""

        self.knows_epochs = True
        """Whether it tells leader epochs; old clusters do not."""

        self.former: dict[SourcePartition, Position] = {}
        """Ends that former leaders give of their logs, in place of the present ones."""

        self.resting: dict[SourcePartition, Rest] = {}
        """Partitions that are better not read just now."""

        self.moment: int | None = None
        """What time it is there, in ms since the epoch, for whoever reads to the end; None: it does not tell."""

        self.retention: int | None = None
        """How long it keeps records, in ms."""

        self.created: int | None = None
        """When its topics were made, in ms since the epoch."""

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

    def split(self, partition: SourcePartition) -> list[SourcePartition]:
        """Close a partition, and go on in two others."""
        return self._succeed([partition], 2)

    def merge(self, one: SourcePartition, other: SourcePartition) -> list[SourcePartition]:
        """Close two partitions, and go on in one."""
        return self._succeed([one, other], 1)

    def end(self, partition: SourcePartition) -> None:
        """Close a partition that nothing follows."""
        self.log(partition).closed = True

    def vanish(self, partition: SourcePartition) -> None:
        """Have a partition expire: nobody finds it any more."""
        self.log(partition).vanished = True

    def partitions(self, topic: str) -> list[SourcePartition]:
        """The partitions of a topic."""
        return [SourcePartition(topic, self._id(number)) for number in range(len(self.topics[topic].logs))]

    def told(self, leader_epoch: int | None) -> int | None:
        """A leader epoch as clients hear of it."""
        return leader_epoch if self.knows_epochs and self.kind == kinds.KAFKA else None

    def log(self, partition: SourcePartition) -> MemoryLog:
        """One partition.

        Raises:
            BrokerUnavailable: there is none.
        """
        topic, number = self.topics.get(partition.topic), _number(partition.partition)
        if topic is None or number >= len(topic.logs) or topic.logs[number].vanished:
            raise BrokerUnavailable("memory", f"find {partition}", "it does not exist")
        return topic.logs[number]

    def position(self, offset: int, leader_epoch: int | None = None) -> Position:
        """The position before the record at an offset."""
        if self.kind == kinds.KAFKA:
            return KafkaPosition(offset, self.told(leader_epoch))
        return sequences.position(offset)

    def end_of(self, log: MemoryLog) -> Position:
        """Where a log ends now."""
        if log.closed:
            return sequences.END
        return self.position(log.latest, log.leader_epoch)

    def offset(self, position: Position, log: MemoryLog) -> int:
        """The first offset of a log behind a position."""
        if isinstance(position, KafkaPosition):
            return position.offset
        assert isinstance(position, sequences.SequencePosition)
        return log.latest if position == sequences.END else sequences.offset_after(position)

    def record_offset(self, offset: int) -> RecordOffset:
        """What clients call the record at an offset."""
        return offset if self.kind == kinds.KAFKA else sequences.sequence(offset)

    def facts(self, name: str) -> TopicFacts:
        """What there is to say of a topic."""
        topic = self.topics[name]
        partitions = [
            PartitionFacts(self._id(number), log.parents, log.closed)
            for number, log in enumerate(topic.logs)
            if not log.vanished
        ]
        keeps = self.kind == kinds.KAFKA
        return TopicFacts(name, self.id, topic.id, partitions, self.moment, self.retention, self.created, keeps)

    def _id(self, number: int) -> PartitionId:
        return number if self.kind == kinds.KAFKA else f"shard-{number:03d}"

    def _succeed(self, parents: list[SourcePartition], children: int) -> list[SourcePartition]:
        topic = parents[0].topic
        for each in parents:
            self.end(each)
        ids = tuple(each.partition for each in parents)
        before = len(self.topics[topic].logs)
        self.topics[topic].logs.extend(MemoryLog(parents=ids) for _ in range(children))
        return self.partitions(topic)[before:]


class MemorySource:
    """The topics of one connector; see `frazil.sources.base.Source`."""

    def __init__(
        self,
        cluster: MemoryCluster,
        policy: StartPolicy,
        topics: Collection[str] = (),
        topics_regex: str | None = None,
        reset: Literal["earliest", "latest", "none"] = "earliest",
    ) -> None:
        self._cluster = cluster
        self._policy = policy
        self._topics = tuple(topics)
        self._pattern = re.compile(topics_regex) if topics_regex else None
        self._reset = reset
        self._truncations = TruncationWatch(self._diverged)
        self._epochs = LeaderEpochs()

    @property
    def kind(self) -> str:
        """What kind of source it is."""
        return self._cluster.kind

    def discover(self) -> Mapping[str, TopicFacts]:
        """The topics the connector reads that exist now, by name."""
        self._cluster.on_request("discover")
        matching = [name for name in sorted(self._cluster.topics) if self._pattern and self._pattern.fullmatch(name)]
        found = self._facts(self._topics if self._pattern is None else matching)
        self._epochs.know({name: topic.id for name, topic in found.items()})
        return found

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        """What there is to say of `topics` now; those that do not exist are absent."""
        self._cluster.on_request("facts")
        return self._facts(topics)

    def cluster(self) -> str:
        """The id of the cluster."""
        self._cluster.on_request("cluster")
        return self._cluster.id

    def ends(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """The end of each partition, with the epoch of its leader."""
        self._cluster.on_request("latest")
        found = {each: self._cluster.end_of(self._cluster.log(each)) for each in partitions}
        if self.kind != kinds.KAFKA:
            return found
        return self._epochs.newest(of_kafka({each: self._cluster.former.get(each, end) for each, end in found.items()}))

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """The first offset each partition still holds."""
        self._cluster.on_request("earliest")
        return {each: self._cluster.position(self._cluster.log(each).earliest) for each in partitions}

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """The end of each partition."""
        return self.ends(partitions)

    def at_time(self, partitions: Collection[SourcePartition], moment: int) -> Mapping[SourcePartition, Position]:
        """The first record of that time."""
        found = {}
        for each in partitions:
            log = self._cluster.log(each)
            later = [offset for offset, record in log.records.items() if record.timestamp >= moment]
            found[each] = self._cluster.position(min(later, default=log.latest))
        return found

    def resolve_starts(
        self, topics: Sequence[TopicFacts], table: str, *, gone: bool
    ) -> Mapping[SourcePartition, Position]:
        """Where channels without a token start; a kind without consumer groups knows nothing of what was landed."""
        if self.kind == kinds.KAFKA:
            return resolve_starts(self._policy, self, topics, table, gone=gone)
        return self.initial([each for facts in topics for each in facts.source_partitions()])

    def group_offsets(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, GroupOffset]:
        """Where the group stands."""
        self._cluster.on_request("group_offsets")
        published = self._cluster.groups.get(self._policy.group, {})
        return {each: published[each] for each in partitions if each in published}

    def look_for_truncation(
        self, starts: Mapping[SourcePartition, Position], ends: Mapping[SourcePartition, Position]
    ) -> Mapping[SourcePartition, Position | None]:
        """As Kafka's; other kinds never lose the end of a log."""
        return self._truncations.look(of_kafka(starts), of_kafka(ends)) if self.kind == kinds.KAFKA else {}

    def diverged(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, Position | None]:
        """As Kafka's; other kinds never lose the end of a log."""
        return self._diverged(of_kafka(starts)) if self.kind == kinds.KAFKA else {}

    def oldest_timestamps(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        """When the first record at or after each start was produced, where there is one."""
        self._cluster.on_request("oldest_timestamps")
        ends = {each: self._cluster.end_of(self._cluster.log(each)) for each in starts}
        waiting = {each: self._waiting(Range(each, start, ends[each])) for each, start in starts.items()}
        return {each: records[0].timestamp for each, records in waiting.items() if records}

    def staged(self, ranges: Iterable[StagedRange]) -> None:
        """The cluster knows all there is to know."""

    def resting(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, Rest]:
        """Those that a test holds."""
        return {each: self._cluster.resting[each] for each in starts if each in self._cluster.resting}

    def require_answers(self) -> None:
        """Whoever got none has failed already."""

    def held(self) -> Mapping[SourcePartition, Held]:
        """Those whose ends come from former leaders."""
        return self._epochs.held()

    def read_through(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        """What a test says of those that are read to their ends."""
        if self._cluster.moment is None:
            return {}
        ends = {each: self._cluster.end_of(self._cluster.log(each)) for each in starts}
        return {each: self._cluster.moment for each, start in starts.items() if ends[each] == start}

    def have_last(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, bool]:
        """Whether the record before each start is there."""
        logs = {each: self._cluster.log(each) for each in starts}
        return {each: self._cluster.offset(start, logs[each]) > logs[each].earliest for each, start in starts.items()}

    def average_sizes(self, ranges: Collection[Range]) -> Mapping[str, float]:
        """Average bytes per record, by topic."""
        self._cluster.on_request("average_sizes")
        sizes: dict[str, list[int]] = {}
        for each in ranges:
            sizes.setdefault(each.partition.topic, []).extend(record.size for record in self._waiting(each))
        return {topic: sum(found) / len(found) for topic, found in sizes.items() if found}

    def acknowledge(self, covered: Mapping[SourcePartition, Acknowledgement]) -> None:
        """Remember the group's offsets, as Kafka has them.

        Raises:
            BrokerUnavailable: a topic does not exist; the offsets of the others are remembered.
        """
        self._cluster.on_request("publish")
        if self.kind != kinds.KAFKA:
            return
        published = {
            each: GroupOffset(
                self._cluster.offset(found.position, self._cluster.log(each)),
                str(OffsetMetadata(self._policy.key, found.table, found.commit)),
            )
            for each, found in covered.items()
            if each.topic in self._cluster.topics
        }
        self._cluster.groups.setdefault(self._policy.group, {}).update(published)
        if missing := {each.topic for each in covered} - self._cluster.topics.keys():
            raise BrokerUnavailable("memory:9092", f"publish the offsets of {', '.join(missing)}", "unknown topic")

    def reader(self) -> ReaderSpec:
        """Nothing: staging in memory knows the cluster."""
        return ReaderSpec(self.kind)

    def dead_letters(self) -> None:
        """Nowhere."""

    def output(self) -> None:
        """Nowhere."""

    def close(self) -> None:
        """Nothing is open."""

    def _facts(self, topics: Collection[str]) -> dict[str, TopicFacts]:
        return {name: self._cluster.facts(name) for name in topics if name in self._cluster.topics}

    def initial(self, partitions: Collection[SourcePartition]) -> dict[SourcePartition, Position]:
        """Where `reset` says."""
        self._cluster.on_request("initial")
        if partitions and self._reset == "none":
            raise NoStartingOffset(self._policy.group, str(min(partitions)))
        logs = {each: self._cluster.log(each) for each in partitions}
        if self._reset == "latest":
            return {each: self._cluster.end_of(log) for each, log in logs.items()}
        return {each: self._cluster.position(log.earliest) for each, log in logs.items()}

    def _diverged(
        self, starts: Mapping[SourcePartition, KafkaPosition]
    ) -> Mapping[SourcePartition, KafkaPosition | None]:
        known = {each: found for each, found in starts.items() if found.leader_epoch is not None}
        if not known:
            return {}
        self._cluster.on_request("divergences")
        parted: dict[SourcePartition, KafkaPosition | None] = {}
        for each, position in known.items():
            log, epoch = self._cluster.log(each), position.leader_epoch
            held = [] if epoch is None else [at for at in range(position.offset + 1) if log.holds(at, epoch)]
            if position.offset not in held:
                at = next((at for at in held[-1:] if at >= log.earliest), None)
                parted[each] = None if at is None else KafkaPosition(at, epoch)
        return parted

    def _waiting(self, wanted: Range) -> list[MemoryRecord]:
        log = self._cluster.log(wanted.partition)
        bounds = range(self._cluster.offset(wanted.start, log), self._cluster.offset(wanted.end, log))
        return [log.records[offset] for offset in bounds if offset in log.records]


def _number(partition: PartitionId) -> int:
    return partition if isinstance(partition, int) else int(partition.removeprefix("shard-"))
