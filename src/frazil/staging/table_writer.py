"""What a task stages for one table: data files, a reject file, and what it learned of new keys."""

from __future__ import annotations

import secrets
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from frazil.layout.partitions import Partition
from frazil.model import PartitionId, SchemaChange, Staged, StagedFile, StagedRange, StagedTable, TableTask, Task
from frazil.pipes.changes import together
from frazil.pipes.choice import pipe_of
from frazil.records.convert import Converted
from frazil.records.dropped import Dropped
from frazil.records.new_keys import NewKeys
from frazil.records.rejects import RejectReason, Rejects, rejects_of
from frazil.sources import kinds
from frazil.staging import worker
from frazil.staging.metrics import iceberg_metrics
from frazil.staging.output import OutputFile
from frazil.staging.project import ChunkTooLarge, Projector
from frazil.staging.rejects import RejectFile
from frazil.staging.rows import rows_for
from frazil.staging.stopwatch import Stopwatch
from frazil.staging.write import Written
from frazil.storage.storage import Storage

_TOO_LARGE: Final = "the record takes more memory than a worker has for one: it holds too many values"


class TableWriter:
    """Writes what one attempt at a task stages for one of its tables.

    Spark may run a task again while the worker that ran it first, and was given up, still writes. So the digits in
    the names of an attempt's files begin with some of its own.
    """

    def __init__(self, task: Task, part: TableTask, scratch: Path, stopwatch: Stopwatch) -> None:
        self._task = task
        self._part = part
        self._scratch = scratch
        self._stopwatch = stopwatch
        self._storage = Storage(part.data_access, synced=task.synced)
        self._digits = f"{secrets.randbelow(10**12):012d}"
        self._pipe = pipe_of(part.shape, part.pipe, task.conversion, part.column_budget, part.rules)
        self._rows = rows_for(worker.connection(), part.shape, scratch, len(task.tables))
        before = partial(kinds.before, task.reader.kind)
        topic = task.ranges[0].partition.topic
        self._projector = Projector(worker.connection(), self._pipe, topic, self._rows, before)
        self._rejects = RejectFile(scratch / f"{uuid.uuid4()}.rejects.parquet", before)
        self._output = OutputFile(scratch / f"{uuid.uuid4()}.output.parquet") if part.output_path else None
        self._output_at: str | None = None
        """Where the output file is, once it is there."""

        self._files: list[StagedFile] = []
        self._skipped: Counter[PartitionId] = Counter()
        self._drift = NewKeys(part.column_budget)
        self._change = SchemaChange()
        self._dropped = Dropped()

    @property
    def drifts(self) -> bool:
        """Whether the table changes first, and what was read is to be staged again."""
        return bool(self._drift) or self._change != SchemaChange()

    def note(self, converted: Converted) -> None:
        """Take note of the records of a batch that did not come as far as a chunk."""
        self._rejects.add(converted.rejects)
        self._skipped.update(converted.skipped)

    def reject(self, rejects: Rejects) -> None:
        """Set records aside that lead to no table."""
        self._rejects.add(rejects)

    def write(self, table: pa.Table, records: pa.Table) -> None:
        """Write a chunk of converted records, given with the same as read.

        Raises:
            StorageUnavailable, StorageRefused: the file cannot be put where it goes.
        """
        path = self._scratch / f"{uuid.uuid4()}.parquet"
        try:
            with self._stopwatch.timed("project"):
                projected = self._projector.project(table, records, path)
        except ChunkTooLarge:
            self._keep_all(self._rows.rest())
            self._write_in_pieces(table, records)
            return
        self._rejects.add(projected.rejects)
        self._skipped.update(projected.left_out)
        for key, count in projected.unknown.items():
            self._dropped.note(key, count)
        self._drift.note_all(projected.drift)
        self._change = together([self._change, projected.change])
        if self.drifts:
            if projected.written:
                projected.written.path.unlink()
            self._rows.drop()
            return
        if self._output is not None:
            with self._stopwatch.timed("project"):
                self._output.add(records, projected.gone)
        if projected.written:
            self._keep(projected.written)
        self._keep_all(self._rows.due())

    def finish(self, read: Mapping[PartitionId, StagedRange], *, restaged: bool) -> StagedTable:
        """What was staged, given how far each partition was read for the table.

        Args:
            read: what was read for the table, by partition.
            restaged: whether all of it is staged again, so that nothing of this attempt may be committed.

        Raises:
            StorageUnavailable, StorageRefused: the reject file, or that of the output, cannot be put where it goes.
        """
        self._rejects.close()
        if restaged:
            self.discard()
        else:
            self._keep_all(self._rows.rest())
            self._keep_output()
        summary = self._rejects.summary(self._named(self._part.rejects_path, 0))
        if summary and self._task.tolerance == "all" and not restaged:
            with self._stopwatch.timed("move"):
                storage = Storage(self._part.rejects_access, synced=self._task.synced)
                storage.move(self._rejects.path, summary.path)
        return StagedTable(
            shape=self._part.shape,
            ranges=tuple(self._accounted(each) for each in read.values()),
            files=tuple(self._files),
            rejects=summary,
            drift=dict(self._drift),
            change=self._change,
            dropped={} if self.drifts else dict(self._dropped),
            output=self._output_at,
        )

    def discard(self) -> None:
        """Delete the data files and the output, and forget the rows that wait."""
        for file in self._files:
            self._storage.delete(file.path)
        self._files.clear()
        self._rows.drop()
        if self._output_at is not None:
            Storage(self._part.output_access).delete(self._output_at)
            self._output_at = None

    def _write_in_pieces(self, table: pa.Table, records: pa.Table) -> None:
        """Write a chunk that was too large as two; a single record that is too large can become no row."""
        half = table.num_rows // 2
        if not half:
            self._rejects.add(rejects_of(records, "project", {0: RejectReason(_TOO_LARGE)}))
            return
        self.write(table.slice(0, half), records.slice(0, half))
        self.write(table.slice(half), records.slice(half))

    def _keep_all(self, files: Iterator[Written]) -> None:
        while True:
            with self._stopwatch.timed("project"):
                written = next(files, None)
            if written is None:
                return
            self._keep(written)

    def _keep(self, written: Written) -> None:
        location = self._named(self._data_path(written.partition), len(self._files))
        with self._stopwatch.timed("move"):
            self._storage.move(written.path, location)
        metrics = iceberg_metrics(self._pipe.columns, written.statistics)
        self._files.append(StagedFile(location, written.rows, written.size, metrics, written.partition.values))

    def _keep_output(self) -> None:
        if self._output is None or self._part.output_path is None or not self._output.close():
            return
        location = self._named(self._part.output_path, 0)
        with self._stopwatch.timed("move"):
            Storage(self._part.output_access, synced=self._task.synced).move(self._output.path, location)
        self._output_at = location

    def _data_path(self, partition: Partition) -> str:
        path, place = self._part.data_path, self._part.partitions_at
        return path if place is None else f"{path[:place]}{partition.directory}/{path[place:]}"

    def _named(self, pattern: str, number: int) -> str:
        # The last one: the directories before it are the user's, and may be called anything.
        before, _, after = pattern.rpartition("{}")
        return f"{before}{self._digits}{number:05d}{after}"

    def _accounted(self, read: StagedRange) -> StagedRange:
        number = read.partition.partition
        errors, skipped = self._rejects.counts[number], self._skipped[number]
        if errors and self._task.tolerance == "none":
            first = self._rejects.first[number].offset
            return replace(read, covered=kinds.before(self._task.reader.kind, first))
        return replace(read, inserted=read.parsed - errors - skipped, errors=errors, skipped=skipped)


def delete_files(task: Task, staged: Staged) -> None:
    """Delete the data files of a task that is staged again, and what was to be sent on."""
    for part, done in zip(task.tables, staged.tables, strict=True):
        for file in done.files:
            Storage(part.data_access).delete(file.path)
        if done.output is not None:
            Storage(part.output_access).delete(done.output)
