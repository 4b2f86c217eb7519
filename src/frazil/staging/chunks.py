"""Records as they are read, converted and handed on to the tables that lack them, a chunk at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import PartitionId, Position, SourcePartition, StagedRange, TableName, Task
from frazil.records.convert import RecordConverter
from frazil.sources.base import RangeReader
from frazil.staging import worker
from frazil.staging.stopwatch import Stopwatch
from frazil.staging.table_writer import TableWriter

_CHUNK_RECORDS: Final = 200_000
"""Records of one chunk at most: what is kept beside small records, and said of bad ones, is more than their bytes."""


class TableFailed(Exception):
    """Staging for one of the tables failed; the cause is why."""

    def __init__(self, table: TableName) -> None:
        super().__init__(str(table))
        self.table = table


@dataclass(slots=True)
class _Chunk:
    """Converted records that wait to be written, and the same as read."""

    tables: list[pa.Table]
    records: list[pa.Table]
    size: int = 0

    @property
    def is_full_of_records(self) -> bool:
        return bool(sum(table.num_rows for table in self.tables) >= _CHUNK_RECORDS)


class Chunks:
    """Converts batches for those tables of a task that go on at the same places, and has them written in chunks."""

    def __init__(
        self,
        task: Task,
        starts: Mapping[SourcePartition, Position],
        writers: Mapping[TableName, TableWriter],
        stopwatch: Stopwatch,
    ) -> None:
        """Leave out what lies before `starts`: the tables of `writers` have it."""
        self._task = task
        self._starts = starts
        self._writers = writers
        self._stopwatch = stopwatch
        self._converter = RecordConverter(task.conversion)
        self._chunk = _Chunk([], [])
        self._parsed: Counter[PartitionId] = Counter()

    def add(self, batch: pa.RecordBatch, reader: RangeReader) -> None:
        """Convert a batch that `reader` has read; a chunk that is full is written."""
        if self._starts:
            batch = batch.filter(reader.beyond(batch, self._starts))
            for counted in pc.value_counts(batch.column("partition")).to_pylist():
                self._parsed[counted["values"]] += counted["counts"]
        with self._stopwatch.timed("convert"):
            converted = self._converter.convert(batch, time.time_ns() // 1_000_000)
        for writer in self._writers.values():
            writer.note(converted)
        self._chunk.tables.append(converted.table)
        self._chunk.records.append(converted.records)
        self._chunk.size += batch.nbytes
        if self._chunk.size >= self._task.chunk_bytes or self._chunk.is_full_of_records:
            self._write()

    @property
    def schemas(self) -> Mapping[str, Mapping[int, str]]:
        """See `RecordConverter.schemas`."""
        return self._converter.schemas

    @property
    def new_values(self) -> Mapping[str, str]:
        """None: what goes to all tables is not routed."""
        return {}

    def finish(self, ranges: Sequence[StagedRange]) -> dict[TableName, dict[PartitionId, StagedRange]]:
        """Write what is left; how far each of the `ranges` that were read was read, by table and partition."""
        if self._chunk.tables:
            self._write()
        read = {each.partition.partition: self._own(each) for each in ranges}
        return dict.fromkeys(self._writers, read)

    def _write(self) -> None:
        # The next chunk is read while these names would still hold this one.
        table, records = pa.concat_tables(self._chunk.tables), pa.concat_tables(self._chunk.records)
        self._chunk = _Chunk([], [])
        for name, writer in self._writers.items():
            try:
                writer.write(table, records)
            except Exception as error:
                raise TableFailed(name) from error
        del table, records
        worker.collect()

    def _own(self, read: StagedRange) -> StagedRange:
        start = self._starts.get(read.partition)
        if start is None:
            return read
        parsed = self._parsed[read.partition.partition]
        covered = max(read.covered, start)
        return replace(read, start=start, covered=covered, parsed=parsed)
