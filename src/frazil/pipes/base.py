"""What a pipe is: a projection from converted records to the columns of one table.

`frazil.staging.project` drives it, chunk by chunk:

1. The pipe settles rows that its statement would misread: each is rewritten, or rejected with column and reason.
2. What the statement selects is written in one COPY.
3. If that fails, the pipe settles more rows and gives another statement; after its last one, each record is diagnosed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import Column, Drift, OrderedPlace, RecordOffset, RecordPlace, SchemaChange, SourcePartition
from frazil.records.convert import TYPES, VALUE
from frazil.records.rejects import RejectReason
from frazil.records.schema_types import no_types
from frazil.sql import ident

CHUNK: Final = "chunk"
"""The relation that statements select from."""

ROW: Final = "row"
"""Its column of row numbers."""

_BATCH_BYTES: Final = 4 * 1024 * 1024


class Pipe(Protocol):
    """The projection of one table's records, kept for the chunks of one task."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of the table, in its order: those of the statement."""

    @property
    def inputs(self) -> Collection[str]:
        """The columns of converted records (`frazil.records.convert.Converted.table`) that the statement reads."""

    def statements(self, chunk: Chunk) -> Iterator[str]:
        """The SELECTs from `CHUNK` to try, each in case the one before it failed.

        Rows that a SELECT would misread are settled before it is given, so that it changes no value in silence. Its
        columns are called what they are called in data files (`frazil.pipes.types.file_name`). There is none if the
        table has to change first, which `chunk.drift` and `chunk.change` then say.
        """

    def diagnose(self, record: Mapping[str, Any]) -> RejectReason | None:
        """Why one record does not fit, with its column; None if it does.

        Args:
            record: the record's `inputs` by name.
        """


def same(offset: RecordOffset) -> RecordOffset:
    """Orders offsets that are numbers."""
    return offset


