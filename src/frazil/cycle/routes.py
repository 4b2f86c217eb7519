"""Which tables a source partition feeds, and what that means for where it is read: pure rules (design section 4).

A topic may feed several tables, and several topics one table. A partition is read from the least of its tables' tokens,
is covered where all of them cover it, and of a range that some of them have already each takes what it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from frazil.cycle.open_tables import OpenTable, starts_of, unclosed
from frazil.model import Position, Range, SourcePartition, TableName
from frazil.sources.base import Acknowledgement, TopicFacts

_Key = TypeVar("_Key")


def fed_by(topic: str, tables: Mapping[TableName, OpenTable]) -> dict[TableName, OpenTable]:
    """The tables that a topic feeds."""
    return {name: opened for name, opened in tables.items() if topic in opened.topics}


def least_starts(
    tables: Mapping[TableName, OpenTable], facts: Mapping[str, TopicFacts]
) -> dict[SourcePartition, Position]:
    """Where every channel goes on: the least of the places at which the tables go on that its partition feeds.

    A partition that has to wait for its parents in one of the tables waits in all: the table would miss what the others
    have of it already.
    """
    found: dict[SourcePartition, Position] = {}
    waiting: set[SourcePartition] = set()
    for opened in tables.values():
        starts = starts_of(opened, facts)
        waiting.update(each for each in unclosed(opened, facts) if each not in starts)
        for partition, start in starts.items():
            other = found.get(partition)
            found[partition] = start if other is None or start < other else other
    return {partition: start for partition, start in found.items() if partition not in waiting}


def own_starts(opened: OpenTable, ranges: Iterable[Range]) -> dict[SourcePartition, Position]:
    """Where a table goes on in those of the ranges of which it has a part already."""
    starts = {each.partition: opened.tokens.start(each.partition) for each in ranges}
    return {each.partition: starts[each.partition] for each in ranges if each.start < starts[each.partition]}


def needs(opened: OpenTable, ranges: Iterable[Range]) -> bool:
    """Whether a table lacks anything of some ranges."""
    return any(
        not opened.tokens.channel(each.partition).closed and opened.tokens.start(each.partition) < each.end
        for each in ranges
    )


def covers(tables: Iterable[OpenTable], partition: SourcePartition, end: Position) -> bool:
    """Whether all tables that a partition feeds cover it up to a place, and there is one."""
    fed = [each for each in tables if partition.topic in each.topics]
    return bool(fed) and all(
        each.tokens.channel(partition).closed
        or end.covered_by(each.tokens.start(partition), each.tokens.channel(partition).read_through)
        for each in fed
    )


def covered_by_all(
    tables: Mapping[TableName, OpenTable], topics: Iterable[str]
) -> dict[SourcePartition, Acknowledgement]:
    """What is covered of each partition of some topics, in all tables that it feeds."""
    found: dict[SourcePartition, Acknowledgement] = {}
    for topic in topics:
        fed = fed_by(topic, tables).values()
        for partition in {each for opened in fed for each in _channels(opened, topic)}:
            places = [(opened.tokens.position(partition), opened) for opened in fed]
            known = [(place, opened) for place, opened in places if place is not None]
            if known and len(known) == len(places):
                place, behind = least(known)
                found[partition] = Acknowledgement(place, behind.uuid, behind.tokens.commit)
    return found


def least(places: list[tuple[Position, _Key]]) -> tuple[Position, _Key]:
    """The first of the places, with what it is of."""
    first = places[0]
    for each in places[1:]:
        if each[0] < first[0]:
            first = each
    return first


def _channels(opened: OpenTable, topic: str) -> list[SourcePartition]:
    known = opened.tokens.topics.get(topic)
    return [] if known is None else [SourcePartition(topic, each) for each in known.channels]
