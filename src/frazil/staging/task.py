"""Stage one task: read its ranges, and leave data files and reject files that no snapshot knows yet."""

from __future__ import annotations

import logging
import shutil
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeAlias

import duckdb
import pyarrow as pa

from frazil.errors import (
    RegistryRefused,
    RegistryUnavailable,
    StageFailed,
    StorageNotSupported,
    StorageRefused,
    StorageUnavailable,
)
from frazil.model import (
    PartitionId,
    Position,
    RejectSummary,
    SourcePartition,
    Staged,
    StagedRange,
    StagedTable,
    StageFailure,
    TableName,
    TableTask,
    Task,
)
from frazil.secrets import cleaned
from frazil.sources import kinds
from frazil.sources.base import RangeReader, ReadFailed
from frazil.staging import worker
from frazil.staging.chunks import Chunks, TableFailed
from frazil.staging.routed_chunks import RoutedChunks
from frazil.staging.stopwatch import Stopwatch
from frazil.staging.table_writer import TableWriter, delete_files

Starts: TypeAlias = Mapping[SourcePartition, Position]

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
    kinds.import_readers()
    worker.connection()
    with worker.undisturbed():
        yield from numbers


def stage(task: Task) -> Staged:
    """Stage one task. A failure comes back as a value: raising would make a cluster retry it and lose the reason."""
    try:
        staged = _Stage(task).run()
        if task.tolerance == "none" and any(part.rejects for part in staged.tables):
            return _up_to_the_first_reject(task, staged)
    except ReadFailed as error:
        kinds.evict(task.reader)
        return Staged((), failure=error.failure)
    except TableFailed as failed:
        return _failed(task, failed.__cause__ or failed, failed.table)
    except Exception as error:  # noqa: BLE001 (whatever it is, the driver must hear it as a value)
        return _failed(task, error, task.tables[0].shape.table if len(task.tables) == 1 else None)
    return staged


def _failed(task: Task, error: BaseException, table: TableName | None) -> Staged:
    kinds.evict(task.reader)  # it may be in the midst of a range
    if isinstance(
        error, StorageUnavailable | StorageRefused | StorageNotSupported | RegistryUnavailable | RegistryRefused
    ):
        return Staged((), failure=StageFailure(error.code, cleaned(error.cause), table=table))
    worker.drop_connection()
    # As text: a renderer that shows local variables would show the client's secrets.
    shown = cleaned("".join(traceback.format_exception(error)))
    _log.error("staging failed, of %s\n%s", ", ".join(str(each.partition) for each in task.ranges), shown)
    reason = cleaned("".join(traceback.format_exception_only(error)).strip())
    return Staged((), failure=StageFailure(StageFailed.code, reason, table=table))


def _up_to_the_first_reject(task: Task, staged: Staged) -> Staged:
    """With tolerance none: stage again, each partition up to its first bad record, so that all before it can commit."""
    delete_files(task, staged)
    cut: dict[SourcePartition, Position] = {}
    for each in (each for part in staged.tables for each in part.ranges):
        known = cut.get(each.partition, each.covered)
        cut[each.partition] = min(each.covered, known)
    ranges = tuple(replace(each, end=cut[each.partition]) for each in task.ranges)
    left = any(each.start < each.end for each in ranges)
    again = stage(replace(task, ranges=ranges, tolerance="all")) if left else _nothing(task)
    if again.failure:
        return again
    untouched = tuple(StagedRange(each.partition, each.start, each.start) for each in ranges if each.end <= each.start)
    short = {each.partition for each in again.ranges if each.covered < cut[each.partition]}
    tables = tuple(
        replace(part, ranges=(*part.ranges, *untouched), rejects=_unless_short(before.rejects, short))
        for part, before in zip(again.tables, staged.tables, strict=True)
    )
    return replace(again, ranges=(*again.ranges, *untouched), tables=tables)


def _unless_short(rejects: RejectSummary | None, short: AbstractSet[SourcePartition]) -> RejectSummary | None:
    """What was rejected, unless the source did not give again all that is before it: then the next cycle meets it."""
    return None if rejects is None or rejects.first.partition in short else rejects


def _nothing(task: Task) -> Staged:
    return Staged((), tuple(StagedTable(part.shape, ()) for part in task.tables))


class _Writers(dict[TableName, TableWriter]):
    """The writers of a task's tables, each made when it is first asked for: most routed tables get nothing."""

    def __init__(self, task: Task, scratch: Path, stopwatch: Stopwatch) -> None:
        super().__init__()
        self._task = task
        self._scratch = scratch
        self._stopwatch = stopwatch

    def __missing__(self, name: TableName) -> TableWriter:
        part = next(each for each in self._task.tables if each.shape.table == name)
        self[name] = writer = TableWriter(self._task, part, self._scratch, self._stopwatch)
        return writer


class _Stage:
    """One attempt at staging a task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._scratch = Path(tempfile.mkdtemp(dir=worker.scratch()))
        self._stopwatch = Stopwatch()
        self._writers = _Writers(task, self._scratch, self._stopwatch)

    def run(self) -> Staged:
        """Stage it whole, or leave nothing behind."""
        try:
            return self._run()
        except BaseException:
            for writer in self._writers.values():
                with suppress(StorageUnavailable, StorageRefused, duckdb.Error):
                    writer.discard()
            raise
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _run(self) -> Staged:
        wanted = [each for each in self._task.ranges if each.start < each.end]
        reader = kinds.open_reader(self._task.reader, wanted, self._task.most_bytes)
        chunks = [*self._chunks()]
        for batch in self._timed(reader):
            for each in chunks:
                each.add(batch, reader)
        read = {name: ranges for each in chunks for name, ranges in each.finish(reader.ranges).items()}
        new_values = {name: value for each in chunks for name, value in each.new_values.items()}
        # What gets new columns or new tables is staged again, and all of the task with it.
        restaged = bool(new_values) or any(writer.drifts for writer in self._writers.values())
        tables = []
        for part in self._task.tables:
            try:
                tables.append(self._finished(part, read[part.shape.table], restaged=restaged))
            except Exception as error:
                raise TableFailed(part.shape.table) from error
        seconds = dict(self._stopwatch.seconds)
        # All of them have the same converters.
        schemas = chunks[0].schemas if chunks else {}
        return Staged(reader.ranges, tuple(tables), seconds=seconds, new_values=new_values, schemas=schemas)

    def _finished(self, part: TableTask, read: Mapping[PartitionId, StagedRange], *, restaged: bool) -> StagedTable:
        writer = self._writers.get(part.shape.table)
        if writer is None:
            return StagedTable(part.shape, tuple(read.values()))
        return writer.finish(read, restaged=restaged)

    def _chunks(self) -> Iterator[Chunks | RoutedChunks]:
        """What takes the records to the tables of the task: those together that lack the same."""
        if self._task.route is not None:
            yield RoutedChunks(self._task, self._task.route, self._writers, self._stopwatch)
            return
        alike: list[tuple[Starts, list[TableTask]]] = []
        for part in self._task.tables:
            own = {each.partition: part.start(each) for each in self._task.ranges if each.partition in part.starts}
            for starts, parts in alike:
                if starts == own:
                    parts.append(part)
                    break
            else:
                alike.append((own, [part]))
        for starts, parts in alike:
            writers = {part.shape.table: self._writers[part.shape.table] for part in parts}
            yield Chunks(self._task, starts, writers, self._stopwatch)

    def _timed(self, reader: RangeReader) -> Iterator[pa.RecordBatch]:
        batches = reader.batches()
        while True:
            with self._stopwatch.timed("read"):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch
