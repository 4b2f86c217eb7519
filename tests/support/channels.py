"""Kafka's channels, positions and topics as tests write them down."""

from __future__ import annotations

from frazil.cycle.planning import Backlog
from frazil.model import Range, SourcePartition
from frazil.sources.base import PartitionFacts, TopicFacts
from frazil.sources.kafka import positions
from frazil.sources.kafka.positions import KafkaPosition
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, TopicTokens

offsets = positions.offsets


def at(offset: int, leader_epoch: int | None = None) -> KafkaPosition:
    """The position before the record at an offset."""
    return KafkaPosition(offset, leader_epoch)


def read(partition: SourcePartition, start: int, end: int, epoch: int | None = None) -> Range:
    """A range that was planned with the leader of an epoch."""
    return Range(partition, at(start, epoch), at(end, epoch))


def backlog(partition: SourcePartition, start: int, latest: int, size: float | None) -> Backlog:
    """What waits between two offsets, of records of that average size."""
    return Backlog(partition, at(start), at(latest), size)


def topic(name: str, cluster: str = "", identity: str = "", partitions: int = 1) -> TopicFacts:
    """What a broker says of a topic."""
    return TopicFacts(name, cluster, identity, tuple(PartitionFacts(number) for number in range(partitions)))


def with_channel(tokens: Tokens, partition: SourcePartition, channel: Channel, cluster: str, identity: str) -> Tokens:
    """Tokens with one channel replaced."""
    return tokens.with_channels({partition: channel}, {partition.topic: TopicTokens(cluster, identity, {})})
