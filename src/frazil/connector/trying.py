"""Records put through a pipe one by one, without a file: what becomes of each, and why."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import duckdb
import pyarrow as pa

from frazil.layout import hashing
from frazil.layout.partitions import PartitionKey, partition_keys
from frazil.model import PLAIN_LAYOUT, Column, Conversion, Layout, PartitionId, Primitive, RecordOffset, Reject
from frazil.pipes.base import Pipe
from frazil.pipes.types import VARIANT, file_name, is_bytes
from frazil.records import batches
from frazil.records.convert import RecordConverter
from frazil.records.rejects import RejectReason
from frazil.sql import ident, literal
from frazil.staging.partitioned import unplaced
from frazil.staging.project import Projected, Projector
from frazil.staging.rewriting import needs_rewriting
from frazil.staging.worker import locked_down
from frazil.staging.write import Written, copy

_SCHEMA: Final = batches.schema(partition=pa.int32(), offset=pa.int64())


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one record."""

    topic: str
    partition: PartitionId
    offset: RecordOffset
    value: str | None
    """The record's value as text; None for a tombstone."""

    row: Mapping[str, str] | None = None
    """The row's values as JSON text, by column; None if the record makes no row."""

    reject: Reject | None = None
    dropped: tuple[str, ...] = ()
    """The record's keys that have no column."""

    changes: tuple[str, ...] = ()
    """The columns and fields that the table gets, or changes, before the record lands; then nothing is said of the
    row."""

    @property
    def fate(self) -> str:
        """`row`, `reject`, or `left out` by WHERE or as a tombstone."""
        return "row" if self.row is not None or self.changes else "reject" if self.reject else "left out"


def lines_of(file: Path, topic: str) -> Iterator[pa.RecordBatch]:
    """The lines of a file as the values of records of a topic, in a batch; empty lines are none.

    Raises:
        OSError: it cannot be read.
    """
    with file.open("rb") as lines:
        yield batch_of([line.rstrip(b"\r\n") for line in lines if line.strip()], topic)


def batch_of(values: Sequence[bytes], topic: str) -> pa.RecordBatch:
    """Values as those of a topic's first records."""
    count, now = len(values), time.time_ns() // 1_000_000
    columns = {
        "topic": batches.topics(topic, count),
        "partition": [0] * count,
        "offset": range(count),
        "timestamp": [now] * count,
        "log_append_time": [False] * count,
        "key": [None] * count,
        "value": values,
        "headers": [None] * count,
    }
    arrays = [
        given if isinstance(given := columns[each.name], pa.Array) else pa.array(given, each.type) for each in _SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


class Trying:
    """A pipe, and a DuckDB to run its statement in as a worker would; as a context manager it leaves nothing behind."""

    def __init__(self, pipe: Pipe, conversion: Conversion, topic: str, layout: Layout = PLAIN_LAYOUT) -> None:
        """Try records of `topic`, converted as `conversion` says, for a table of a `layout`."""
        self._scratch = Path(tempfile.mkdtemp(prefix="frazil-explain-"))
        self._connection = locked_down(self._scratch)
        hashing.teach(self._connection, layout)
        self._kept = _KeptRow(self._connection, pipe.columns, partition_keys(layout, pipe.columns))
        self._projector = Projector(self._connection, pipe, topic, self._kept)
        self._converter = RecordConverter(conversion)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    @property
    def statement(self) -> str | None:
        """The statement that the last record was put through."""
        return self._kept.statement

    def each(self, found: Iterable[pa.RecordBatch]) -> Iterator[Trial]:
        """Put records through the pipe, each by itself: that is how they fare among others, too."""
        for batch in found:
            for number in range(batch.num_rows):
                yield self._try(batch.slice(number, 1))

    def _try(self, record: pa.RecordBatch) -> Trial:
        self._kept.row = None
        converted = self._converter.convert(record, time.time_ns() // 1_000_000)
        rejects: list[Reject] = [*converted.rejects]
        dropped: tuple[str, ...] = ()
        changes: tuple[str, ...] = ()
        if converted.table.num_rows:
            projected = self._projector.project(converted.table, converted.records, self._scratch / "none.parquet")
            rejects += projected.rejects
            dropped = tuple(sorted(projected.unknown))
            changes = _changes(projected) if not rejects else ()
        value = record.column("value")[0].as_py()
        return Trial(
            record.column("topic")[0].as_py(),
            record.column("partition")[0].as_py(),
            record.column("offset")[0].as_py(),
            None if value is None else value.decode(errors="replace"),
            self._kept.row,
            rejects[0] if rejects else None,
            dropped,
            changes,
        )


def _changes(projected: Projected) -> tuple[str, ...]:
    """What becomes of the table before what was projected lands."""
    change = projected.change
    paths = (*change.grow, *change.widen, *change.relax)
    return tuple(sorted({*projected.drift, *change.add, *(".".join(path) for path in paths)}))


@dataclass
class _KeptRow:
    """Takes what a statement yields for one record; see `frazil.staging.rows.Rows`."""

    connection: duckdb.DuckDBPyConnection
    columns: tuple[Column, ...]
    keys: tuple[PartitionKey, ...]
    """What partitions are told apart by: computing it fails for a row that belongs to none."""

    statement: str | None = None
    row: dict[str, str] | None = None

    def take(self, select: str, size: int, path: Path) -> None:  # noqa: ARG002 (one row is never too much)
        """Keep the row."""
        self.statement = select
        cells = ", ".join([_as_json(column) for column in self.columns] + [key.sql for key in self.keys])
        source = f"({select})"
        if needs_rewriting(self.columns):
            copy(self.connection, select, self.columns, path)
            source = f"read_parquet({literal(str(path))})"
        (found,) = self.connection.execute(f"SELECT {cells} FROM {source}").fetchall()
        self.row = {column.name: text or "null" for column, text in zip(self.columns, found, strict=False)}

    def unplaced(self, select: str) -> Mapping[int, RejectReason]:
        """Why the row belongs to no partition."""
        return unplaced(self.connection, self.keys, self.columns, select)

    def due(self) -> Iterator[Written]:
        """Write nothing."""
        yield from ()

    def rest(self) -> Iterator[Written]:
        """Write nothing."""
        yield from ()

    def drop(self) -> None:
        """Forget the row."""
        self.row = None


def _as_json(column: Column) -> str:
    value = ident(file_name(column))
    if column.type == VARIANT:
        return f"CAST(CAST({value} AS JSON) AS VARCHAR)"
    if isinstance(column.type, Primitive) and is_bytes(column.type):
        value = f"hex({value})"
    return f"CAST(to_json({value}) AS VARCHAR)"
