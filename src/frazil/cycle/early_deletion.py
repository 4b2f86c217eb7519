"""Records that a source deleted before their time: its retention was lowered, and raised again, between two looks.

The retention that holds now does not show that. The last record that a channel covers does: if it is younger than the
retention and the source no longer has it, the records behind it may be gone, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from frazil.cycle.open_tables import OpenTable
from frazil.cycle.vanished import Doubt, kept_since
from frazil.model import Position, SourcePartition, TableName
from frazil.sources.base import Source, TopicFacts

_UNSEEN: Final = 5 * 60_000
"""Milliseconds without a look after which the retention may have been another one meanwhile."""

_MARGIN: Final = 60_000
"""Milliseconds by which a record has to be younger than the retention: arrivals are approximate."""


class EarlyDeletion:
    """Looks for the last records of channels when a connector starts, and when it has not looked for a while."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._looked_at: dict[str, int] = {}
        """When each topic was looked at last, in ms since the epoch by the source's clock."""

        self._left: dict[tuple[TableName, str], set[SourcePartition]] = {}
        """The channels of a table, by topic, whose last records are still to be looked for."""

    def look(self, tables: Iterable[OpenTable], facts: Mapping[str, TopicFacts]) -> dict[TableName, list[Doubt]]:
        """The channels whose last record is gone although the source should have it, by table.

        Args:
            tables: the tables.
            facts: what the source says of the topics that feed them.
        """
        self._note(facts)
        wanted: dict[SourcePartition, dict[Position, list[OpenTable]]] = {}
        for opened in tables:
            for partition in self._due(opened, facts):
                wanted.setdefault(partition, {}).setdefault(opened.tokens.start(partition), []).append(opened)
        found: dict[TableName, list[Doubt]] = {}
        while wanted:
            first = {partition: min(places) for partition, places in wanted.items()}
            there = self._source.have_last(first)
            for partition, place in first.items():
                if there.get(partition) is False:
                    for opened in wanted[partition].pop(place):
                        found.setdefault(opened.table.name, []).append(_doubt(opened, partition, facts))
                elif partition in there:
                    # Where the first of the records is, those behind it are.
                    self._settle(partition, wanted.pop(partition))
                else:
                    del wanted[partition]
                if partition in wanted and not wanted[partition]:
                    del wanted[partition]
        return found

    def _note(self, facts: Mapping[str, TopicFacts]) -> None:
        for topic in facts.values():
            if topic.moment is None:
                continue
            if topic.moment - self._looked_at.get(topic.topic, topic.moment) > _UNSEEN:
                self._left = {each: left for each, left in self._left.items() if each[1] != topic.topic}
            self._looked_at[topic.topic] = topic.moment

    def _due(self, opened: OpenTable, facts: Mapping[str, TopicFacts]) -> set[SourcePartition]:
        due = set[SourcePartition]()
        for name in opened.topics & facts.keys():
            key = opened.table.name, name
            if key not in self._left:
                self._left[key] = _expected(opened, facts[name])
            due |= self._left[key]
        return due

    def _settle(self, partition: SourcePartition, places: Mapping[Position, Iterable[OpenTable]]) -> None:
        for opened in (each for tables in places.values() for each in tables):
            self._left[opened.table.name, partition.topic].discard(partition)


def _expected(opened: OpenTable, topic: TopicFacts) -> set[SourcePartition]:
    """The channels of a table whose last records are young enough to be there."""
    known = opened.tokens.topics.get(topic.topic)
    since = None if known is None else kept_since(topic, known)
    if known is None or since is None:
        return set()
    there = {each.id for each in topic.partitions}
    return {
        SourcePartition(topic.topic, each)
        for each, channel in known.channels.items()
        if each in there and not channel.closed and channel.arrived is not None and channel.arrived > since + _MARGIN
    }


def _doubt(opened: OpenTable, partition: SourcePartition, facts: Mapping[str, TopicFacts]) -> Doubt:
    watermark = opened.tokens.channel(partition).read_through
    return Doubt(partition, watermark, facts[partition.topic].kept_since, "early")
