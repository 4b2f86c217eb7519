"""Stage one task: read its ranges, and leave data files and a reject file that no snapshot knows yet."""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
import time
import traceback
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from frazil.errors import StageFailed, StorageNotSupported, StorageRefused, StorageUnavailable
from frazil.model import Staged, StagedFile, StagedRange, StageFailure, Task
from frazil.pipes.default.pipe import DefaultPipe
from frazil.records.convert import convert
from frazil.records.dropped import Dropped
from frazil.records.new_keys import NewKeys
from frazil.records.rejects import RejectReason, rejects_of
from frazil.sources.kafka.reader import RangeReader, ReadFailed
from frazil.sources.kafka.timeouts import for_a_record
from frazil.staging import worker
from frazil.staging.metrics import iceberg_metrics
from frazil.staging.project import ChunkTooLarge, Projector
from frazil.staging.rejects import RejectFile
from frazil.staging.write import Written
from frazil.storage.storage import Storage

_CHUNK_RECORDS = 200_000
"""Records of one chunk at most: what is kept beside small records, and told of bad ones, is more than their bytes."""

_TOO_LARGE = "the record takes more memory than a worker has for one: it holds too many values"

_log = logging.getLogger(__name__)
# Spark shows what workers print; a library for more than that would take a worker a quarter of its start.


class Count(Protocol):
    """Where tasks add what they did: a Spark accumulator."""

    def add(self, term: int) -> None:
        """Add to the count."""


def stage_counted(groups: Iterator[Sequence[Task]], records: Count, size: Count) -> Iterator[Staged]:
    """`stage_all`, adding the records and the bytes of their values to two counters."""
    for staged in stage_all(groups):
        records.add(sum(each.parsed for each in staged.ranges))
        size.add(sum(each.bytes for each in staged.ranges))
        yield staged


def stage_all(groups: Iterator[Sequence[Task]]) -> Iterator[Staged]:
    """Stage every task of one Spark partition; the function Spark runs in its Python workers."""
    worker.drop_archive_importers()
    # Spark reuses a worker only if its iterator is drained: no early return here.
    with worker.undisturbed():
        for tasks in groups:
            for task in tasks:
                yield stage(task)


def stage_nothing(numbers: Iterator[int]) -> Iterator[int]:
    """Make a worker ready for `stage_all`: being called at all has imported this module."""
    worker.drop_archive_importers()
    worker.connection()
    with worker.undisturbed():
        yield from numbers


def stage(task: Task) -> Staged:
    """Stage one task. A failure comes back as a value: raising would make a cluster retry it and lose the reason."""
    try:
        staged = _Stage(task).run()
        if staged.rejects and task.tolerance == "none":
            return _up_to_the_first_reject(task, staged)
    except ReadFailed as error:
        worker.evict(task.reader)
        return Staged(task.shape, (), failure=error.failure)
    except (StorageUnavailable, StorageRefused, StorageNotSupported) as error:
        worker.evict(task.reader)  # it may be in the midst of a range
        return Staged(task.shape, (), failure=StageFailure(error.code, error.cause))
    except Exception as error:  # noqa: BLE001 (whatever it is, the driver must hear it as a value)
        worker.evict(task.reader)
        worker.drop_connection()
        # As text: a renderer that shows local variables would show the client's secrets.
        ranges = ", ".join(str(each.partition) for each in task.ranges)
        _log.error("staging failed, of %s\n%s", ranges, traceback.format_exc())
        return Staged(
            task.shape,
            (),
            failure=StageFailure(StageFailed.code, "".join(traceback.format_exception_only(error)).strip()),
        )
    return staged


def _up_to_the_first_reject(task: Task, staged: Staged) -> Staged:
    """With tolerance none: stage again, each partition up to its first bad record, so that all before it can commit."""
    for file in staged.files:
        Storage(task.data_access).delete(file.path)
    cut = {each.partition: each.covered for each in staged.ranges}
    ranges = tuple(replace(each, end=cut[each.partition]) for each in task.ranges)
    again = (
        stage(replace(task, ranges=ranges, tolerance="all"))
        if any(each.length for each in ranges)
        else Staged(task.shape, ())
    )
    if again.failure:
        return again
    untouched = tuple(StagedRange(each.partition, each.start, each.start) for each in ranges if not each.length)
    return replace(again, ranges=(*again.ranges, *untouched), rejects=staged.rejects)


