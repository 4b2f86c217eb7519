"""What it means to set channels to other offsets: pure rules over the tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from frazil.cycle.identity import replaced
from frazil.errors import ResetRefused, wording_of
from frazil.model import Position, SourcePartition
from frazil.sources.base import TopicFacts
from frazil.tables.rules.tokens import Tokens, TopicTokens

_AGAIN: Final = "{} are read again; rows of them come a second time"


@dataclass(frozen=True, slots=True)
class Move:
    """One channel that goes on elsewhere."""

    partition: SourcePartition
    before: Position | None
    """Where it would have gone on; None if that was in another topic of the name."""

    after: Position
    """Where it goes on."""

    read_through: int | None = None
    """By when what had come was read, in ms since the epoch; None where that is not known."""

    @property
    def again(self) -> int | None:
        """Offsets that are read a second time; None where only the source could count them."""
        if self.before is None:
            return 0
        return self.after.distance(self.before) if self._is_counted else None

    @property
    def skipped(self) -> int | None:
        """Offsets that are never read, likewise; unknown ones of another topic are not counted."""
        if self.before is None:
            return 0
        return self.before.distance(self.after) if self._is_counted else None

    @property
    def skips(self) -> bool:
        """Whether there may be any that are never read."""
        return self.before is not None and not self.after.covered_by(self.before, self.read_through)

    @property
    def meaning(self) -> str:
        """What follows, for a person."""
        if self.before is None:
            return "another topic of this name: read from there"
        if self.after == self.before:
            return "no other offset"
        if not self._is_counted:
            return "what is before it and not read yet is skipped" if self.skips else _AGAIN.format("those behind it")
        return f"{self.skipped:,} offsets are skipped" if self.skips else _AGAIN.format(f"{self.again:,} offsets")

    @property
    def _is_counted(self) -> bool:
        """Whether offsets are numbers that follow one another."""
        return isinstance(self.after.first, int)


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
        return [each for topic in sorted(topics) if topic in facts for each in facts[topic].source_partitions()]
    words = wording_of(tokens.source)
    if only.topic not in facts or only not in facts[only.topic].source_partitions():
        raise ResetRefused(
            f"{words.service} has no {only}", f"Choose another channel, or make the {words.topic} first."
        )
    if replaced(tokens, facts[only.topic]) and len(facts[only.topic].partitions) > 1:
        raise ResetRefused(
            f"the {words.topic} {only.topic} is another one than the tokens speak of, and so are all its partitions",
            f"Reset all of its channels: frazil channels reset {tokens.name} --topic {only.topic} --to-earliest.",
        )
    return [only]


def moves(tokens: Tokens, targets: Mapping[SourcePartition, Position], facts: Mapping[str, TopicFacts]) -> list[Move]:
    """What a reset to `targets` does to each channel."""
    found = []
    for partition in sorted(targets):
        # A partition that appeared in an opened topic and was not read yet would start at its beginning.
        before = None if replaced(tokens, facts[partition.topic]) else tokens.start(partition)
        found.append(Move(partition, before, targets[partition], tokens.channel(partition).read_through))
    return found


def after(
    tokens: Tokens, done: Sequence[Move], facts: Mapping[str, TopicFacts], now: int, *, whole: bool = True
) -> Tokens:
    """The tokens after a reset. Counts stay, an error of a channel that moved does not.

    Args:
        tokens: the connector's, in one table.
        done: the channels that are reset.
        facts: what the source says of their topics.
        now: what time it is, in ms since the epoch.
        whole: whether the reset is about all channels of the topics; then channels of partitions that are gone go, too.
    """
    for topic in {move.partition.topic for move in done}:
        known = tokens.topics.get(topic)
        there = {each.id for each in facts[topic].partitions}
        kept = dict(known.channels) if known else {}
        if whole:
            kept = {each: channel for each, channel in kept.items() if each in there}
        if replaced(tokens, facts[topic]):
            kept = {each: channel.unopened() for each, channel in kept.items() if each in there}
        retention = known.retention if known and not replaced(tokens, facts[topic]) else facts[topic].retention
        identity = TopicTokens(facts[topic].cluster, facts[topic].id, kept, known.routes if known else {}, retention)
        tokens = replace(tokens, topics={**tokens.topics, topic: identity})
    channels = {
        move.partition: replace(
            tokens.channel(move.partition).set_to(move.after, facts[move.partition.topic].kept_since), time=now
        )
        for move in done
    }
    tokens = tokens.with_channels(channels, tokens.topics)
    error = tokens.last_error
    moved = {(move.partition.topic, move.partition.partition) for move in done}
    cleared = error is not None and (error["topic"], error["partition"]) in moved
    return replace(tokens, last_error=None if cleared else error)
