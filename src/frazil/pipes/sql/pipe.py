"""A user's pipe over the chunks of a task: its statement, and what becomes of the records that the statement fails for.

1. Records whose value is no JSON object, or has a key twice that is read, are rejected.
2. WHERE leaves records out.
3. The statement is tried. If it fails, the records are found that it fails for, column by column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import duckdb

from frazil.model import LONGEST, Column, Conversion, PipeItem, PipeSpec
from frazil.pipes.base import CHUNK, ROW, Chunk
from frazil.pipes.default.exact_json import (
    DEEPEST,
    TOO_DEEP,
    CoercionError,
    Object,
    Twice,
    kind_of,
    parse,
    raw,
    short,
    unique,
)
from frazil.pipes.default.fast_validation import is_too_deep
from frazil.pipes.sql.fitting import within_length
from frazil.pipes.sql.functions import Fitting, define_plain_number
from frazil.pipes.types import file_name
from frazil.records.convert import VALUE
from frazil.records.rejects import RejectReason
from frazil.records.value import no_object
from frazil.sql import ident, json_path, literal

_UNREADABLE: Final = (duckdb.InvalidInputException, duckdb.DataError, duckdb.ConversionException, UnicodeDecodeError)
"""What a statement fails with for a record."""

_NULL: Final = "the column must not be NULL"

_DEEP_FROM: Final = 2 * DEEPEST
"""Bytes of the shortest value that may be nested too deep."""

_ONE_BY_ONE: Final = 1000
"""Records of a chunk that are asked for one by one why an expression fails."""


class SqlPipe:
    """See `frazil.pipes.base.Pipe`."""

    def __init__(self, spec: PipeSpec, columns: tuple[Column, ...], conversion: Conversion) -> None:
        """Project to a table of these columns."""
        self.columns = columns
        self._spec = spec
        self._items = {item.column: item for item in spec.items}
        self._fittings = {column.name: Fitting(column.type, conversion) for column in columns}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The value, and what the items read of the metadata."""
        return self._spec.inputs

    def statements(self, chunk: Chunk) -> Iterator[str]:
        """The statement, again once the records it fails for have left, and again once each was looked at."""
        self._define(chunk)
        chunk.compute(self._spec.volatile)
        chunk.read_by(self._spec.batch)
        self._reject_unreadable(chunk)
        self._leave_out(chunk)
        self._reject_long(chunk)
        yield self._select()
        self._reject_failing(chunk, self._spec.items, self._spec.source)
        yield self._select()
        self._reject_one_by_one(chunk, self._spec.items, self._spec.source)
        yield self._select()

    def diagnose(self, record: Mapping[str, Any]) -> RejectReason | None:  # noqa: ARG002 (the protocol's)
        """None: `statements` has found every record that does not fit."""
        return None

    def _define(self, chunk: Chunk) -> None:
        chunk.define(define_plain_number)
        for item in self._spec.items:
            if item.text:
                chunk.define(self._fittings[item.column].define)

    def _select(self) -> str:
        return f"SELECT {', '.join(self._select_list())} FROM {self._spec.source}"

    def _select_list(self) -> list[str]:
        return [f"{_needed(self._items[column.name])} AS {ident(file_name(column))}" for column in self.columns]

    def _reject_unreadable(self, chunk: Chunk) -> None:
        """Reject what is no JSON object, and objects that have a key twice."""
        paths = ", ".join(json_path([str(step) for step in path]) for path, _ in self._spec.objects)
        names = f"TRY(json_keys({VALUE}, [{paths}]))"
        odd = f"{VALUE} IS NOT NULL AND (names IS NULL OR names[1] = [])"
        deep = f"octet_length(encode({VALUE})) > {_DEEP_FROM}"
        keys = chunk.query(f"SELECT DISTINCT names FROM (SELECT {names} AS names FROM {CHUNK})")
        suspects: set[int] = set()
        if any(found is None or not found[0] for (found,) in keys):
            suspects.update(
                row
                for (row,) in chunk.query(f"SELECT {ROW} FROM (SELECT *, {names} AS names FROM {CHUNK}) WHERE {odd}")
            )
        twice = [found for (found,) in keys if found and self._has_twice(found)]
        if twice:
            rows = chunk.query(f"SELECT {ROW} FROM {CHUNK} WHERE list_contains($twice, {names})", {"twice": twice})
            suspects.update(row for (row,) in rows)
        suspects.update(row for (row,) in chunk.query(f"SELECT {ROW} FROM {CHUNK} WHERE {deep}"))
        reasons = {row: self._unreadable(text) for row, text in chunk.select(suspects) if text is not None}
        chunk.reject({row: reason for row, reason in reasons.items() if reason})

    def _has_twice(self, found: Sequence[Sequence[str] | None]) -> bool:
        """Whether one of the objects has a key twice that is read, given the keys of each."""
        for names, (_, keys) in zip(found, self._spec.objects, strict=True):
            read = [each for each in names or () if keys is None or each in keys]
            if len(read) != len(set(read)):
                return True
        return False

    def _unreadable(self, text: str) -> RejectReason | None:
        """Why a value cannot be read, if that is so."""
        if len(text) > _DEEP_FROM and is_too_deep(text.encode()):
            return RejectReason(TOO_DEEP)
        try:
            parsed = parse(text)
            if not isinstance(parsed, Object):
                return RejectReason(no_object(kind_of(parsed)))
            if "\\u" in text:
                raw(parsed)  # it has none with half a surrogate pair
            for path, keys in self._spec.objects:
                found = _at(parsed, path)
                if isinstance(found, Object):
                    found = Object(each for each in found if keys is None or each[0] in keys)
                    unique(found)
                    if len({key for key, _ in found}) < len(found):
                        return RejectReason("an object has a key twice, once with a value")
        except Twice as twice:
            return RejectReason(str(twice), twice.key)
        except CoercionError as error:
            return RejectReason(str(error))
        except RecursionError:
            return RejectReason(TOO_DEEP)
        return None

    def _leave_out(self, chunk: Chunk) -> None:
        """Leave out the records for which WHERE is not true; reject those for which it fails."""
        condition = self._spec.condition
        if condition is None or not chunk.count:
            return
        statement = f"SELECT {ROW} FROM {self._spec.condition_source} WHERE ({condition.sql}) IS NOT TRUE"
        source = self._spec.condition_source
        for reject in (self._reject_failing, self._reject_one_by_one):
            try:
                chunk.leave_out(row for (row,) in chunk.query(statement))
            except _UNREADABLE:
                reject(chunk, (condition,), source)
            else:
                return
        # DuckDB refuses some statements for what stands in them, whatever the records are.
        if chunk.count:
            chunk.leave_out(row for (row,) in chunk.query(statement))

    def _reject_long(self, chunk: Chunk) -> None:
        """Reject large records with a text or bytes longer than their column takes; in others there is none."""
        limited = [column for column in self.columns if column.length is None and str(column.type) in LONGEST]
        for row in chunk.longer_than(min(LONGEST.values())):
            for column in limited:
                sql = within_length(self._items[column.name].sql, column)
                reason = _failure(chunk, sql, self._spec.source, row, row)
                if reason is not None:
                    chunk.reject({row: RejectReason(reason, column.name)})
                    break

    def _reject_failing(self, chunk: Chunk, items: Iterable[PipeItem], source: str) -> None:
        """Reject the records for which an item fails, in one query for all."""
        items = [*items]
        failed = ", ".join(_fails(item) for item in items)
        sources = ", ".join(item.source or "NULL" for item in items)
        found = f"SELECT {ROW}, [{failed}] AS failed, [{sources}] AS sources FROM {source}"
        try:
            rows = chunk.query(f"SELECT * FROM ({found}) WHERE list_contains(failed, true)")
        except duckdb.Error:
            # TRY takes no function that gives another value each time it is called.
            return
        reasons: dict[int, RejectReason] = {}
        for number, (row, failing, texts) in enumerate(rows):
            item, text = next((item, text) for item, fails, text in zip(items, failing, texts, strict=True) if fails)
            said_ = self._reason(item, text)
            if said_ is None and number < _ONE_BY_ONE:
                said_ = _failure(chunk, item.sql, source, row, row)
            reasons[row] = RejectReason(said_ or f"{item.text} fails", item.column)
        chunk.reject(reasons)

    def _reason(self, item: PipeItem, text: str | None) -> str | None:
        """Why an item fails for a value, where that can be told by the value."""
        if text is None:
            return f"{_NULL} and the record has no value for it" if item.required else None
        if item.target:
            return f"{short(_bare(text))} cannot be cast to {item.target}"
        found = self._fittings.get(item.column)
        return found.reason(text) if found else None

    def _reject_one_by_one(self, chunk: Chunk, items: Iterable[PipeItem], source: str) -> None:
        """Reject the records that an item fails for, found by halves: where one query did not find them."""
        for item in items:
            sql = _needed(item)
            reasons: dict[int, RejectReason] = {}
            waiting = [chunk.rows()]
            while waiting:
                rows = waiting.pop()
                reason = _failure(chunk, sql, source, rows[0], rows[-1]) if rows else None
                if reason is not None and len(rows) == 1:
                    reasons[rows[0]] = RejectReason(reason, item.column)
                elif reason is not None:
                    half = len(rows) // 2
                    waiting += [rows[:half], rows[half:]]
            chunk.reject(reasons)


