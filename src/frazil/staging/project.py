"""One chunk of records → rows for at most one Parquet file: optimistic, then exact (design section 1, point 6).

What is settled before and between the tries is the pipe's: see `frazil.pipes.base`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from frazil.model import Drift, PartitionId, RecordOffset, SchemaChange
from frazil.pipes.base import Chunk, Pipe, same
from frazil.records.rejects import Rejects, rejects_of
from frazil.staging.rows import ChunkFiles, Rows
from frazil.staging.write import Written

# DuckDB's message may cut the record it shows within a character.
_UNREADABLE: Final = (duckdb.InvalidInputException, duckdb.DataError, UnicodeDecodeError)
"""What a statement fails with for a record that it does not read."""


@dataclass(frozen=True, slots=True)
class Projected:
    """What became of one chunk."""

    written: Written | None = None
    """None when no row was left, when rows wait for those of other chunks, or when the table must get columns first."""

    rejects: Rejects = field(default_factory=Rejects)
    unknown: Counter[str] = field(default_factory=Counter)
    """Values of keys without a column, by key."""

    left_out: Counter[PartitionId] = field(default_factory=Counter)
    """Records that the pipe leaves out, by partition."""

    gone: Collection[int] = ()
    """The rows of the chunk that are rejected or left out."""

    drift: Drift = field(default_factory=dict)
    """Keys that may become columns, of records that would land then."""

    change: SchemaChange = field(default_factory=SchemaChange)
    """What else the table has to become for records that would land then."""

    @property
    def is_outgrown(self) -> bool:
        """Whether the table has to change before the records land."""
        return bool(self.drift) or self.change != SchemaChange()


class ChunkTooLarge(Exception):
    """A chunk takes more memory than a worker has for it."""


class Projector:
    """Projects the chunks of one task."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        pipe: Pipe,
        topic: str,
        rows: Rows | None = None,
        before: Callable[[RecordOffset], Any] = same,
    ) -> None:
        """Project records of a topic.

        Args:
            connection: projects.
            pipe: what they go through.
            topic: the topic.
            rows: where they go; if not given, to a file for each chunk.
            before: orders their offsets, as the position right before each does.
        """
        self._connection = connection
        self._pipe = pipe
        self._topic = topic
        self._before = before
        self._rows = rows or ChunkFiles(connection, pipe.columns)

    def project(self, table: pa.Table, records: pa.Table, path: Path) -> Projected:
        """Project one chunk.

        Args:
            table: converted records, as `frazil.records.convert` makes them.
            records: the same rows as they were read.
            path: where the Parquet file goes.

        Raises:
            ChunkTooLarge: there is not enough memory for it; nothing was written.
        """
        chunk = Chunk(self._connection, self._topic, table.select([*self._pipe.inputs]), records, self._before)
        try:
            written = self._write(chunk, path)
        except duckdb.OutOfMemoryException as error:
            path.unlink(missing_ok=True)
            raise ChunkTooLarge from error
        finally:
            chunk.close()
        rejects = rejects_of(records, "project", chunk.rejected)
        places = records.column("partition").take(pa.array(sorted(chunk.left_out), pa.int64()))
        left_out = Counter(places.to_pylist())
        gone = chunk.rejected.keys() | chunk.left_out
        return Projected(written, rejects, +chunk.dropped, left_out, gone, chunk.drift, chunk.change)

    def _write(self, chunk: Chunk, path: Path) -> Written | None:
        """Write the file by the first statement that reads every row that is left."""
        failure: Exception | None = None
        for select in self._statements(chunk):
            if not chunk.count:
                return None
            try:
                return self._take(chunk, select, path)
            except _UNREADABLE as error:
                path.unlink(missing_ok=True)
                failure = error
        if failure is not None and not chunk.is_outgrown:
            raise failure
        return None

    def _take(self, chunk: Chunk, select: str, path: Path) -> Written | None:
        """Write what a statement yields, without the rows that belong to no file of the table."""
        chunk.register()
        try:
            return self._rows.take(select, chunk.size, path)
        except _UNREADABLE:
            unplaced = self._rows.unplaced(select)
            if not unplaced:
                raise
        rows = chunk.rows()
        chunk.reject({rows[place]: reason for place, reason in unplaced.items()})
        chunk.register()
        return self._rows.take(select, chunk.size, path) if chunk.count else None

    def _statements(self, chunk: Chunk) -> Iterator[str]:
        """The pipe's, and its last one again once each record has been diagnosed."""
        select = None
        for select in self._pipe.statements(chunk):
            yield select
        if select is not None and not chunk.is_outgrown:
            chunk.reject_unfit(self._pipe)
            yield select
