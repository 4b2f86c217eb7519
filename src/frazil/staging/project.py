"""One chunk of converted records → at most one Parquet file: optimistic, then exact (design section 1, point 6).

1. Screen the chunk: a decoder compiled from the columns refuses what the fast statement might read wrongly.
2. Judge the refused rows one by one: each is written anew in a form the statement reads exactly, or rejected.
3. Project and write what is left in one COPY, which refuses records that have a key twice; those are judged too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import MOST_COLUMNS, Conversion, Drift, SourcePartition
from frazil.pipes.default.drift import members, seen_in
from frazil.pipes.default.duplicates import rows_with_duplicates
from frazil.pipes.default.exact_validation import ExactValidation
from frazil.pipes.default.fast_validation import FastValidation
from frazil.pipes.default.own_columns import misfit
from frazil.pipes.default.pipe import TIME_FORM, DefaultPipe, is_metadata_name
from frazil.pipes.types import has
from frazil.records.convert import VALUE
from frazil.records.new_keys import NewKeys
from frazil.records.rejects import RejectReason, Rejects, rejects_of
from frazil.sql import literal, pointer
from frazil.staging.write import Written, copy

_CHUNK: Final = "chunk"
_ROW: Final = "row"
_BATCH_BYTES: Final = 4 * 1024 * 1024
_MINUS_ZERO: Final = r"-0\s*[,}\]]"


@dataclass(slots=True)
class Projected:
    """What became of one chunk."""

    written: Written | None = None
    """None when no row was left, or when the table must get new columns first."""

    rejects: Rejects = field(default_factory=Rejects)
    unknown: Counter[str] = field(default_factory=Counter)
    """Values of keys without a column, by key."""

    drift: Drift = field(default_factory=dict)
    """Keys that may become columns, of records that would land then."""


class ChunkTooLarge(Exception):
    """A chunk takes more memory than a worker has for it."""


class Projector:
    """Projects the chunks of one task."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        pipe: DefaultPipe,
        topic: str,
        conversion: Conversion,
        *,
        evolves: bool,
        room: int = MOST_COLUMNS,
    ) -> None:
        """Project to the table of `pipe`; if it `evolves`, new keys may become as many columns as there is room for."""
        self._connection = connection
        self._pipe = pipe
        self._topic = topic
        self._evolves = evolves
        self._room = room
        self._conversion = conversion
        self._deep = conversion.nested_type == "struct"
        self._screen = FastValidation(pipe, conversion, keeps_unknown=evolves)
        self._judge = ExactValidation(pipe, conversion, self._screen.reading.spellings, keeps_unknown=evolves)
        self._has_text = any(has(column.type, "string") for column in pipe.payload())
        self._has_decimal = any(has(column.type, "decimal") for column in pipe.payload())
        self._uniform = True
        """Whether every record so far had every key, once."""

    def project(self, table: pa.Table, records: pa.Table, path: Path) -> Projected:
        """Project one chunk.

        Args:
            table: converted records, as `frazil.records.convert` makes them.
            records: the same rows as they were read.
            path: where the Parquet file goes.

        Raises:
            ChunkTooLarge: there is not enough memory for it; nothing was written.
        """
        result = Projected()
        hopeless: dict[int, RejectReason] = {}
        if self._evolves:
            result.drift, hopeless = self._look_for_keys(table, records)
            if result.drift:
                return result
        rows = _Rows(table, records)
        try:
            refused = {*self._screen.refused(rows.texts(), result.unknown)}
            self._uncount(rows.select(sorted(hopeless.keys() - refused)), result)
            self._settle(rows, {}, hopeless, result)
            self._send_to_judge(rows, refused - hopeless.keys(), result, screened=False)
            if rows.count:
                result.written = self._write(rows, path, result)
        except duckdb.OutOfMemoryException as error:
            path.unlink(missing_ok=True)
            self._judge.dropped.clear()
            raise ChunkTooLarge from error
        finally:
            # The connection would keep the whole chunk until the next one takes its name.
            self._connection.unregister(_CHUNK)
        result.unknown = result.unknown + self._judge.dropped
        self._judge.dropped.clear()
        return result

    def _look_for_keys(self, table: pa.Table, records: pa.Table) -> tuple[NewKeys, dict[int, RejectReason]]:
        """The new keys of records that land if these get columns, and why rows with new keys would not even then.

        Where no key is found, those are all the rows with new keys.
        """
        found = NewKeys(self._room)
        hopeless: dict[int, RejectReason] = {}
        partitions = {
            number: SourcePartition(self._topic, number)
            for number in pc.unique(records.column("partition")).to_pylist()
        }
        texts = (text for batch in table.column(VALUE).chunks for text in batch.to_pylist())
        places = zip(records.column("partition").to_pylist(), records.column("offset").to_pylist(), strict=True)
        for row, (text, (partition, offset)) in enumerate(zip(texts, places, strict=True)):
            if text is None:
                continue
            at = (partitions[partition], offset)
            seen = seen_in(text, self._is_settled, deep=self._deep, at=at)
            if not seen or not found.would_learn(seen):
                continue
            if unfit := misfit(text, seen, self._pipe, self._conversion):
                hopeless[row] = unfit
            else:
                found.note_all(seen)
        return found, hopeless

    def _is_settled(self, key: str) -> bool:
        """Whether a key will never become a column, having one or being no name for one."""
        if self._pipe.column_for(key) is not None or not self._pipe.can_name_column(key):
            return True
        return is_metadata_name(self._pipe.name_for(key))

    def _send_to_judge(
        self, rows: _Rows, suspicious: Iterable[int], result: Projected, *, screened: bool = True
    ) -> None:
        """Judge some rows; `screened` when the screen had let them pass."""
        unfit: dict[int, RejectReason] = {}
        rewritten: dict[int, str | None] = {}
        texts = rows.select(sorted(suspicious))
        if screened:
            # The judge counts the keys of records that land.
            self._uncount(texts, result)
        for row, text in texts:
            verdict = self._judge.judge(text)
            if isinstance(verdict, RejectReason):
                unfit[row] = verdict
            else:
                rewritten[row] = verdict
        self._settle(rows, rewritten, unfit, result)

    def _uncount(self, texts: Iterable[tuple[int, str | None]], result: Projected) -> None:
        """Take back what the screen has counted of rows it had let pass."""
        for _, text in texts:
            if text is not None:
                result.unknown.subtract(key for key in members(text) if self._pipe.column_for(key) is None)

    def _settle(
        self, rows: _Rows, rewritten: dict[int, str | None], unfit: dict[int, RejectReason], result: Projected
    ) -> None:
        result.rejects += rejects_of(rows.records, "project", unfit)
        rows.settle(rewritten, unfit)

    def _write(self, rows: _Rows, path: Path, result: Projected) -> Written | None:
        self._send_to_judge(rows, self._ambiguous(rows), result)
        if self._has_text and (self._has_decimal or self._screen.reading.documents):
            # Where DuckDB keeps the digits of numbers, it keeps the sign of zero in a text column, too.
            self._send_to_judge(rows, self._where(rows, f"regexp_matches({VALUE}, {literal(_MINUS_ZERO)})"), result)
        if rows.count and self._uniform and self._screen.reading.may_be_strict:
            try:
                return self._copy(rows, path, result, strict=True)
            except (duckdb.InvalidInputException, UnicodeDecodeError):
                # DuckDB's message may cut the record it shows within a character.
                self._uniform = False
                path.unlink(missing_ok=True)
        self._send_to_judge(rows, self._malformed(rows), result)
        self._send_to_judge(rows, self._duplicated(rows), result)
        return self._copy(rows, path, result, strict=False) if rows.count else None

    def _copy(self, rows: _Rows, path: Path, result: Projected, *, strict: bool) -> Written | None:
        """Write the file; times in forms the statement does not read are the judge's, and the statement runs again."""
        reading = self._screen.reading
        self._connection.register(_CHUNK, rows.in_small_batches())
        select = self._pipe.select(_CHUNK, reading, self._judge.defaults, strict=strict)
        try:
            return copy(self._connection, select, self._pipe.columns, path)
        except duckdb.InvalidInputException as error:
            if TIME_FORM not in str(error):
                raise
        path.unlink(missing_ok=True)
        self._screen.look_closely()
        misformed = self._connection.execute(self._pipe.misformed(_CHUNK, _ROW, reading)).fetchall()
        self._send_to_judge(rows, (row for (row,) in misformed), result)
        if not rows.count:
            return None
        self._connection.register(_CHUNK, rows.in_small_batches())
        return copy(
            self._connection,
            self._pipe.select(_CHUNK, reading, self._judge.defaults, strict=strict),
            self._pipe.columns,
            path,
        )

    def _ambiguous(self, rows: _Rows) -> set[int]:
        """The rows in which two spellings of one column's key both have a value."""
        found: set[int] = set()
        for keys in self._screen.reading.spellings.values():
            if len(keys) > 1:
                paths = ", ".join(literal(pointer((key,))) for key in keys)
                values = f"list_filter(json_type({VALUE}, [{paths}]), lambda kind: kind <> 'NULL')"
                found |= self._where(rows, f"CASE WHEN json_valid({VALUE}) THEN len({values}) > 1 END")
        return found

    def _malformed(self, rows: _Rows) -> set[int]:
        """The rows whose values DuckDB cannot parse: the screen does not look into what goes into a VARIANT."""
        return self._where(rows, f"NOT json_valid({VALUE})")

    def _duplicated(self, rows: _Rows) -> set[int]:
        """The rows with a key twice in an object whose keys are columns or fields."""
        spellings = self._screen.reading.spellings
        read = [(column, key) for column in self._pipe.payload() for key in spellings.get(column.name, ())]
        self._connection.register(_CHUNK, rows.in_small_batches())
        return rows_with_duplicates(self._connection, _CHUNK, _ROW, read) - rows.judged

    def _where(self, rows: _Rows, condition: str) -> set[int]:
        self._connection.register(_CHUNK, rows.in_small_batches())
        found = self._connection.execute(f"SELECT {_ROW} FROM {_CHUNK} WHERE {condition}").fetchall()
        return {row for (row,) in found} - rows.judged


