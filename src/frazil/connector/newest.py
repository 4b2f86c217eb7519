"""The last records of topics, for whoever wants to see some: as many of each partition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from frazil.errors import StreamUnavailable, stage_error
from frazil.model import Position, Range, SourcePartition
from frazil.sources import kinds
from frazil.sources.base import ReadFailed, Source, TopicFacts

_MOST_BYTES: Final = 64 * 1024 * 1024
"""Of records that are read at once."""

_MINUTE: Final = 60_000
_SPANS: Final = (_MINUTE, 60 * _MINUTE, 24 * 60 * _MINUTE)
"""Milliseconds to look back, one after the other, where nobody can count records."""

_log = structlog.get_logger(__name__)


def last_records(source: Source, topics: Collection[str], count: int, address: str) -> Iterator[pa.RecordBatch]:
    """The last `count` records of each partition.

    Args:
        source: where the topics are.
        topics: the topics.
        count: how many.
        address: where the source is, for messages.

    Raises:
        BrokerUnavailable, BrokerRefused, StreamUnavailable, StreamRefused: they cannot be had.
    """
    try:
        for facts in source.facts(topics).values():
            ends = source.ends(facts.source_partitions())
            yield from _counted(source, {each: end for each, end in ends.items() if end.is_exact}, count)
            yield from _timed(
                source, facts, {each: end for each, end in ends.items() if not end.is_exact}, count, address
            )
    except ReadFailed as error:
        raise stage_error(error.failure.error, error.failure.message, address) from error


def _counted(source: Source, ends: Mapping[SourcePartition, Position], count: int) -> Iterator[pa.RecordBatch]:
    """Of partitions whose places tell how many records there are, the last ones."""
    earliest = source.earliest(ends)
    ranges = [_last(each, earliest[each], end, count) for each, end in ends.items()]
    if wanted := [each for each in ranges if each.start < each.end]:
        yield from kinds.open_reader(source.reader(), wanted, _MOST_BYTES).batches()


def _last(partition: SourcePartition, earliest: Position, end: Position, count: int) -> Range:
    skipped = max(0, earliest.distance(end) - count)
    return Range(partition, earliest.ahead(skipped, end), end)


def _timed(
    source: Source, facts: TopicFacts, ends: Mapping[SourcePartition, Position], count: int, address: str
) -> Iterator[pa.RecordBatch]:
    """Of others, the last ones of the shortest time within which so many came, or else of all that are kept."""
    left = dict(ends)
    for span in (*_SPANS, None):
        if not left:
            return
        if span is None or facts.moment is None:
            starts = source.earliest(left)
        else:
            starts = source.at_time(left, facts.moment - span)
        for partition, found in _read(source, starts, left, address).items():
            if span is None or found.num_rows >= count:
                del left[partition]
                yield from found.slice(max(0, found.num_rows - count)).to_batches()


def _read(
    source: Source, starts: Mapping[SourcePartition, Position], left: dict[SourcePartition, Position], address: str
) -> dict[SourcePartition, pa.Table]:
    """What is in partitions from their starts on; those of which nothing can be had are not `left`."""
    if not starts:
        return {}
    reader = kinds.open_reader(source.reader(), [Range(each, starts[each], left[each]) for each in starts], _MOST_BYTES)
    batches = [*reader.batches()]
    troubles = [each.trouble for each in reader.ranges if each.trouble is not None]
    if len(troubles) == len(reader.ranges):
        raise StreamUnavailable(address, "give the records", troubles[0])
    for each in reader.ranges:
        if (cause := each.held or each.trouble) is not None:
            _log.warning(
                "the records of a partition cannot be had just now", partition=str(each.partition), cause=cause
            )
            del left[each.partition]
    if not batches:
        return dict.fromkeys(left, pa.table({}))
    found = pa.Table.from_batches(batches)
    return {each: found.filter(pc.equal(found.column("partition"), each.partition)) for each in left}
