"""Records as they are read, converted once, and handed on each to the table that its value leads to."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import FrazilError
from frazil.model import PartitionId, Position, Route, SourcePartition, StagedRange, TableName, TableTask, Task
from frazil.records.convert import VALUE, Converted, RecordConverter
from frazil.records.rejects import rejects_of
from frazil.routing.router import Router, Split
from frazil.sources.base import RangeReader
from frazil.staging import worker
from frazil.staging.chunks import TableFailed
from frazil.staging.stopwatch import Stopwatch
from frazil.staging.table_writer import TableWriter

_HELD_CHUNKS: Final = 2
"""Chunks' worth of records that wait for more of their tables; beyond them the table with the most is written."""


@dataclass(slots=True)
class _Waiting:
    """Converted records of one table, and the same as read."""

    tables: list[pa.Table] = field(default_factory=list)
    records: list[pa.Table] = field(default_factory=list)
    size: int = 0


class RoutedChunks:
    """Converts batches, and has the records of each table of a routed topic written in chunks."""

    def __init__(
        self, task: Task, route: Route, writers: Mapping[TableName, TableWriter], stopwatch: Stopwatch
    ) -> None:
        """Write with `writers`, which are asked for as soon as there is something for their table."""
        self._task = task
        self._own = route.own
        self._route = route
        self._same: dict[tuple[str, str], bool] = {}
        self._parts = {part.shape.table: part for part in task.tables}
        self._starts = {name: _starts(task, part) for name, part in self._parts.items()}
        self._writers = writers
        self._stopwatch = stopwatch
        self._converter = RecordConverter(task.conversion)
        self._router = Router(route)
        self._waiting: dict[TableName, _Waiting] = {}
        self._parsed: Counter[tuple[TableName, PartitionId]] = Counter()

    @property
    def schemas(self) -> Mapping[str, Mapping[int, str]]:
        """See `RecordConverter.schemas`."""
        return self._converter.schemas

    @property
    def new_values(self) -> Mapping[str, str]:
        """The values without a table, by the names that were generated for them."""
        return self._router.new

    def add(self, batch: pa.RecordBatch, reader: RangeReader) -> None:
        """Convert a batch that `reader` has read; chunks that are full are written."""
        if self._own not in self._parts:
            self._add(batch, reader, is_new=False)
            return
        starts = self._starts[self._own]
        if not starts:
            self._add(batch, reader, is_new=True)
            return
        # What the topic's own table has is for other tables alone: no value in it is new, and no reject.
        lacks = reader.beyond(batch, starts)
        self._add(batch.filter(pc.invert(lacks)), reader, is_new=False)
        self._add(batch.filter(lacks), reader, is_new=True)

    def finish(self, ranges: Sequence[StagedRange]) -> dict[TableName, dict[PartitionId, StagedRange]]:
        """Write what is left; how far each of the `ranges` that were read was read, by table and partition."""
        for name in [*self._waiting]:
            self._write(name)
        return {name: {each.partition.partition: self._part_of(name, each) for each in ranges} for name in self._parts}

    def _add(self, batch: pa.RecordBatch, reader: RangeReader, *, is_new: bool) -> None:
        if not batch.num_rows:
            return
        with self._stopwatch.timed("convert"):
            converted = self._converter.convert(batch, time.time_ns() // 1_000_000)
            split = self._router.split(self._texts(converted), tell_new=is_new)
        others = 0
        for name, rows in split.tables.items():
            if name != self._own:
                others += len(rows)
                if name in self._parts:
                    self._take(name, converted.table.take(rows), converted.records.take(rows), reader)
        if is_new:
            writer = self._writers[self._own]
            writer.note(converted)
            self._keep_for_own(split, converted.table, converted.records)
            self._count(self._own, batch.column("partition"))
            self._discount(split, converted.records)
        self._write_the_full()

    def _texts(self, converted: Converted) -> Iterable[bytes | None]:
        """What the records are routed by."""
        naming = self._route.naming
        if naming is None:
            return converted.table.column(VALUE).cast(pa.binary()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
        before = converted.records.column("topic").to_pylist()
        pairs = zip(converted.topics.to_pylist(), before, strict=True)
        return [None if self._stays(naming, *each) else each[0].encode() for each in pairs]

    def _stays(self, naming: Callable[[str], str], topic: str, before: str) -> bool:
        """Whether a record of a topic goes to the table that it would go to under the name before."""
        if (topic, before) not in self._same:
            try:
                self._same[topic, before] = topic == before or naming(topic) == naming(before)
            except FrazilError:
                self._same[topic, before] = False
        return self._same[topic, before]

    def _take(self, name: TableName, table: pa.Table, records: pa.Table, reader: RangeReader) -> None:
        if starts := self._starts[name]:
            (batch,) = records.combine_chunks().to_batches()
            lacks = reader.beyond(batch, starts)
            table, records = table.filter(lacks), records.filter(lacks)
        if records.num_rows:
            self._count(name, records.column("partition"))
            self._keep(name, table, records)

    def _keep_for_own(self, split: Split, table: pa.Table, records: pa.Table) -> None:
        if split.rejected:
            self._writers[self._own].reject(rejects_of(records, "route", split.rejected))
        if rows := split.tables.get(self._own):
            self._keep(self._own, table.take(rows), records.take(rows))

    def _keep(self, name: TableName, table: pa.Table, records: pa.Table) -> None:
        waiting = self._waiting.setdefault(name, _Waiting())
        waiting.tables.append(table)
        waiting.records.append(records)
        waiting.size += records.nbytes

    def _count(self, name: TableName, partitions: pa.Array | pa.ChunkedArray, factor: int = 1) -> None:
        for counted in pc.value_counts(partitions).to_pylist():
            self._parsed[name, counted["values"]] += factor * counted["counts"]

    def _discount(self, split: Split, records: pa.Table) -> None:
        """Of a batch, only what goes nowhere else counts for the topic's own table."""
        elsewhere = [row for name, rows in split.tables.items() if name != self._own for row in rows]
        self._count(self._own, records.column("partition").take(pa.array(elsewhere + split.new, pa.int64())), -1)

    def _write_the_full(self) -> None:
        most = _HELD_CHUNKS * self._task.chunk_bytes
        total = sum(each.size for each in self._waiting.values())
        for name, waiting in sorted(self._waiting.items(), key=lambda each: -each[1].size):
            if total <= most and waiting.size < self._task.chunk_bytes:
                return
            total -= waiting.size
            self._write(name)

    def _write(self, name: TableName) -> None:
        waiting = self._waiting.pop(name)
        table, records = pa.concat_tables(waiting.tables), pa.concat_tables(waiting.records)
        del waiting
        try:
            self._writers[name].write(table, records)
        except Exception as error:
            raise TableFailed(name) from error
        del table, records
        worker.collect()

    def _part_of(self, name: TableName, read: StagedRange) -> StagedRange:
        start = self._starts[name].get(read.partition, read.start)
        parsed = self._parsed[name, read.partition.partition]
        return replace(read, start=start, covered=max(read.covered, start), parsed=parsed)


def _starts(task: Task, part: TableTask) -> dict[SourcePartition, Position]:
    return {each.partition: part.start(each) for each in task.ranges if each.partition in part.starts}
