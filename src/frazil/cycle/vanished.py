"""Partitions that their source no longer has, and what retention may have passed: pure rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from frazil.model import PartitionId, SourcePartition
from frazil.sources.base import TopicFacts
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, TopicTokens


@dataclass(frozen=True, slots=True)
class Doubt:
    """A channel behind whose token records may be gone."""

    partition: SourcePartition
    since: int | None
    """By when what had come is covered, in ms since the epoch; None where that is not known."""

    kept_since: int | None
    """What came before that time may be gone; None where the partition itself is."""

    moment: int | None
    """When that was so, in ms since the epoch; None where the source does not say."""


def doubts(tokens: Tokens, facts: Mapping[str, TopicFacts]) -> list[Doubt]:
    """The channels of a table behind whose tokens records may be gone, in their order.

    Args:
        tokens: the table's.
        facts: what the source says of the topics that feed it.
    """
    return [
        doubt
        for name, topic in facts.items()
        if (known := tokens.topics.get(name)) is not None
        for doubt in (*_vanished(topic, known), *_passed(topic, known))
    ]


def without_expired(tokens: Tokens, facts: Mapping[str, TopicFacts]) -> Tokens:
    """The tokens without channels that are closed, of partitions that are gone and that nobody waits for."""
    topics = dict(tokens.topics)
    for name, topic in facts.items():
        known = topics.get(name)
        if known is None or all(each in _ids(topic) for each in known.channels):
            continue
        awaited = {
            parent for each in topic.partitions for parent in each.parents if not _is_opened(known.channels, each.id)
        }
        kept = {
            each: channel
            for each, channel in known.channels.items()
            if not channel.closed or each in _ids(topic) or each in awaited
        }
        topics[name] = replace(known, channels=kept)
    return replace(tokens, topics=topics)


def _ids(topic: TopicFacts) -> set[PartitionId]:
    return {each.id for each in topic.partitions}


def _is_opened(channels: Mapping[PartitionId, Channel], partition: PartitionId) -> bool:
    return partition in channels and channels[partition].token is not None


def _vanished(topic: TopicFacts, known: TopicTokens) -> Iterator[Doubt]:
    there = _ids(topic)
    for each, channel in known.channels.items():
        if each not in there and not channel.closed and channel.token is not None:
            yield Doubt(SourcePartition(topic.topic, each), channel.read_through, None, topic.moment)


def _passed(topic: TopicFacts, known: TopicTokens) -> Iterator[Doubt]:
    if topic.kept_since is None:
        return
    for each in topic.partitions:
        channel = known.channels.get(each.id, Channel())
        since = _covered_by(channel, each.parents, known)
        if not channel.closed and since is not None and since < topic.kept_since:
            yield Doubt(SourcePartition(topic.topic, each.id), since, topic.kept_since, topic.moment)


def _covered_by(channel: Channel, parents: tuple[PartitionId, ...], known: TopicTokens) -> int | None:
    """By when what had come is covered; of a partition that was never read, that is for its parents to say."""
    if channel.read_through is not None:
        return channel.read_through
    said = [known.channels[parent].read_through for parent in parents if parent in known.channels]
    return max((each for each in said if each is not None), default=None)
