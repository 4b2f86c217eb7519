"""From what was pulled of a shard to a batch: aggregated records become their user records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from frazil.records import batches
from frazil.sources.kinesis.aggregation import split
from frazil.sources.kinesis.positions import KinesisPosition, after
from frazil.sources.kinesis.shard_reading import RawRecord

SCHEMA = batches.schema(partition=pa.string(), offset=pa.string())
"""What the records of shards are in batches."""

_BESIDES: Final = 200
"""Bytes that a row takes besides its value and its key, about: its offset, most of all."""

_Row = tuple[str, int, bytes, str | None]
"""Offset, time of arrival, value and partition key."""


def unpacked(
    records: Sequence[RawRecord],
    start: KinesisPosition,
    end: KinesisPosition,
    hash_keys: Callable[[], tuple[int, int]],
) -> Iterator[_Row]:
    """Yield the records between two positions, aggregated ones taken apart.

    An aggregated record with a user record whose hash key is not the shard's was put there by a producer that did not
    know of a split or merge yet, and sends it again: it is left out, as Amazon's client libraries do.

    Args:
        records: those of one shard, in its order.
        start: where the range begins.
        end: where it ends.
        hash_keys: gives the lowest and the highest hash key of the shard; asked only where something is aggregated.
    """
    for each in records:
        parts = split(each.data)
        if parts is None:
            yield each.sequence, each.arrival, each.data, each.key
        elif parts.belongs(*hash_keys()):
            number = int(each.sequence)
            for sub, part in enumerate(parts):
                if start < after(number, sub) and not end < after(number, sub):
                    yield f"{each.sequence}:{sub}", each.arrival, part.data, part.partition_key


def batch(topic: str, shard: str, rows: Sequence[_Row]) -> pa.RecordBatch:
    """The rows of one shard as a batch."""
    offsets, arrivals, values, keys = zip(*rows, strict=True)
    count = len(rows)
    columns = [
        batches.topics(topic, count),
        pa.repeat(pa.scalar(shard, pa.string()), count),
        pa.array(offsets, pa.string()),
        pa.array(arrivals, pa.int64()),
        pa.repeat(pa.scalar(True), count),
        pa.array([None if key is None else key.encode(errors="surrogatepass") for key in keys], pa.binary()),
        pa.array(values, pa.binary()),
        pa.nulls(count, SCHEMA.field("headers").type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def pieces(rows: Iterable[_Row], size: int) -> Iterator[Sequence[_Row]]:
    """The rows in pieces of about so many bytes: what was aggregated may be much, and is never there as a whole."""
    piece: list[_Row] = []
    length = 0
    for row in rows:
        piece.append(row)
        length += len(row[2]) + len(row[3] or "") + _BESIDES
        if length >= size:
            yield piece
            piece, length = [], 0
    if piece:
        yield piece