class _Stage:
    """One attempt at staging a task.

    Spark may run a task again while the worker that ran it first, and was given up, still writes. So the digits in
    the names of an attempt's files begin with some of its own.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._storage = Storage(task.data_access, synced=task.synced)
        self._digits = f"{secrets.randbelow(10**12):012d}"
        self._scratch = Path(tempfile.mkdtemp(dir=worker.scratch()))
        self._pipe = DefaultPipe(task.shape.columns, task.conversion.normalizes)
        self._topic = task.ranges[0].partition.topic
        self._projector = Projector(
            worker.connection(), self._pipe, self._topic, task.conversion, evolves=task.shape.evolves, room=task.room
        )
        self._rejects = RejectFile(self._scratch / "rejects.parquet")
        self._files: list[StagedFile] = []
        self._skipped: Counter[int] = Counter()
        self._drift = NewKeys(task.room)
        self._dropped = Dropped()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def run(self) -> Staged:
        """Stage it whole, or leave nothing behind."""
        try:
            return self._run()
        except BaseException:
            with suppress(StorageUnavailable, StorageRefused):
                self._discard_files()
            raise
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _run(self) -> Staged:
        client, wanted = self._task.reader, [each for each in self._task.ranges if each.length]
        watched = partial(worker.watched_consumer, client, self._topic)
        reader = RangeReader(
            worker.consumer(client, self._topic),
            wanted,
            for_a_record(client),
            self._task.most_bytes,
            # Others give a record for each offset but those of markers and of what compaction removed.
            watched if client.get("isolation.level") == "read_committed" else None,
        )
        for table, records in self._chunks(reader):
            self._project(table, records)
            # The next chunk is read while these names would still hold this one.
            del table, records
            worker.collect()
        self._rejects.close()
        if self._drift:
            # The table gets new columns and the ranges are staged again: nothing of this try may be committed.
            self._discard_files()
        summary = self._rejects.summary(self._named(self._task.rejects_path, 0))
        if summary and self._task.tolerance == "all" and not self._drift:
            with self._timed("move"):
                storage = Storage(self._task.rejects_access, synced=self._task.synced)
                storage.move(self._rejects.path, summary.path)
        return Staged(
            shape=self._task.shape,
            ranges=tuple(self._accounted(each) for each in reader.ranges),
            files=tuple(self._files),
            rejects=summary,
            drift=dict(self._drift),
            dropped={} if self._drift else dict(self._dropped),
            seconds=dict(self._seconds),
        )

    def _discard_files(self) -> None:
        for file in self._files:
            self._storage.delete(file.path)
        self._files.clear()

    def _chunks(self, reader: RangeReader) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Converted records and the same as read, in pieces of about `chunk_bytes`."""
        tables: list[pa.Table] = []
        records: list[pa.Table] = []
        size = 0
        for batch in self._timed_reads(reader):
            with self._timed("convert"):
                converted = convert(batch, self._topic, self._task.conversion, time.time_ns() // 1_000_000)
            self._rejects.add(converted.rejects)
            self._skipped.update(converted.skipped)
            tables.append(converted.table)
            records.append(converted.records)
            size += batch.nbytes
            if size >= self._task.chunk_bytes or sum(table.num_rows for table in tables) >= _CHUNK_RECORDS:
                yield pa.concat_tables(tables), pa.concat_tables(records)
                tables, records, size = [], [], 0
        if tables:
            yield pa.concat_tables(tables), pa.concat_tables(records)

    def _timed_reads(self, reader: RangeReader) -> Iterator[pa.RecordBatch]:
        batches = reader.batches()
        while True:
            with self._timed("read"):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def _project(self, table: pa.Table, records: pa.Table) -> None:
        path = self._scratch / f"{uuid.uuid4()}.parquet"
        try:
            with self._timed("project"):
                projected = self._projector.project(table, records, path)
        except ChunkTooLarge:
            self._project_in_pieces(table, records)
            return
        self._rejects.add(projected.rejects)
        for key, count in projected.unknown.items():
            self._dropped.note(key, count)
        self._drift.note_all(projected.drift)
        if projected.written is None:
            return
        if self._drift:
            projected.written.path.unlink()
            return
        with self._timed("move"):
            self._keep(projected.written)

    def _project_in_pieces(self, table: pa.Table, records: pa.Table) -> None:
        """Project a chunk that was too large as two; a single record that is too large can become no row."""
        half = table.num_rows // 2
        if not half:
            self._rejects.add(rejects_of(records, self._topic, "project", {0: RejectReason(_TOO_LARGE)}))
            return
        self._project(table.slice(0, half), records.slice(0, half))
        self._project(table.slice(half), records.slice(half))

    def _keep(self, written: Written) -> None:
        location = self._named(self._task.data_path, len(self._files))
        self._storage.move(written.path, location)
        metrics = iceberg_metrics(self._pipe.columns, written.statistics)
        self._files.append(StagedFile(location, written.rows, written.size, metrics))

    def _named(self, pattern: str, number: int) -> str:
        # The last one: the directories before it are the user's, and may be called anything.
        before, _, after = pattern.rpartition("{}")
        return f"{before}{self._digits}{number:05d}{after}"

    def _accounted(self, read: StagedRange) -> StagedRange:
        number = read.partition.partition
        errors = self._rejects.counts[number]
        if errors and self._task.tolerance == "none":
            return replace(read, covered=self._rejects.first[number].offset)
        skipped = self._skipped[number]
        return replace(read, inserted=read.parsed - errors - skipped, errors=errors, skipped=skipped)

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[what] += time.perf_counter() - started
