"""Output files: records that became rows, as they were read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.parquet as pq
import structlog

from frazil.model import OutputRecord, SourcePartition
from frazil.storage.storage import Storage
from frazil.tables import outbox
from frazil.tables.base import WritableTable
from frazil.tables.outbox import OutboxList

_log = structlog.get_logger(__name__)


def records_in(table: WritableTable, listed: OutboxList) -> Iterator[OutputRecord]:
    """The records that a list of a table names, those of a partition in their order.

    Raises:
        StorageUnavailable, StorageRefused: a file cannot be read.
    """
    for path in listed.files:
        file = Storage(table.access(path)).read(path)
        if file is None:
            _log.warning("a file of accepted records is gone: they are not sent on", table=str(table.name), file=path)
            continue
        with file:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=1000):
                columns = (batch.column(name).to_pylist() for name in ("topic", "partition", "offset", "key", "value"))
                for topic, partition, offset, key, value in zip(*columns, strict=True):
                    yield OutputRecord(SourcePartition(topic, partition), offset, key, value)


def delete(table: WritableTable, listed: OutboxList) -> None:
    """Delete a list and its files: nothing names them any more.

    Raises:
        StorageUnavailable, StorageRefused: something is left.
    """
    storage = Storage(table.access(listed.path))
    for path in (*listed.files, listed.path, outbox.checksum_of(listed.path)):
        storage.delete(path)
