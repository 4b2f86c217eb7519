"""From what was pulled of a shard to a batch: aggregated records become their user records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from frazil.records import batches
from frazil.sources.kinesis.aggregation import belongs, split
from frazil.sources.kinesis.positions import KinesisPosition, after
from frazil.sources.kinesis.shard_reading import RawRecord

SCHEMA = batches.schema(partition=pa.string(), offset=pa.string())
"""What the records of shards are in batches."""

_Row = tuple[str, int, bytes, str | None]
"""Offset, time of arrival, value and partition key."""


def unpacked(
    records: Sequence[RawRecord],
    start: KinesisPosition,
    end: KinesisPosition,
    hash_keys: Callable[[], tuple[int, int]],
) -> list[_Row]:
    """The records between two positions, aggregated ones taken apart.

    An aggregated record with a user record whose hash key is not the shard's was put there by a producer that did not
    know of a split or merge yet, and sends it again: it is left out, as Amazon's client libraries do.

    Args:
        records: those of one shard, in its order.
        start: where the range begins.
        end: where it ends.
        hash_keys: gives the lowest and the highest hash key of the shard; asked only where something is aggregated.
    """
    found: list[_Row] = []
    for each in records:
        parts = split(each.data)
        if parts is None:
            found.append((each.sequence, each.arrival, each.data, each.key))
        elif belongs(parts, *hash_keys()):
            number = int(each.sequence)
            found += (
                (f"{each.sequence}:{sub}", each.arrival, part.data, part.partition_key)
                for sub, part in enumerate(parts)
                if start < after(number, sub) and not end < after(number, sub)
            )
    return found


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


def pieces(rows: Sequence[_Row], size: int) -> Iterator[Sequence[_Row]]:
    """The rows in pieces of about so many bytes: what was aggregated may be much."""
    begin = length = 0
    for number, row in enumerate(rows):
        length += len(row[2])
        if length >= size:
            yield rows[begin : number + 1]
            begin, length = number + 1, 0
    if begin < len(rows):
        yield rows[begin:]