class _Rows:
    """The rows of a chunk while they are settled: values are rewritten, rejects leave."""

    def __init__(self, table: pa.Table, records: pa.Table) -> None:
        self.table = table.append_column(_ROW, pa.array(range(table.num_rows), pa.int64()))
        self.records = records
        self.judged: set[int] = set()
        """Rows the exact tier accepted: the fast statement reads what it wrote."""

    @property
    def count(self) -> int:
        return int(self.table.num_rows)

    def in_small_batches(self) -> pa.Table:
        """The rows in batches that DuckDB parses one by one: of a JSON text it makes many times as much."""
        most = max(1, _BATCH_BYTES * self.count // max(1, self.table.nbytes))
        return pa.Table.from_batches(self.table.to_batches(max_chunksize=most), self.table.schema)

    def texts(self) -> Iterable[bytes | None]:
        """The values of all rows, in order."""
        for batch in self.table.column(VALUE).cast(pa.binary()).chunks:
            # Several times faster than to_pylist, which makes an Arrow scalar of each cell.
            yield from batch.to_numpy(zero_copy_only=False)

    def select(self, rows: list[int]) -> list[tuple[int, str | None]]:
        """The texts of the given rows."""
        if not rows:
            return []
        wanted = self.table.filter(pc.is_in(self.table.column(_ROW), pa.array(rows, pa.int64())))
        return list(zip(wanted.column(_ROW).to_pylist(), wanted.column(VALUE).to_pylist(), strict=True))

    def settle(self, rewritten: dict[int, str | None], unfit: Iterable[int]) -> None:
        """Give rows their new texts and drop the unfit ones."""
        self.judged.update(rewritten)
        if rewritten:
            order = sorted(rewritten)
            mask = pc.is_in(self.table.column(_ROW).combine_chunks(), pa.array(order, pa.int64()))
            texts = pa.array([rewritten[row] for row in order], pa.string())
            values = pc.replace_with_mask(self.table.column(VALUE).combine_chunks(), mask, texts)
            self.table = self.table.set_column(self.table.schema.get_field_index(VALUE), VALUE, values)
        gone = pa.array(list(unfit), pa.int64())
        if len(gone):
            self.table = self.table.filter(pc.invert(pc.is_in(self.table.column(_ROW), gone)))
