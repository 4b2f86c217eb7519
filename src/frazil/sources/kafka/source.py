"""The driver's side of Kafka: topics, positions, starting points and the published group offset."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec

from frazil.errors import BrokerUnavailable, NoStartingOffset
from frazil.model import Position, Range, ReaderSpec, SourcePartition, StagedRange
from frazil.sources import kinds
from frazil.sources.base import Acknowledgement, Held, PartitionFacts, Rest, TopicFacts
from frazil.sources.kafka import reaching
from frazil.sources.kafka.admin_client import BrokerAdmin
from frazil.sources.kafka.dead_letters import DeadLetterTopic
from frazil.sources.kafka.divergence import Prober, divergences
from frazil.sources.kafka.faults import QUIET, translate
from frazil.sources.kafka.initial_offsets import GroupOffset, StartPolicy, resolve_starts
from frazil.sources.kafka.leader_epochs import LeaderEpochs
from frazil.sources.kafka.leaders import Leaders
from frazil.sources.kafka.offset_metadata import OffsetMetadata
from frazil.sources.kafka.positions import KafkaPosition, of_kafka
from frazil.sources.kafka.sample import average_sizes
from frazil.sources.kafka.truncation import TruncationWatch

if TYPE_CHECKING:
    # Commands that only look at a source need not wait for all there is to configure.
    from frazil.config import ConnectorSettings
    from frazil.config.kafka import KafkaSettings

_POLL = 0.2
"""Seconds one call waits for records."""

_LISTEN = 0.005
"""Seconds one call listens for what becomes of something; it does not return any sooner."""

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id of clusters that have none: sixteen zero bytes."""

