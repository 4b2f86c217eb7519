"""Where a channel starts that has no token.

1. The consumer group has an offset that somebody else published, also another connector: there. A migration.
2. It has one of our own: then a table had the records before it, and this one has not. `frazil.on.table.missing` and
   `frazil.on.table.replaced` decide: stop, go on there, or begin again at the first record there is.
3. It has none: where `auto.offset.reset` says, unless the topic is known to have been read (2); then its partition is
   new and starts at its first record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import structlog

from frazil.errors import BrokerUnavailable, TokensMissing
from frazil.model import Position, SourcePartition
from frazil.sources.base import TopicFacts
from frazil.sources.kafka.offset_metadata import OffsetMetadata
from frazil.sources.kafka.positions import KafkaPosition, of_kafka

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """An offset that was published for a consumer group."""

    offset: int
    """The first one not covered."""

    metadata: str = ""
    """What whoever published it wrote beside it."""


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """Whose offsets are our own, and what they mean where the table lacks what they say was landed."""

    key: str
    """The connector's key."""

    name: str
    """The connector's name."""

    group: str
    """The consumer group."""

    brokers: str
    on_missing: Literal["fail", "continue", "earliest"] = "fail"
    """What `frazil.on.table.missing` says."""

    on_replaced: Literal["fail", "continue", "earliest"] = "fail"
    """What `frazil.on.table.replaced` says."""


class Group(Protocol):
    """What knows where a consumer group stands, and where logs begin."""

    def group_offsets(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, GroupOffset]:
        """Where the group stands, and what was written beside it; partitions without an offset are absent."""

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """The first offset each partition still holds."""

    def initial(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """Where a channel begins that has neither a token nor a group offset: what `auto.offset.reset` says.

        Raises:
            NoStartingOffset: it says `none`.
        """


def resolve_starts(
    policy: StartPolicy, source: Group, topics: Sequence[TopicFacts], table: str, *, gone: bool
) -> dict[SourcePartition, KafkaPosition]:
    """Where the partitions of topics start that have no token in a table; see `frazil.sources.base.Source`."""
    partitions = [each for facts in topics for each in facts.source_partitions()]
    if not partitions:
        return {}
    published = source.group_offsets(partitions)
    ours = _ours(policy, published)
    choice = policy.on_missing if gone else policy.on_replaced
    if ours:
        _decide(policy, table, choice, published, ours, gone=gone)
    read = {partition.topic for partition in ours}
    again = [each for each in partitions if each.topic in read and (choice == "earliest" or each not in published)]
    unknown = [each for each in partitions if each.topic not in read and each not in published]
    found = {
        **{partition: KafkaPosition(group.offset) for partition, group in published.items()},
        **of_kafka(source.earliest(again)),
        **of_kafka(source.initial(unknown)),
    }
    if missing := next((each for each in partitions if each not in found), None):
        raise BrokerUnavailable(policy.brokers, f"give the offsets of {missing}", "it is gone")
    # Whether the log still holds what is before the start is no question where nothing was read.
    return {each: KafkaPosition(position.offset) for each, position in found.items()}


def _ours(
    policy: StartPolicy, published: Mapping[SourcePartition, GroupOffset]
) -> dict[SourcePartition, OffsetMetadata]:
    notes = {partition: OffsetMetadata.read(group.metadata) for partition, group in published.items()}
    return {each: note for each, note in notes.items() if note and note.connector == policy.key}


def _decide(
    policy: StartPolicy,
    table: str,
    choice: str,
    published: Mapping[SourcePartition, GroupOffset],
    ours: Mapping[SourcePartition, OffsetMetadata],
    *,
    gone: bool,
) -> None:
    offsets = {str(partition): published[partition].offset for partition in sorted(ours)}
    if choice == "fail":
        tables = sorted({note.table for note in ours.values()})
        raise TokensMissing(table, policy.name, policy.group, offsets, tables, gone=gone)
    _log.warning(
        "the table lacks records that were landed before; the connector "
        + ("goes on after them" if choice == "continue" else "reads them again, as far as there are any"),
        connector=policy.name,
        table=table,
        topics=sorted({partition.topic for partition in ours}),
    )
