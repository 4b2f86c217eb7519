"""What it means to set channels to other offsets: pure rules over the tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from frazil.errors import ResetRefused
from frazil.model import SourcePartition
from frazil.sources.base import TopicFacts
from frazil.tables.rules.tokens import Tokens, TopicTokens


@dataclass(frozen=True, slots=True)
class Move:
    """One channel that goes on elsewhere."""

    partition: SourcePartition
    before: int | None
    """The offset it would have read next; None if that was one of another topic of the name."""

    after: int
    """The offset it reads next."""

    @property
    def again(self) -> int:
        """Offsets that are read a second time."""
        return max(0, (self.before or 0) - self.after)

    @property
    def skipped(self) -> int:
        """Offsets that are never read; unknown ones of another topic are not counted."""
        return 0 if self.before is None else max(0, self.after - self.before)

    @property
    def meaning(self) -> str:
        """What follows, for a person."""
        if self.before is None:
            return "another topic of this name: read from there"
        if self.again:
            return f"{self.again:,} offsets are read again; rows of them come a second time"
        return f"{self.skipped:,} offsets are skipped" if self.skipped else "no other offset"


def is_another(tokens: Tokens, facts: TopicFacts) -> bool:
    """Whether the topic is not the one that the tokens speak of."""
    known = tokens.topics.get(facts.topic)
    return known is not None and (
        bool(known.cluster and facts.cluster and known.cluster != facts.cluster)
        or bool(known.id and facts.id and known.id != facts.id)
    )


def chosen(
    tokens: Tokens, facts: Mapping[str, TopicFacts], topics: Collection[str], only: SourcePartition | None
) -> list[SourcePartition]:
    """The partitions that a reset is about.

    Args:
        tokens: the connector's, in one table.
        facts: what the source says of the topics that exist.
        topics: the topics to reset.
        only: one channel of them; None for all.

    Raises:
        ResetRefused: a topic is another one now, so that one channel of it cannot be reset without the others.
    """
    if only is None:
        return [
            SourcePartition(topic, n)
            for topic in sorted(topics)
            if topic in facts
            for n in range(facts[topic].partitions)
        ]
    if only.topic not in facts or only.partition >= facts[only.topic].partitions:
        raise ResetRefused(f"the broker has no {only}", "Choose another channel, or make the topic first.")
    if is_another(tokens, facts[only.topic]) and facts[only.topic].partitions > 1:
        raise ResetRefused(
            f"the topic {only.topic} is another one than the tokens speak of, and so are all its partitions",
            f"Reset all of its channels: frazil channels reset {tokens.name} --topic {only.topic} --to-earliest.",
        )
    return [only]


def moves(tokens: Tokens, targets: Mapping[SourcePartition, int], facts: Mapping[str, TopicFacts]) -> list[Move]:
    """What a reset to `targets` does to each channel."""
    found = []
    for partition, after in sorted(targets.items()):
        token = tokens.channel(partition).token
        # A partition that appeared in an opened topic and was not read yet would start at 0.
        before = None if is_another(tokens, facts[partition.topic]) else int(token) + 1 if token is not None else 0
        found.append(Move(partition, before, after))
    return found


def after(tokens: Tokens, done: Sequence[Move], facts: Mapping[str, TopicFacts], now: int) -> Tokens:
    """The tokens after a reset; `now` in ms since the epoch. Counts stay, an error of a channel that moved does not."""
    for topic in {move.partition.topic for move in done}:
        known = tokens.topics.get(topic)
        kept = known.channels[: facts[topic].partitions] if known else ()
        if is_another(tokens, facts[topic]):
            kept = tuple(replace(channel, token=None, leader_epoch=None) for channel in kept)
        identity = TopicTokens(facts[topic].cluster, facts[topic].id, kept)
        tokens = replace(tokens, topics={**tokens.topics, topic: identity})
    channels = {
        move.partition: replace(tokens.channel(move.partition), token=str(move.after - 1), leader_epoch=None, time=now)
        for move in done
    }
    tokens = tokens.with_channels(channels, tokens.topics)
    error = tokens.last_error
    moved = {(move.partition.topic, move.partition.partition) for move in done}
    cleared = error is not None and (error["topic"], error["partition"]) in moved
    return replace(tokens, last_error=None if cleared else error)
