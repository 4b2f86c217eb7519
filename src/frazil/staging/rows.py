"""Where the rows of a task's chunks go: those of each chunk to a file of their own, or to wait for those of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import duckdb

from frazil.layout import hashing
from frazil.layout.partitions import is_partitioned, order_by, the_only_partition
from frazil.model import PLAIN_LAYOUT, Column, Layout, WriteShape
from frazil.records.rejects import RejectReason
from frazil.staging.partitioned import PartitionedRows
from frazil.staging.write import Written, copy

_MOST_HELD: Final = 256 * 1024 * 1024
"""Bytes of records whose rows a task may hold for partitioned tables.

As rows of DuckDB's they take about as much, a third of what a worker's DuckDB has; the rest is for the chunk that is
projected meanwhile. Where they take more, DuckDB moves them to the scratch directory."""


class Rows(Protocol):
    """What takes the rows that one attempt at a task has for one table."""

    def take(self, select: str, size: int, path: Path) -> Written | None:
        """Take what a statement yields.

        Args:
            select: the statement. If it fails, nothing of what it yielded is kept, but perhaps a file at `path`.
            size: bytes of the records that it reads.
            path: for the file, if there is to be one for these rows alone; then that comes back.

        Raises:
            duckdb.Error: what the statement fails with.
        """

    def unplaced(self, select: str) -> Mapping[int, RejectReason]:
        """Why rows that a statement yields belong to no file of the table, by their places in what it yields.

        Raises:
            duckdb.Error: what the statement fails with.
        """

    def due(self) -> Iterator[Written]:
        """Write what waits, if it is as much as may wait."""

    def rest(self) -> Iterator[Written]:
        """Write what waits."""

    def drop(self) -> None:
        """Forget what waits."""


class ChunkFiles:
    """A file for each chunk."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], layout: Layout = PLAIN_LAYOUT
    ) -> None:
        """Write files of these columns, sorted as the layout asks."""
        self._connection = connection
        self._columns = columns
        self._order = order_by(layout, columns)
        self._partition = the_only_partition(layout)

    def take(self, select: str, size: int, path: Path) -> Written:  # noqa: ARG002 (nothing waits)
        """Write the file."""
        if self._order:
            select = f"SELECT * FROM ({select}) ORDER BY {self._order}"
        return replace(copy(self._connection, select, self._columns, path), partition=self._partition)

    def unplaced(self, select: str) -> Mapping[int, RejectReason]:  # noqa: ARG002 (the protocol's)
        """Find none: a file takes all rows."""
        return {}

    def due(self) -> Iterator[Written]:
        """Write nothing."""
        yield from ()

    def rest(self) -> Iterator[Written]:
        """Write nothing."""
        yield from ()

    def drop(self) -> None:
        """Forget nothing."""


class PartitionFiles:
    """A file for each partition, with the rows of as many chunks as may be held."""

    def __init__(self, held: PartitionedRows, most: int) -> None:
        """Write what is `held` when it is rows of `most` bytes of records."""
        self._held = held
        self._most = most

    def take(self, select: str, size: int, path: Path) -> None:  # noqa: ARG002 (files are for partitions)
        """Hold the rows."""
        self._held.take(select, size)

    def unplaced(self, select: str) -> Mapping[int, RejectReason]:
        """Why rows belong to no partition."""
        return self._held.unplaced(select)

    def due(self) -> Iterator[Written]:
        """Write what is held, if it is as much as may be."""
        return self.rest() if self._held.bytes >= self._most else iter(())

    def rest(self) -> Iterator[Written]:
        """Write what is held."""
        return self._held.write()

    def drop(self) -> None:
        """Hold nothing any more."""
        self._held.drop()


def rows_for(connection: duckdb.DuckDBPyConnection, shape: WriteShape, scratch: Path, tables: int) -> Rows:
    """What takes the rows of a table of that shape, in a task that stages for so many tables."""
    hashing.teach(connection, shape.layout)
    if not is_partitioned(shape.layout):
        return ChunkFiles(connection, shape.columns, shape.layout)
    return PartitionFiles(PartitionedRows(connection, shape.columns, shape.layout, scratch), _MOST_HELD // tables)
