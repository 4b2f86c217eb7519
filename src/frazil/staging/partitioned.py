"""Rows of a partitioned table, held until there are enough of them to be worth a file for each partition.

A chunk may have rows of many partitions, and a file must not. Were each chunk written by itself, a task would leave a
file for each partition and chunk. So chunks are projected into a table of DuckDB's, which moves to the scratch
directory what it has no memory for, and all of them are written together at the end of the task, or as soon as so much
is held that the next chunk might lack memory. Files are written one after the other: one is open at a time.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from frazil.layout.partitions import Partition, PartitionKey, order_by, partition, partition_keys
from frazil.model import Column, Layout
from frazil.pipes.types import file_name, sql_type
from frazil.records.rejects import RejectReason
from frazil.sql import ident
from frazil.staging.write import Written, copy

_names = itertools.count(1)


def unplaced(
    connection: duckdb.DuckDBPyConnection, keys: Sequence[PartitionKey], columns: Sequence[Column], select: str
) -> dict[int, RejectReason]:
    """Why rows that a statement yields belong to no partition, by their places in what it yields.

    Raises:
        duckdb.Error: what the statement fails with.
    """
    if not keys:
        return {}
    flags = ", ".join(f"{key.is_missing} AS k{number}" for number, key in enumerate(keys))
    found = connection.sql(f"SELECT {flags} FROM ({select})").to_arrow_table()
    names = {column.id: column.name for column in columns}
    return {
        row: RejectReason(key.reason, names.get(key.field.source))
        for key, flag in zip(keys, found.columns, strict=True)
        for row, is_missing in enumerate(flag.to_pylist())
        if is_missing
    }


class PartitionedRows:
    """The rows that one attempt at a task has for one partitioned table."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, columns: tuple[Column, ...], layout: Layout, scratch: Path
    ) -> None:
        """Hold rows of these columns, and write them to files in the `scratch` directory."""
        self._connection = connection
        self._columns = columns
        self._keys = partition_keys(layout, columns)
        self._names = [f"c{number}" for number in range(len(columns))]
        self._order = order_by(layout, columns, self._names)
        self._scratch = scratch
        number = int(next(_names))
        self._held, self._tuples, self._arranged = (f"{what}_{number}" for what in ("held", "tuples", "arranged"))
        self.bytes = 0
        """Bytes of the records whose rows are held."""

    def take(self, select: str, size: int) -> None:
        """Hold what a statement yields, of records of so many bytes; if it fails, nothing of it is held.

        Raises:
            duckdb.Error: what the statement fails with.
        """
        if not self.bytes:
            self._make()
        keys = "".join(f", {key.sql}" for key in self._keys)
        self._connection.execute(f"INSERT INTO {self._held} SELECT *{keys} FROM ({select})")
        self.bytes += size

    def unplaced(self, select: str) -> dict[int, RejectReason]:
        """Why rows that a statement yields belong to no partition, by their places in what it yields.

        Raises:
            duckdb.Error: what the statement fails with.
        """
        return unplaced(self._connection, self._keys, self._columns, select)

    def write(self) -> Iterator[Written]:
        """Write what is held, a file for each partition, and hold nothing any more."""
        if not self.bytes:
            return
        partitions = self._list()
        source = self._held
        if len(partitions) > 1:
            self._arrange()
            source = self._arranged
        for number, found in partitions.items():
            rows = f"SELECT {self._as_columns()} FROM {source}"
            if len(partitions) > 1:
                rows += f" WHERE number = {int(number)}"
            elif self._order:
                rows += f" ORDER BY {self._order}"
            written = copy(self._connection, rows, self._columns, self._scratch / f"{uuid.uuid4()}.parquet")
            yield replace(written, partition=found)
        self.drop()

    def drop(self) -> None:
        """Hold nothing any more."""
        for table in (self._held, self._tuples, self._arranged):
            self._connection.execute(f"DROP TABLE IF EXISTS {table}")
        self.bytes = 0

    def _make(self) -> None:
        """Make the table that holds rows: its columns are numbered, for a key may be called like none of them."""
        pairs = zip(self._names, self._columns, strict=True)
        columns = [f"{name} {sql_type(column.type)}" for name, column in pairs]
        keys = [f"k{number} {key.sql_type}" for number, key in enumerate(self._keys)]
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {self._held} ({', '.join([*columns, *keys])})")

    def _list(self) -> dict[int, Partition]:
        """Number the partitions that rows are held of."""
        keys = ", ".join(f"k{number}" for number in range(len(self._keys)))
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {self._tuples} AS "
            f"SELECT row_number() OVER (ORDER BY {keys}) AS number, * FROM (SELECT DISTINCT {keys} FROM {self._held})"
        )
        listed = ", ".join(key.listed(f"k{number}") for number, key in enumerate(self._keys))
        found = self._connection.execute(f"SELECT number, {listed} FROM {self._tuples}").fetchall()
        return {place: partition(self._keys, values) for place, *values in found}

    def _arrange(self) -> None:
        """Bring the rows of each partition together, in the order they have within a file."""
        same = " AND ".join(f"h.k{number} IS NOT DISTINCT FROM t.k{number}" for number in range(len(self._keys)))
        columns = ", ".join(self._names)
        # A join keeps no order. Where the table asks for none, rows are in the order in which they came.
        order = self._order or "h.rowid"
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {self._arranged} AS "
            f"SELECT number, {columns} FROM {self._held} h JOIN {self._tuples} t ON {same} ORDER BY number, {order}"
        )
        self._connection.execute(f"DROP TABLE {self._held}")

    def _as_columns(self) -> str:
        pairs = zip(self._names, self._columns, strict=True)
        return ", ".join(f"{name} AS {ident(file_name(column))}" for name, column in pairs)
