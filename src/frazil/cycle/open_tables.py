"""Tables a connector owns, and where its channels stand in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.model import Position, SourcePartition
from frazil.sources.base import TopicFacts
from frazil.tables.base import WritableTable
from frazil.tables.rules.tokens import Tokens


@dataclass(slots=True)
class OpenTable:
    """A table this connector owns, with the tokens it holds."""

    table: WritableTable
    uuid: str
    tokens: Tokens
    epoch: int
    """Our owner epoch on this table."""

    topics: set[str] = field(default_factory=set)
    """The topics that feed it."""

    pipes: tuple[str, ...] = ()
    """The names of the users' pipes that the table had when it was looked at last."""

    since: int = 0
    """The sequence number of the snapshot that opened it."""


def starts_of(opened: OpenTable, facts: Mapping[str, TopicFacts]) -> dict[SourcePartition, Position]:
    """Where every channel of a table goes on that is to be read; partitions new to an opened topic at their beginning.

    A partition that has ended is not read again, and one that has parents not before they have ended.
    """
    starts = {}
    for partition, parents in unclosed(opened, facts).items():
        if all(opened.tokens.channel(each).closed for each in parents):
            starts[partition] = opened.tokens.start(partition)
    return starts


def unclosed(opened: OpenTable, facts: Mapping[str, TopicFacts]) -> dict[SourcePartition, list[SourcePartition]]:
    """The partitions whose ends a table has not come to, each with those of its parents that are still there."""
    found = {}
    for topic in opened.topics & facts.keys():
        there = {each.id for each in facts[topic].partitions}
        for each in facts[topic].partitions:
            if not opened.tokens.channel(SourcePartition(topic, each.id)).closed:
                parents = [SourcePartition(topic, parent) for parent in each.parents if parent in there]
                found[SourcePartition(topic, each.id)] = parents
    return found
