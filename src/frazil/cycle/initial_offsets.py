"""Step 2 of the cycle: where a channel starts that has no token.

1. The consumer group has an offset that somebody else published, also another connector: there. A migration.
2. It has one of our own: then a table had the records before it, and this one has not. `frazil.on.table.missing` and
   `frazil.on.table.replaced` decide: stop, go on there, or begin again at the first record there is.
3. It has none: where `auto.offset.reset` says, unless the topic is known to have been read (2); then its partition is
   new and starts at its first record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.offset_metadata import OffsetMetadata
from frazil.errors import BrokerUnavailable, TokensMissing
from frazil.model import SourcePartition
from frazil.sources.base import GroupOffset, Source, TopicFacts
from frazil.tables.iceberg.table import CREATED_BY
from frazil.tables.rules.state import TableState

_log = structlog.get_logger(__name__)


class InitialOffsets:
    """Decides where the channels of one connector start."""

    def __init__(self, settings: ConnectorSettings, source: Source) -> None:
        self._settings = settings
        self._source = source

    def starts(self, table: str, topics: Sequence[TopicFacts], *, gone: bool) -> dict[SourcePartition, int]:
        """The first offset to read, for every partition of topics that have no token in the table.

        Args:
            table: the table's name.
            topics: what the source says of the topics.
            gone: whether there is no such table; else it is one without our tokens.

        Raises:
            TokensMissing: the offsets are our own, and the configuration says to stop.
            NoStartingOffset: there is no offset, and `auto.offset.reset=none` forbids to choose.
        """
        partitions = [SourcePartition(facts.topic, number) for facts in topics for number in range(facts.partitions)]
        if not partitions:
            return {}
        published = self._source.group_offsets(partitions)
        ours = self._ours(published)
        choice = self._settings.on_table_missing if gone else self._settings.on_table_replaced
        if ours:
            self._decide(table, choice, published, ours, gone=gone)
        read = {partition.topic for partition in ours}
        again = [each for each in partitions if each.topic in read and (choice == "earliest" or each not in published)]
        unknown = [each for each in partitions if each.topic not in read and each not in published]
        found = {
            **{partition: group.offset for partition, group in published.items()},
            **self._source.earliest(again),
            **self._source.initial(unknown),
        }
        if missing := next((each for each in partitions if each not in found), None):
            raise BrokerUnavailable(self._settings.bootstrap_servers, f"give the offsets of {missing}", "it is gone")
        return found

    def _ours(self, published: Mapping[SourcePartition, GroupOffset]) -> dict[SourcePartition, OffsetMetadata]:
        marks = {partition: OffsetMetadata.read(group.metadata) for partition, group in published.items()}
        return {each: mark for each, mark in marks.items() if mark and mark.connector == self._settings.key}

    def _decide(
        self,
        table: str,
        choice: str,
        published: Mapping[SourcePartition, GroupOffset],
        ours: Mapping[SourcePartition, OffsetMetadata],
        *,
        gone: bool,
    ) -> None:
        offsets = {str(partition): published[partition].offset for partition in sorted(ours)}
        if choice == "fail":
            tables = sorted({mark.table for mark in ours.values()})
            raise TokensMissing(table, self._settings.name, self._settings.group_id, offsets, tables, gone=gone)
        _log.warning(
            "the table lacks records that were landed before; the connector "
            + ("goes on after them" if choice == "continue" else "reads them again, as far as there are any"),
            connector=self._settings.name,
            table=table,
            topics=sorted({partition.topic for partition in ours}),
        )


def is_fresh(state: TableState) -> bool:
    """Whether frazil made the table and nobody committed to it yet: an opening did not come to its end."""
    return state.current is None and state.property(CREATED_BY) == "true"
