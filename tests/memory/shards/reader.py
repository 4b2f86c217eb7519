"""Reads shards whose records are in a file of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import Position, Range, SourcePartition, StagedRange
from frazil.sources.kinesis.positions import bounds, of_kinesis, of_offset
from frazil.sources.kinesis.unpacking import SCHEMA


def open_reader(client: Mapping[str, str], ranges: Sequence[Range], most_bytes: int) -> ShardsReader:
    """A reader of the file that `client` names."""
    with pa.ipc.open_stream(client["file"]) as stream:
        return ShardsReader(ranges, stream.read_all())


def evict(client: Mapping[str, str]) -> None:
    """Nothing is kept."""


def write(path: Path, records: Sequence[Mapping[str, object]]) -> None:
    """Write records to a file, in their order."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, SCHEMA) as stream:
        columns = [pa.array([record.get(each.name) for record in records], each.type) for each in SCHEMA]
        stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))


class ShardsReader:
    """See `frazil.sources.base.RangeReader`."""

    def __init__(self, ranges: Sequence[Range], records: pa.Table) -> None:
        self.ranges = tuple(StagedRange(each.partition, each.start, each.start) for each in ranges)
        self._wanted = ranges
        self._records = records

    def batches(self) -> Iterator[pa.RecordBatch]:
        """A batch of each shard."""
        for index, wanted in enumerate(self._wanted):
            mine = self._records.filter(pc.equal(self._records.column("partition"), wanted.partition.partition))
            start, end = bounds(wanted)
            there = [start < of_offset(each) <= end for each in mine.column("offset").to_pylist()]
            found = mine.filter(pa.array(there, pa.bool_())).combine_chunks()
            yield from found.to_batches()
            ranges = [*self.ranges]
            ranges[index] = replace(ranges[index], covered=wanted.end, parsed=found.num_rows, bytes=found.nbytes)
            self.ranges = tuple(ranges)

    def beyond(self, batch: pa.RecordBatch, starts: Mapping[SourcePartition, Position]) -> pa.BooleanArray:
        """Which records of a batch lie behind the start of their shard."""
        known = {partition.partition: start for partition, start in of_kinesis(starts).items()}
        places = zip(batch.column("partition").to_pylist(), batch.column("offset").to_pylist(), strict=True)
        return pa.array([shard not in known or known[shard] < of_offset(offset) for shard, offset in places])
