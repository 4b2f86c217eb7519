"""The Parquet files that lists of an outbox name, read so that a damaged one is told from one that is out of reach."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import structlog

from frazil.errors import StorageUnavailable
from frazil.storage.storage import Storage
from frazil.tables.base import WritableTable

_ROWS: Final = 1000
"""Rows of a batch."""

_log = structlog.get_logger(__name__)


class DamagedFile(Exception):
    """A file holds no such records; carries its path and what is wrong with it."""

    def __init__(self, path: str, damage: str) -> None:
        super().__init__(f"{path}: {damage}")
        self.path = path
        self.damage = damage


def schema_of(table: WritableTable, path: str, columns: Collection[str]) -> pa.Schema | None:
    """The columns of a file; None if there is no file. Raises what `batches` does."""
    first = next(_parsed(table, path, columns, rows=False), None)
    return None if first is None else first.schema


def batches(table: WritableTable, path: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a file, none if there is no file: somebody has dealt with it.

    Args:
        table: whose file it is.
        path: where it is.
        columns: what it has to have.

    Raises:
        DamagedFile: it cannot be read, however often one tries.
        StorageUnavailable, StorageRefused: it cannot be read now.
    """
    yield from _parsed(table, path, columns, rows=True)


def _parsed(table: WritableTable, path: str, columns: Collection[str], *, rows: bool) -> Iterator[pa.RecordBatch]:
    storage = Storage(table.access(path))
    file = storage.read(path)
    if file is None:
        _log.warning("a file of records that wait is gone: they are passed over", table=str(table.name), file=path)
        return
    try:
        with file:
            yield from _rows_of(file, path, columns, rows=rows)
    except (pa.ArrowException, OSError) as error:
        raise _meaning(storage, path, error) from error


def _rows_of(file: pa.NativeFile, path: str, columns: Collection[str], *, rows: bool) -> Iterator[pa.RecordBatch]:
    parquet = pq.ParquetFile(file)
    schema = parquet.schema_arrow
    if missing := [name for name in columns if name not in schema.names]:
        raise DamagedFile(path, f"it lacks the column {', '.join(missing)}")
    if rows:
        yield from parquet.iter_batches(batch_size=_ROWS)
    else:
        yield pa.RecordBatch.from_pylist([], schema)


def _meaning(storage: Storage, path: str, error: Exception) -> Exception:
    """What a failure to read a file means: damaged is what cannot be read though all of its bytes can be had."""
    file = storage.read(path)
    if file is None:
        return StorageUnavailable(f"{path}: it is gone")
    try:
        with file:
            content = file.read()
    except OSError:
        return StorageUnavailable(f"{path}: {error}")
    try:
        for _ in pq.ParquetFile(pa.BufferReader(content)).iter_batches(batch_size=_ROWS):
            pass
    except (pa.ArrowException, OSError) as damage:
        return DamagedFile(path, str(damage))
    return StorageUnavailable(f"{path}: {error}")