class Chunk:
    """Some converted records while a pipe settles them: values are rewritten, rejects leave."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        topic: str,
        inputs: pa.Table,
        records: pa.Table,
        before: Callable[[RecordOffset], Any] = same,
    ) -> None:
        """Hold the `inputs` of a pipe, and the same `records` as they were read; `before` orders their offsets."""
        self.rejected: Final[dict[int, RejectReason]] = {}
        """Why rows were rejected."""

        self.dropped: Final[Counter[str]] = Counter()
        """Values of keys without a column in the rows that land, by key."""

        self.left_out: Final[set[int]] = set()
        """Rows that the pipe leaves out: they are neither written nor rejected."""

        self.drift: Drift = {}
        """Keys that may become columns, of records that would land then."""

        self.change = SchemaChange()
        """What else the table has to become for records that would land then."""

        self._connection = connection
        self._topic = topic
        self._records = records
        self._before = before
        has_types = TYPES in inputs.column_names
        self._types = inputs.column(TYPES) if has_types else pa.chunked_array([no_types(inputs.num_rows)])
        rows = inputs.drop_columns([TYPES]) if has_types else inputs
        self._rows = rows.append_column(ROW, pa.array(range(rows.num_rows), pa.int64()))
        self._rewritten: set[int] = set()
        self._is_registered = False
        self._batch: int | None = None

    @property
    def is_outgrown(self) -> bool:
        """Whether the table has to change before the records land."""
        return bool(self.drift) or self.change != SchemaChange()

    @property
    def count(self) -> int:
        """How many rows are left."""
        return int(self._rows.num_rows)

    @property
    def size(self) -> int:
        """How many bytes they take."""
        return int(self._rows.nbytes)

    def texts(self) -> Iterator[bytes | None]:
        """The JSON texts of all rows, in order; None for a tombstone."""
        for batch in self._rows.column(VALUE).chunks:
            # Several times faster than to_pylist, which makes an Arrow scalar of each cell.
            yield from batch.cast(pa.binary()).to_numpy(zero_copy_only=False)

    def types(self) -> set[str]:
        """What the schemas of the rows say of their keys (`frazil.records.schema_types`), each once."""
        return {
            text
            for part in self._types.chunks
            for text in part.dictionary.take(pc.unique(part.indices)).to_pylist()
            if text is not None
        }

    def types_of(self, row: int) -> str | None:
        """What the schema of one row says; None where it has none."""
        found: str | None = self._types[row].as_py()
        return found

    def rows_of(self, types: Container[str]) -> dict[int, str]:
        """The rows whose schemas say one of these, with what theirs says, in order."""
        found: dict[int, str] = {}
        row = 0
        for part in self._types.chunks:
            texts = part.dictionary.to_pylist()
            for number, place in enumerate(part.indices.to_pylist(), row):
                if place is not None and texts[place] in types:
                    found[number] = texts[place]
            row += len(part)
        return found

    def select(self, rows: Iterable[int]) -> list[tuple[int, str | None]]:
        """The JSON texts of the given rows, in order."""
        wanted = pa.array(sorted(rows), pa.int64())
        found = self._rows.filter(pc.is_in(self._rows.column(ROW), wanted)) if len(wanted) else self._rows.slice(0, 0)
        return list(zip(found.column(ROW).to_pylist(), found.column(VALUE).to_pylist(), strict=True))

    def in_order(self) -> list[int]:
        """All rows in the order of where their records lie, as long as none has left."""
        # The sort is stable, and those of one partition are in their order: only their source could compare offsets.
        return [*pc.sort_indices(self._records, sort_keys=[("partition", "ascending")]).to_pylist()]

    def position(self, row: int) -> RecordPlace:
        """Where the record of a row lies."""
        partition, offset = (self._records.column(name)[row].as_py() for name in ("partition", "offset"))
        return SourcePartition(self._topic, partition), offset

    def ordered_place(self, row: int) -> OrderedPlace:
        """The same as what sorts first where it is earlier."""
        partition, offset = self.position(row)
        return partition, self._before(offset)

    def query(self, statement: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """What a SELECT from `CHUNK` yields."""
        self.register()
        found: list[tuple[Any, ...]] = self._connection.execute(statement, parameters).fetchall()
        return found

    def rows(self) -> list[int]:
        """The rows that are left, in order."""
        return [*self._rows.column(ROW).to_pylist()]

    def compute(self, columns: Iterable[tuple[str, str]]) -> None:
        """Give the rows more columns, by name and SQL: statements read from them what was computed here, once."""
        wanted = ", ".join(f"{sql} AS {ident(name)}" for name, sql in columns)
        if wanted:
            self.register()
            found = self._connection.sql(f"SELECT {wanted} FROM {CHUNK}").to_arrow_table()
            for name in found.column_names:
                self._rows = self._rows.append_column(name, found.column(name))
            self._is_registered = False

    def longer_than(self, size: int) -> list[int]:
        """The rows whose JSON text has more bytes than that."""
        lengths = pc.binary_length(self._rows.column(VALUE))
        return [*self._rows.filter(pc.greater(lengths, size)).column(ROW).to_pylist()]

    def read_by(self, batch: int | None) -> None:
        """Have statements read at most so many rows at once; None: as many as are a few megabytes."""
        self._batch = batch
        self._is_registered = False

    def define(self, make: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        """Make functions known that statements call."""
        make(self._connection)

    def unsettled(self, rows: Iterable[tuple[int]]) -> set[int]:
        """Those of the rows a query found that have not been rewritten."""
        return {row for (row,) in rows} - self._rewritten

    def register(self) -> None:
        """Have the connection know the rows that are left as `CHUNK`."""
        if not self._is_registered:
            # In batches that DuckDB parses one by one: of a JSON text it makes many times as much.
            most = max(1, _BATCH_BYTES * self.count // max(1, self._rows.nbytes))
            most = min(most, self._batch or most)
            batches = pa.Table.from_batches(self._rows.to_batches(max_chunksize=most), self._rows.schema)
            self._connection.register(CHUNK, batches)
            self._is_registered = True

    def close(self) -> None:
        """Have the connection forget the rows: it would keep them until the next chunk takes their name."""
        self._connection.unregister(CHUNK)
        self._is_registered = False

    def reject(self, reasons: Mapping[int, RejectReason]) -> None:
        """Drop rows that do not fit."""
        self.rejected.update(reasons)
        self._drop(reasons)

    def leave_out(self, rows: Iterable[int]) -> None:
        """Drop rows that are to become none."""
        gone = {*rows}
        self.left_out.update(gone)
        self._drop(gone)

    def reject_unfit(self, pipe: Pipe) -> None:
        """Drop the rows that the pipe finds not to fit, one by one."""
        unfit: dict[int, RejectReason] = {}
        for batch in self._rows.to_batches(max_chunksize=1000):
            for record in batch.to_pylist():
                if record[ROW] not in self._rewritten and (reason := pipe.diagnose(record)):
                    unfit[record[ROW]] = reason
        self.reject(unfit)

    def _drop(self, rows: Collection[int]) -> None:
        if rows:
            gone = pc.is_in(self._rows.column(ROW), pa.array([*rows], pa.int64()))
            self._rows = self._rows.filter(pc.invert(gone))
            self._is_registered = False

    def rewrite(self, texts: Mapping[int, str | None]) -> None:
        """Give rows other JSON texts, which the statement reads exactly."""
        if texts:
            self._rewritten.update(texts)
            rows = sorted(texts)
            mask = pc.is_in(self._rows.column(ROW).combine_chunks(), pa.array(rows, pa.int64()))
            written = pa.array([texts[row] for row in rows], pa.string())
            values = pc.replace_with_mask(self._rows.column(VALUE).combine_chunks(), mask, written)
            self._rows = self._rows.set_column(self._rows.schema.get_field_index(VALUE), VALUE, values)
            self._is_registered = False
