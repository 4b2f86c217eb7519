"""Tables a connector owns, and where its channels stand in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from frazil.cycle.offset_metadata import OffsetMetadata
from frazil.model import SourcePartition
from frazil.sources.base import GroupOffset, TopicFacts
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

    since: int = 0
    """The sequence number of the snapshot that opened it."""


def starts_of(opened: OpenTable, facts: Mapping[str, TopicFacts]) -> dict[SourcePartition, int]:
    """The first offset not covered, for every channel of a table; partitions new to an opened topic start at 0."""
    starts = {}
    for topic in opened.topics & facts.keys():
        for number in range(facts[topic].partitions):
            partition = SourcePartition(topic, number)
            token = opened.tokens.channel(partition).token
            starts[partition] = 0 if token is None else int(token) + 1
    return starts


def positions_of(tables: Iterable[OpenTable], connector: str) -> dict[SourcePartition, GroupOffset]:
    """What to publish for every channel of the tables that was ever opened; `connector` is the connector's key."""
    positions = {}
    for opened in tables:
        mark = str(OffsetMetadata(connector, opened.uuid, opened.tokens.commit))
        for topic in opened.topics & opened.tokens.topics.keys():
            for number, channel in enumerate(opened.tokens.topics[topic].channels):
                if channel.token is not None:
                    positions[SourcePartition(topic, number)] = GroupOffset(int(channel.token) + 1, mark)
    return positions
