"""Partitions that their source no longer has, and what retention may have passed: pure rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from frazil.model import PartitionId, SourcePartition
from frazil.sources.base import TopicFacts
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import UNOPENED, Tokens, TopicTokens

_TO_BEGIN: Final = 60 * 60_000
"""Milliseconds in which a channel has to be read for the first time. A channel that starts at the oldest record of a
stream that is full loses records at once; a start that takes no longer than this is no loss."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A channel behind whose token records may be gone."""

    partition: SourcePartition
    since: int | None
    """All that had arrived by then is covered, in ms since the epoch; None where nothing was read."""

    kept_since: int | None
    """What arrived before then may be gone, in ms since the epoch; None where the source does not say."""

    cause: Literal["passed", "gone", "early"] = "passed"
    """Retention has passed what was read; the partition itself is gone; or its last record is, before its time."""

    @property
    def is_gone(self) -> bool:
        """Whether the partition itself is gone."""
        return self.cause == "gone"


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


def kept_since(topic: TopicFacts, known: TopicTokens) -> int | None:
    """What arrived before that time may be gone, in ms since the epoch; None where time does not say.

    A retention that was raised since the last look does not bring back what was deleted before.
    """
    if topic.kept_since is None or known.retention is None or topic.retention is None:
        return topic.kept_since
    return topic.kept_since + max(0, topic.retention - known.retention)


def with_retention(tokens: Tokens, facts: Mapping[str, TopicFacts]) -> Tokens:
    """The tokens with the retention that holds now, once what another one has deleted was looked for."""
    changed = {
        name: replace(tokens.topics[name], retention=topic.retention)
        for name, topic in facts.items()
        if name in tokens.topics and tokens.topics[name].retention != topic.retention
    }
    return replace(tokens, topics={**tokens.topics, **changed}) if changed else tokens


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
    if topic.keeps_partitions:
        return
    there = _ids(topic)
    for each, channel in known.channels.items():
        if each not in there and not channel.closed and channel.token is not None:
            yield _gone(topic, each, channel.read_through)
    # Some may have come and gone while the connector did not look. Those that follow them name them.
    unread = [each for each in topic.partitions if not _is_opened(known.channels, each.id)]
    named = {parent for child in unread for parent in child.parents}
    for each in sorted(named - there - known.channels.keys(), key=str):
        yield _gone(topic, each, None)


def _gone(topic: TopicFacts, partition: PartitionId, since: int | None) -> Doubt:
    return Doubt(SourcePartition(topic.topic, partition), since, topic.kept_since, "gone")


def _passed(topic: TopicFacts, known: TopicTokens) -> Iterator[Doubt]:
    since = kept_since(topic, known)
    if since is None or (topic.created is not None and since <= topic.created):
        return
    parents = {each.id: each.parents for each in topic.partitions}
    for each in topic.partitions:
        if known.channels.get(each.id, UNOPENED).closed:
            continue
        line = [*_line(each.id, parents, known.channels)]
        watermark = _latest(channel.read_through for channel in line)
        promised = _latest(_promised(channel) for channel in line)
        if promised is not None and promised < since:
            yield Doubt(SourcePartition(topic.topic, each.id), watermark, since)


def _line(
    partition: PartitionId, parents: Mapping[PartitionId, tuple[PartitionId, ...]], known: Mapping[PartitionId, Channel]
) -> Iterator[Channel]:
    """What is known of a partition and of all that it follows: its records are younger than the ends of those."""
    left, seen = [partition], {partition}
    while left:
        each = left.pop()
        channel = known.get(each, UNOPENED)
        yield channel
        new = {*parents.get(each, ()), *channel.parents} - seen
        seen |= new
        left += new


def _promised(channel: Channel) -> int | None:
    """From when on what arrives must not be gone before it is read; None if unknown."""
    read, kept = channel.read_through, channel.kept_since
    if kept is None or (read is not None and read >= kept):
        return read
    return kept + _TO_BEGIN


def _latest(times: Iterable[int | None]) -> int | None:
    return max((each for each in times if each is not None), default=None)
