"""Rejected records as they were read, put through the present pipe of their table: staged in this process, or tried."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from frazil.config import ConnectorSettings
from frazil.connector.trying import Trial, Trying
from frazil.cycle.evolving import change_for
from frazil.cycle.pipes import Pipes
from frazil.cycle.schema_rules import rules_for
from frazil.cycle.tasks import width
from frazil.errors import StageFailed, StorageRefused, StorageUnavailable
from frazil.model import (
    PipeSpec,
    Range,
    ReaderSpec,
    Reject,
    SourcePartition,
    StagedFile,
    StagedTable,
    TableTask,
    Task,
    WriteShape,
)
from frazil.pipes.choice import pipe_of
from frazil.records import batches
from frazil.records.convert import RecordConverter
from frazil.records.odd_times import Headers, without_header
from frazil.records.rejects import reject
from frazil.sources import kinds
from frazil.staging import worker
from frazil.staging.stopwatch import Stopwatch
from frazil.staging.table_writer import TableWriter
from frazil.storage.storage import Storage
from frazil.tables.iceberg.table import Table

_EVOLUTIONS: Final = 8
"""Times that one replay may change a table before its records are given up on."""


@dataclass(frozen=True, slots=True)
class StagedReplay:
    """What was staged of some records."""

    files: Sequence[StagedFile]
    shapes: Sequence[WriteShape]
    """What the files were staged for, or the pipe without a file came from."""

    rejected: Sequence[Reject]
    """The records that the pipe rejects again, with the reason that it has now."""


def as_read(found: pa.Table) -> dict[str, pa.RecordBatch]:
    """Rejects as the records that a reader yielded once, by topic.

    Whether a timestamp was the broker's is not kept with a reject: it is taken for the producer's. One that no calendar
    has is in the last header.
    """
    made = {}
    for topic in sorted(found.column("topic").unique().to_pylist()):
        rows = found.filter(pc.equal(found.column("topic"), topic)).combine_chunks()
        times = rows.column("timestamp").cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()).to_pylist()
        headers, times = _with_times(rows.column("headers").to_pylist(), times)
        columns = {
            "topic": pa.array(rows.column("topic").to_pylist(), pa.string()).dictionary_encode(),
            "partition": rows.column("partition"),
            "offset": rows.column("offset"),
            "timestamp": pa.array(times, pa.int64()),
            "log_append_time": pa.repeat(False, rows.num_rows),
            "key": rows.column("key"),
            "value": rows.column("value"),
            "headers": pa.array(headers, batches.HEADERS),
        }
        read = batches.schema(*(found.schema.field(name).type for name in ("partition", "offset")))
        table = pa.table({name: columns[name] for name in read.names}).cast(read).combine_chunks()
        (made[topic],) = table.to_batches()
    return made


class Restaging:
    """Stages rejected records of one connector for one of its tables."""

    def __init__(self, settings: ConnectorSettings, table: Table) -> None:
        self._settings = settings
        self._table = table
        self._pipes = Pipes(settings)
        self._width = width(table.shape(), settings.conversion)

    def stage(self, records: Mapping[str, pa.RecordBatch]) -> StagedReplay:
        """Stage records, by topic, for the table as it is now; it may get columns for them, as in a cycle.

        Raises:
            PipeBroken, PipeRefused, TableNotSupported: nothing comes through to it.
            StageFailed: it had to change too often.
            StorageUnavailable, StorageRefused: the files cannot be put where they go.
        """
        done = [self._staged(topic, batch) for topic, batch in records.items()]
        return StagedReplay(
            [file for part, _ in done for file in part.files],
            [part.shape for part, _ in done],
            [each for _, rejected in done for each in rejected],
        )

    def discard(self, staged: StagedReplay) -> None:
        """Delete files that no snapshot names, nor ever will."""
        for file in staged.files:
            with suppress(StorageUnavailable, StorageRefused):
                Storage(self._table.access(file.path)).delete(file.path)

    def trials(self, records: Mapping[str, pa.RecordBatch]) -> Iterator[Trial]:
        """Put the records through the pipe one by one, and write nothing."""
        for topic, batch in records.items():
            shape, pipe = self._piped(topic)
            budget = self._budget(shape)
            rules = rules_for(self._settings.contract, shape)
            through = pipe_of(
                replace(shape, evolves=self._evolves(shape)), pipe, self._settings.conversion, budget, rules
            )
            with Trying(through, self._settings.conversion, topic, shape.layout) as trying:
                yield from trying.each([batch])

    def _staged(self, topic: str, batch: pa.RecordBatch) -> tuple[StagedTable, list[Reject]]:
        for _ in range(_EVOLUTIONS):
            part, rejected = self._attempt(topic, batch)
            if not part.is_outgrown:
                return part, rejected
            shape = self._table.shape()
            rules = rules_for(self._settings.contract, shape)
            self._table.evolve(change_for(self._settings, [part], self._budget(shape), rules))
            self._table.refresh()
        raise StageFailed(f"records of {self._table.name}", f"{_EVOLUTIONS} rounds of new columns were not enough")

    def _attempt(self, topic: str, batch: pa.RecordBatch) -> tuple[StagedTable, list[Reject]]:
        task = self._task(topic, scratch := Path(tempfile.mkdtemp(dir=worker.scratch())))
        writer = TableWriter(task, task.tables[0], scratch, Stopwatch())
        try:
            converted = RecordConverter(self._settings.conversion).convert(batch, time.time_ns() // 1_000_000)
            writer.note(converted)
            writer.write(converted.table, converted.records)
            part = writer.finish({}, restaged=writer.drifts)
            return part, _rejected(scratch)
        except BaseException:
            with suppress(StorageUnavailable, StorageRefused, duckdb.Error):
                writer.discard()
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _task(self, topic: str, scratch: Path) -> Task:
        shape, pipe = self._piped(topic)
        name = f"replay-{uuid.uuid4()}-{{}}.parquet"
        data_path = self._table.new_data_path(name)
        part = TableTask(
            shape=replace(shape, evolves=self._evolves(shape)),
            data_path=data_path,
            data_access=self._table.access(data_path),
            rejects_path=str(scratch / "again-{}.parquet"),
            column_budget=self._budget(shape),
            rules=rules_for(self._settings.contract, shape),
            partitions_at=self._table.partition_place(name) if shape.layout.partition else None,
            pipe=pipe,
        )
        beginning = kinds.beginning(self._settings.source.kind)
        nowhere = Range(SourcePartition(topic, 0), beginning, beginning)
        return Task(
            connector=self._settings.key,
            ranges=(nowhere,),
            tables=(part,),
            reader=ReaderSpec(self._settings.source.kind),
            conversion=self._settings.conversion,
            tolerance="all",
            synced=self._settings.disk_sync,
        )

    def _piped(self, topic: str) -> tuple[WriteShape, PipeSpec | None]:
        """What files of a topic's records are staged for, and the user's pipe that they come through."""
        shape = self._table.shape()
        pipe = self._pipes.of(self._table, topic, shape.columns)
        if pipe is None:
            return replace(shape, pipe_name=self._pipes.name(topic)), None
        return replace(shape, pipe_name=pipe.name, pipe=pipe.identity, evolves=False), pipe

    def _evolves(self, shape: WriteShape) -> bool:
        makes_columns = self._settings.contract.columns == "evolve" and self._settings.schematization
        return shape.evolves and makes_columns and self._budget(shape) > 0

    def _budget(self, shape: WriteShape) -> int:
        now = width(shape, self._settings.conversion)
        left = self._settings.columns_max - now
        return max(0, min(left, self._settings.columns_per_cycle - (now - self._width)) if shape.has_rows else left)


def _rejected(scratch: Path) -> list[Reject]:
    return [reject(row) for file in scratch.glob("again-*.parquet") for row in pq.read_table(file).to_pylist()]


def _with_times(rows: list[Any], times: list[int | None]) -> tuple[list[Headers | None], list[int | None]]:
    """Headers as pairs in their order, which is what readers give, and the timestamps that some of them have."""
    pairs: list[Headers | None] = [
        None if row is None else [(each["name"], each["value"]) for each in row] for row in rows
    ]
    for place, (headers, timestamp) in enumerate(zip(pairs, times, strict=True)):
        if timestamp is None and headers:
            pairs[place], times[place] = without_header(headers)
    return pairs, times