_OBSERVERS = "frazil-channels"
"""A group that is never joined and commits nothing."""

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
        policy: StartPolicy | None = None,
        dead_letters: DeadLetterTopic | None = None,
    ) -> None:
        """Read topics with the keys of librdkafka in `client`.

        Args:
            client: the configuration, in librdkafka's own keys.
            group: the consumer group whose offsets are published.
            topics: the topics, if they are named.
            topics_regex: what their names match, if they are not.
            reset: where partitions start without an offset, as `auto.offset.reset` says.
            isolation: what a reader sees.
            policy: whose offsets are our own; None for whoever only looks.
            dead_letters: where rejected records go, if anywhere.
        """
        self._client = dict(client)
        self._group = group
        self._dead_letters = dead_letters
        self._policy = policy or StartPolicy("", "", group, str(client["bootstrap.servers"]))
        self._truncations = TruncationWatch(self._diverged)
        self._topics = tuple(topics)
        self._pattern = re.compile(topics_regex) if topics_regex else None
        self._reset = reset
        self._isolation = isolation
        self._brokers = str(client["bootstrap.servers"])
        self._admin = BrokerAdmin(_without_consumer_keys(self._client), isolation)
        ours = {"group.id": group, "enable.auto.commit": False, "on_commit": self._note_published}
        self._consumer = Consumer({**QUIET, **self._client, **ours})
        self._leaders = Leaders(self._consumer)
        self._epochs = LeaderEpochs()
        self._published: list[tuple[KafkaError | None, list[TopicPartition]]] = []
        """What became of offsets that were published."""

        self._reading = threading.Lock()
        self._warned: set[str] = set()

    kind: Final = kinds.KAFKA

    def discover(self) -> Mapping[str, TopicFacts]:
        found = self.facts(self._matching() if self._pattern else self._topics)
        self._epochs.know({name: topic.id for name, topic in found.items()})
        return found

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        if not topics:
            return {}
        cluster = self.cluster()
        admin, wanted = self._admin.admin, TopicCollection(list(topics))
        futures = self._admin.ask(
            "describe topics", lambda: admin.describe_topics(wanted, request_timeout=self._admin.patience)
        )
        found = {}
        for topic, description in self._admin.answers("give a description", futures):
            partitions = _numbered(len(description.partitions))
            identity = self._identity(topic, description)
            found[topic] = TopicFacts(topic, cluster, identity, partitions, keeps_partitions=True)
        return found

    def cluster(self) -> str:
        asked = self._admin.admin.describe_cluster(request_timeout=self._admin.patience)
        return self._admin.answer("describe the cluster", asked).cluster_id or ""

    def ends(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, KafkaPosition]:
        return self._epochs.newest(self._admin.positions(partitions, OffsetSpec.latest()))

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, KafkaPosition]:
        return self._admin.positions(partitions, OffsetSpec.earliest())

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, KafkaPosition]:
        return self.ends(partitions)

    def at_time(self, partitions: Collection[SourcePartition], moment: int) -> Mapping[SourcePartition, KafkaPosition]:
        found = self._admin.positions(partitions, OffsetSpec.for_timestamp(moment))
        older = [partition for partition, position in found.items() if position.offset < 0]
        return {**found, **self.ends(older)}

    def resolve_starts(
        self, topics: Sequence[TopicFacts], table: str, *, gone: bool
    ) -> Mapping[SourcePartition, KafkaPosition]:
        return resolve_starts(self._policy, self, topics, table, gone=gone)

    def initial(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, KafkaPosition]:
        """Where a channel begins that has neither a token nor a group offset: what `auto.offset.reset` says.

        Raises:
            NoStartingOffset: it says `none`.
        """
        if partitions and self._reset == "none":
            raise NoStartingOffset(self._group, str(min(partitions)))
        return self.ends(partitions) if self._reset == "latest" else self.earliest(partitions)

    def look_for_truncation(
        self, starts: Mapping[SourcePartition, Position], ends: Mapping[SourcePartition, Position]
    ) -> Mapping[SourcePartition, KafkaPosition | None]:
        return self._truncations.look(of_kafka(starts), of_kafka(ends))

    def diverged(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, KafkaPosition | None]:
        return self._diverged(of_kafka(starts))

    def group_offsets(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, GroupOffset]:
        """Where the consumer group stands, and what was written beside it; partitions without an offset are absent."""
        if not partitions:
            return {}
        asked = [TopicPartition(each.topic, each.partition) for each in partitions]
        answers = self._admin.ask(
            "give the group's offsets", lambda: self._consumer.committed(asked, timeout=self._admin.patience)
        )
        return {
            SourcePartition(each.topic, each.partition): GroupOffset(each.offset, each.metadata or "")
            for each in answers
            if each.offset >= 0
        }

    def oldest_timestamps(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        waiting = {(each.topic, each.partition): each for each in starts}
        found: dict[SourcePartition, int] = {}
        deadline = time.monotonic() + self._admin.patience / 3
        with self._reading:
            self._leaders.find(each.topic for each in starts)
            assigned = [
                TopicPartition(each.topic, each.partition, start.offset) for each, start in of_kafka(starts).items()
            ]
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

    def staged(self, ranges: Iterable[StagedRange]) -> None:
        pass  # the brokers say all there is to know

    def resting(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, Rest]:  # noqa: ARG002
        return {}

    def require_answers(self) -> None:
        """A range that gives nothing has failed already."""

    def held(self) -> Mapping[SourcePartition, Held]:
        return self._epochs.held()

    def read_through(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:  # noqa: ARG002
        return {}

    def have_last(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, bool]:  # noqa: ARG002
        """Not known: offsets tell what is gone."""
        return {}

    def average_sizes(self, ranges: Collection[Range]) -> Mapping[str, float]:
        with self._reading:
            self._leaders.find(each.partition.topic for each in ranges)
            return average_sizes(self._consumer, ranges)

    def acknowledge(self, covered: Mapping[SourcePartition, Acknowledgement]) -> None:
        if not covered:
            return
        places = of_kafka({each: found.position for each, found in covered.items()})
        notes = {each: OffsetMetadata(self._policy.key, found.table, found.commit) for each, found in covered.items()}
        offsets = [
            TopicPartition(each.topic, each.partition, place.offset, str(notes[each])) for each, place in places.items()
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

    def reader(self) -> ReaderSpec:
        return ReaderSpec(self.kind, {**self._client, "group.id": self._group, "isolation.level": self._isolation})

    def dead_letters(self) -> DeadLetterTopic | None:
        return self._dead_letters

    def output(self) -> None:
        """Accepted records go nowhere: whoever wants them reads the topic."""

    def close(self) -> None:
        self._consumer.close()

    def _diverged(
        self, starts: Mapping[SourcePartition, KafkaPosition]
    ) -> Mapping[SourcePartition, KafkaPosition | None]:
        # Without an epoch there is nothing to ask for.
        known = {each: found for each, found in starts.items() if found.leader_epoch is not None}
        if not known:
            return {}
        earliest, ends = self.earliest(known), self.ends(known)
        there = {each: known[each] for each in earliest.keys() & ends.keys()}
        with Prober(self.reader().client, self._admin.patience) as prober:
            return divergences(prober.holds, there, earliest, ends)

    def _note_published(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        self._published.append((error, offsets))

    def _until_published(self, offsets: Sequence[TopicPartition], action: str) -> KafkaError | None:
        """Wait for what becomes of `offsets`: what kept one of them from being published, if anything did."""
        wanted = {(each.topic, each.partition, each.offset) for each in offsets}
        deadline = time.monotonic() + self._admin.patience
        while time.monotonic() < deadline:
            self._consumer.poll(_LISTEN)
            for error, answered in self._published:
                # The answer to an earlier publication may come late.
                if {(each.topic, each.partition, each.offset) for each in answered} == wanted:
                    return error or next((each.error for each in answered if each.error), None)
        raise BrokerUnavailable(self._brokers, action, f"no answer within {self._admin.patience:.0f} s")

    def _matching(self) -> list[str]:
        metadata = self._admin.ask("list topics", lambda: self._admin.admin.list_topics(timeout=self._admin.patience))
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
                "the cluster gives this topic no id: making it again under its name would pass unnoticed", topic=topic
            )
        return ""


def open_source(settings: ConnectorSettings, own: KafkaSettings) -> KafkaSource:
    """The topics of a connector."""
    policy = StartPolicy(
        settings.key,
        settings.name,
        own.group_id,
        own.bootstrap_servers,
        settings.on_table_missing,
        settings.on_table_replaced,
    )
    dead_letters = own.dead_letter_topic and DeadLetterTopic(
        _without_consumer_keys(own.client),
        own.dead_letter_topic,
        own.dead_letter_replication,
        context=own.dead_letter_headers,
    )
    return KafkaSource(
        own.client,
        own.group_id,
        own.topics,
        own.topics_regex,
        own.auto_offset_reset,
        own.isolation_level,
        policy,
        dead_letters or None,
    )


def require_reachable(client: Mapping[str, str], patience: float) -> None:
    """Raise unless a broker answers; see `frazil.sources.kinds.require_reachable`."""
    reaching.require_reachable(_without_consumer_keys(client), patience)


def observe(client: Mapping[str, str], topics: Collection[str]) -> KafkaSource:
    """Topics for whoever only looks."""
    committed: Literal["read_committed"] = "read_committed"
    isolation = committed if client.get("isolation.level") == committed else "read_uncommitted"
    return KafkaSource(client, _OBSERVERS, topics, None, "earliest", isolation)


@lru_cache(maxsize=256)
def _numbered(count: int) -> tuple[PartitionFacts, ...]:
    """A topic's partitions: they are numbered from 0, and never end."""
    return tuple(PartitionFacts(number) for number in range(count))


_CONSUMER_ONLY = re.compile(
    r"fetch\.|queued\.|isolation\.level|enable\.partition\.eof|auto\.offset|check\.crcs|group\.|max\.partition"
)


def _without_consumer_keys(client: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in client.items() if not _CONSUMER_ONLY.match(key)}
