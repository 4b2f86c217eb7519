"""Reject files as data files of an error table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import structlog

from frazil.model import Reject
from frazil.records.rejects import reject
from frazil.storage.storage import Storage
from frazil.tables.base import WritableTable
from frazil.tables.outbox import OutboxList
from frazil.tables.rules import error_tables

_HEADERS: Final = pa.list_(
    pa.field(
        "element",
        pa.struct(
            [
                pa.field("name", pa.string(), metadata={"PARQUET:field_id": "16"}),
                pa.field("value", pa.binary(), metadata={"PARQUET:field_id": "17"}),
            ]
        ),
        metadata={"PARQUET:field_id": "15"},
    )
)
_TIMES: Final = pa.timestamp("us", "UTC")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of every reject of a commit."""

    connector: str
    commit: str
    at: int
    """When it was committed, in ms since the epoch."""


def types_of(reject_file: pa.Schema) -> tuple[Any, Any]:
    """The types of partitions and offsets in an error table for such reject files."""
    partition, offset = (str(reject_file.field(name).type) for name in ("partition", "offset"))
    return error_tables.PARTITIONS[partition], error_tables.PARTITIONS[offset]


def write(found: Sequence[pa.NativeFile], told: Told, path: Path) -> int:
    """Write the rejects of some files as one data file; how many there are."""
    writer: pq.ParquetWriter | None = None
    rows = 0
    try:
        for batch in _batches(found):
            table = _as_told(batch, told)
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False)
            writer.write_table(table)
            rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def rejects_in(table: WritableTable, lists: Iterable[OutboxList]) -> Iterator[Reject]:
    """The rejects that lists of a table name, list by list."""
    for listed in lists:
        for path in listed.files:
            file = Storage(table.access(path)).read(path)
            if file is None:
                _log.warning("a file of rejected records is gone: they are not delivered", file=path)
                continue
            with file:
                for batch in pq.ParquetFile(file).iter_batches(batch_size=1000):
                    yield from map(reject, batch.to_pylist())


def _batches(found: Sequence[pa.NativeFile]) -> Iterator[pa.RecordBatch]:
    for each in found:
        yield from pq.ParquetFile(each).iter_batches()


def _as_told(batch: pa.RecordBatch, told: Told) -> pa.Table:
    count = batch.num_rows
    columns: Mapping[str, Any] = {
        "connector": pa.repeat(told.connector, count),
        "topic": batch.column("topic"),
        "partition": batch.column("partition"),
        "offset": batch.column("offset"),
        "timestamp": pc.cast(batch.column("timestamp"), pa.timestamp("ms", "UTC")).cast(_TIMES),
        "stage": batch.column("stage"),
        "code": batch.column("code"),
        "message": batch.column("reason"),
        "column": batch.column("column"),
        "key": batch.column("key"),
        "value": batch.column("value"),
        "headers": _headers(batch.column("headers")),
        "commit": pa.repeat(told.commit, count),
        "rejected_at": pa.repeat(pa.scalar(told.at, pa.timestamp("ms", "UTC")), count).cast(_TIMES),
    }
    fields = [
        pa.field(name, column.type, metadata={"PARQUET:field_id": str(number)})
        for number, (name, column) in enumerate(columns.items(), 1)
    ]
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))


def _headers(column: pa.MapArray) -> pa.ListArray:
    """Headers in their order; a name may be there several times, so they are no map."""
    pairs = pa.StructArray.from_arrays([column.keys, column.items], fields=[*_HEADERS.value_type])
    return pa.ListArray.from_arrays(column.offsets, pairs, type=_HEADERS, mask=column.is_null())
