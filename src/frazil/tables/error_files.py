"""Reject files as data files of an error table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from frazil.model import Reject
from frazil.records.odd_times import moments_of, with_headers
from frazil.records.rejects import COLUMNS, reject
from frazil.tables.base import WritableTable
from frazil.tables.listed_files import DamagedFile, batches
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


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of every reject of a commit."""

    connector: str
    commit: str
    at: int
    """When it was committed, in ms since the epoch."""


def types_of(reject_file: pa.Schema) -> tuple[Any, Any]:
    """The types of partitions and offsets in an error table for such reject files.

    Raises:
        KeyError: no source has such ones.
    """
    partition, offset = (str(reject_file.field(name).type) for name in ("partition", "offset"))
    return error_tables.PARTITIONS[partition], error_tables.PARTITIONS[offset]


def write(table: WritableTable, paths: Sequence[str], told: Told, path: Path) -> int:
    """Write the rejects of some files of a table as one data file; how many there are.

    Raises:
        DamagedFile: one of them cannot be read, however often one tries.
        StorageUnavailable, StorageRefused: one cannot be read now.
    """
    writer: pq.ParquetWriter | None = None
    rows = 0
    try:
        for each in paths:
            for batch in batches(table, each, COLUMNS):
                made = _as_told(batch, told)
                writer = writer or pq.ParquetWriter(path, made.schema, compression="zstd", store_schema=False)
                writer.write_table(made)
                rows += made.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def rejects_in(
    table: WritableTable, lists: Iterable[OutboxList], damaged: Callable[[DamagedFile], object]
) -> Iterator[Reject]:
    """The rejects that lists of a table name, list by list; `damaged` gets to know of files that cannot be read.

    Raises:
        StorageUnavailable, StorageRefused: one cannot be read now.
    """
    for path in (path for listed in lists for path in listed.files):
        try:
            for batch in batches(table, path, COLUMNS):
                yield from map(reject, batch.to_pylist())
        except DamagedFile as error:
            damaged(error)


def _as_told(batch: pa.RecordBatch, told: Told) -> pa.Table:
    count = batch.num_rows
    times = batch.column("timestamp")
    columns: Mapping[str, Any] = {
        "connector": pa.repeat(told.connector, count),
        "topic": batch.column("topic"),
        "partition": batch.column("partition"),
        "offset": batch.column("offset"),
        "timestamp": moments_of(times),
        "stage": batch.column("stage"),
        "code": batch.column("code"),
        "message": batch.column("reason"),
        "column": batch.column("column"),
        "key": batch.column("key"),
        "value": batch.column("value"),
        "headers": _headers(with_headers(batch.column("headers"), times)),
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