def _needed(item: PipeItem) -> str:
    """SQL for an item that fails where it is NULL and must not be."""
    if not item.required:
        return item.sql
    return f"CASE WHEN ({item.sql}) IS NULL THEN error({literal(_NULL)}) ELSE {item.sql} END"


def _fails(item: PipeItem) -> str:
    """SQL for whether an item fails."""
    fails = f"TRY(struct_pack(v := {item.sql})) IS NULL"
    return f"({fails} OR TRY({item.sql}) IS NULL)" if item.required else fails


def _failure(chunk: Chunk, sql: str, source: str, first: int, last: int) -> str | None:
    """What DuckDB says of an expression that fails for some rows; None if it does not."""
    try:
        chunk.query(f"SELECT {sql} FROM {source} WHERE {ROW} BETWEEN {first} AND {last}")
    except (duckdb.Error, UnicodeDecodeError) as error:
        said = _PREFIX.sub("", str(error).partition("\n")[0])
        sentence = _SENTENCE.match(said)
        return sentence[1] if sentence else said
    return None


_PREFIX: Final = re.compile(r"^[A-Za-z ]+ Error: (Python exception occurred while executing the UDF: \w+: )?")


_SENTENCE: Final = re.compile("Could not convert string '(.+)' to INT32")
"""What DuckDB says of a sentence that compiled SQL casts in order to fail with it (`frazil.pipes.sql.fitting`)."""


def _bare(text: str) -> str:
    """A text without its quotes as JSON."""
    try:
        found = parse(text)
    except CoercionError:
        return text
    return found if isinstance(found, str) else text


def _at(value: Any, path: Iterable[str | int]) -> Any:
    """What is at a path; None if there is nothing."""
    for step in path:
        if isinstance(step, int):
            is_there = isinstance(value, list) and not isinstance(value, Object) and step < len(value)
            value = value[step] if is_there else None
        else:
            value = next((member for key, member in value if key == step), None) if isinstance(value, Object) else None
    return value
