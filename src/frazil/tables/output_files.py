"""Output files: records that became rows, as they were read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from frazil.model import OutputRecord, SourcePartition
from frazil.storage.storage import Storage
from frazil.tables import outbox
from frazil.tables.base import WritableTable
from frazil.tables.listed_files import batches
from frazil.tables.outbox import OutboxList

_COLUMNS: Final = ("topic", "partition", "offset", "key", "value")


def records_in(table: WritableTable, path: str) -> Iterator[OutputRecord]:
    """The records in a file that a list of a table names, those of a partition in their order.

    Raises:
        DamagedFile: it cannot be read, however often one tries.
        StorageUnavailable, StorageRefused: it cannot be read now.
    """
    for batch in batches(table, path, _COLUMNS):
        columns = (batch.column(name).to_pylist() for name in _COLUMNS)
        for topic, partition, offset, key, value in zip(*columns, strict=True):
            yield OutputRecord(SourcePartition(topic, partition), offset, key, value)


def delete(table: WritableTable, listed: OutboxList, kept: Collection[str] = ()) -> None:
    """Delete a list and its files but those that are to be `kept`: nothing names them any more.

    Raises:
        StorageUnavailable, StorageRefused: something is left.
    """
    storage = Storage(table.access(listed.path))
    for path in (*listed.files, listed.path, outbox.checksum_of(listed.path)):
        if path not in kept:
            storage.delete(path)
