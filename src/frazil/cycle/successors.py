"""Partitions that follow others which were to begin at a time: they begin there, too. Pure rules.

A shard may be split before that time, or before the first record after it. Its children have records of before then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from frazil.model import Position, SourcePartition
from frazil.sources import kinds
from frazil.sources.base import PartitionFacts, TopicFacts
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, TopicTokens


def with_successors(tokens: Tokens, facts: Iterable[TopicFacts]) -> Tokens:
    """The tokens with a start for each partition that was never opened and follows ones that begin at a time."""
    opened: dict[SourcePartition, Channel] = {}
    for topic in facts:
        if (known := tokens.topics.get(topic.topic)) is None:
            continue
        for each in topic.partitions:
            channel = known.channels.get(each.id, Channel())
            if channel.token is None and (start := _start(each, known, tokens.source)) is not None:
                # From when on its records must be there, its parents say.
                begun = channel.set_to(start, kept_since=None)
                opened[SourcePartition(topic.topic, each.id)] = replace(begun, parents=each.parents)
    return tokens.with_channels(opened, tokens.topics) if opened else tokens


def _start(partition: PartitionFacts, known: TopicTokens, source: str) -> Position | None:
    """Where a partition begins: at the first of the times of its parents, if all of them have one."""
    starts = [known.channels[each].next_start for each in partition.parents if each in known.channels]
    times = [kinds.at(source, each) for each in starts if each is not None]
    return min(times) if times and len(times) == len(starts) else None
