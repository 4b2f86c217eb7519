"""The default pipe `<TABLE>-STREAMING`: top-level keys to columns by name, ignoring case (spec 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from frazil.model import Column, Primitive
from frazil.pipes import record_metadata
from frazil.pipes.naming import folded, normalized
from frazil.pipes.types import cast, file_name, json_structure, paths_within, sql_type
from frazil.records import metadata
from frazil.records.convert import VALUE
from frazil.sql import ident, is_usable_name, literal

TIME_FORM: Final = "a time is in another form than this statement reads"
"""What DuckDB says when the statement meets a time it would not read as it is meant."""

_RAW_NUMBERS: Final = "\x7f"
"""A key made of these is read for its type: DuckDB keeps the digits of numbers within JSON if it reads some DECIMAL."""

_FORMS: Final = {
    "time": (r".{8}(\.[0-9]{1,6})?",),
    "timestamp": (r".{10}T.{8}(\.[0-9]{1,6})?",),
    "timestamptz": (r".{10}T.{8}(\.[0-9]{1,6})?Z?", r".{10}T.{8}(\.[0-9]{1,6})?[+-].{5}"),
}
"""Forms of the times that are read exactly, given that they are RFC 3339: the second one not at the years' ends."""

_TIME: Final = Primitive("time")
_MILLISECONDS_FROM: Final = 31_536_000_000
_MICROSECONDS_FROM: Final = 1000 * _MILLISECONDS_FROM
NANOSECONDS_FROM: Final = 1000 * _MICROSECONDS_FROM
"""The smallest number since the epoch that is nanoseconds (spec 4.3); below are microseconds and so on to seconds."""


@dataclass(slots=True)
class Reading:
    """What a task knows of the records' keys so far."""

    spellings: dict[str, list[str]]
    """Column name → the spellings of its key; a column without any has its default in all rows, or NULL."""

    documents: set[str]
    """Names of text columns some of whose values are objects or arrays, kept as JSON text."""

    @property
    def may_be_strict(self) -> bool:
        """Whether one reading of a record gives every column."""
        return not self.documents and all(len(keys) == 1 for keys in self.spellings.values())


@dataclass(frozen=True, slots=True)
class DefaultPipe:
    """The projection of one table."""

    columns: tuple[Column, ...]
    """All columns of the table, in its order."""

    normalizes: bool = False
    """Whether keys are normalised like Snowflake's identifiers before they are compared with columns."""

    _payload: tuple[Column, ...] = field(init=False, repr=False, compare=False)
    # Asked for every key of every record that the exact tier looks at: looked up, not searched.
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False, default_factory=dict)
    _by_folded_name: dict[str, Column] = field(init=False, repr=False, compare=False, default_factory=dict)
    _folded_paths: set[str] = field(init=False, repr=False, compare=False, default_factory=set)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_payload", tuple(column for column in self.columns if not is_metadata(column)))
        for column in self._payload:
            self._by_name[column.name] = column
            self._by_folded_name.setdefault(folded(column.name), column)
        for column in self.columns:
            self._folded_paths.update(folded(path) for path in paths_within(column.name, column.type))

    def payload(self) -> tuple[Column, ...]:
        """The columns that come from the record's keys: all but RECORD_METADATA."""
        return self._payload

    def column_for(self, key: str) -> Column | None:
        """The column a top-level key goes to: that of the same name, else the one equal ignoring case."""
        name = self.name_for(key)
        return self._by_name.get(name) or self._by_folded_name.get(folded(name))

    def name_for(self, key: str) -> str:
        """What a column that is made for a key is called."""
        return normalized(key) if self.normalizes else key

    def can_name_column(self, key: str) -> bool:
        """Whether a column can be made for a key that has none."""
        name = self.name_for(key)
        return is_usable_name(name) and folded(name) not in self._folded_paths

    def select(
        self, source: str, reading: Reading, defaults: Mapping[str, str] | None = None, *, strict: bool = False
    ) -> str:
        """The SELECT that projects the rows of `source`, which has the columns `frazil.records.convert` makes.

        Its columns are called what they are called in data files.

        It fails with `TIME_FORM` on a time that DuckDB would not read as it is meant.

        Args:
            source: a relation's name.
            reading: which keys each column is read from, and how.
            defaults: by column, JSON text that stands for keys no record has.
            strict: fail on a record that lacks a key or has one twice, at any depth.
        """
        values = ((self._expression(column, reading, defaults or {}), file_name(column)) for column in self.columns)
        columns = ", ".join(f"{value} AS {ident(name)}" for value, name in values)
        return f"SELECT {columns} FROM ({self._parsed(source, reading, strict=strict)})"

    def misformed(self, source: str, row: str, reading: Reading) -> str:
        """The SELECT of the `row`s of `source` that make `select` fail with `TIME_FORM`."""
        wrong = [
            f"NOT coalesce({_has_form(column, value)} OR {_is_number(value)}, true)"
            for column in self.payload()
            if is_checked(column)
            for value in self._reads(column, reading)
        ]
        return (
            f"SELECT {row} FROM ({self._parsed(source, reading, strict=False)}) WHERE {' OR '.join(wrong) or 'false'}"
        )

    def _parsed(self, source: str, reading: Reading, *, strict: bool) -> str:
        """The rows of `source` with their values parsed, once for each level of spellings."""
        read = "from_json_strict" if strict else "from_json"
        depth = max((len(reading.spellings.get(column.name, ())) for column in self.payload()), default=0)
        levels = "".join(
            f", {read}({VALUE}, {self._structure(level, reading)}) AS {_level(level)}" for level in range(depth)
        )
        return f"SELECT *{levels} FROM {source}"

    def _value(self, column: Column, reading: Reading, defaults: Mapping[str, str]) -> str:
        casts = [_cast(column, value, reading) for value in self._reads(column, reading)]
        if not casts:
            return _constant(column, defaults.get(column.name))
        return casts[0] if len(casts) == 1 else f"coalesce({', '.join(casts)})"

    def _reads(self, column: Column, reading: Reading) -> list[str]:
        """SQL for what was parsed under each spelling of a column's key."""
        return [f"{_level(level)}.{ident(key)}" for level, key in enumerate(reading.spellings.get(column.name, ()))]

    def _expression(self, column: Column, reading: Reading, defaults: Mapping[str, str]) -> str:
        if not is_metadata(column):
            return self._value(column, reading, defaults)
        return record_metadata.expression(column)

    def _structure(self, level: int, reading: Reading) -> str:
        """What a level reads: from_json refuses keys that differ only by case, so each spelling has a level."""
        read: dict[str, object] = {
            keys[level]: _structure_of(column, reading)
            for column in self.payload()
            if level < len(keys := reading.spellings.get(column.name, ()))
        }
        if reading.documents:
            # Longer than all others, it is the key of no column.
            read[_RAW_NUMBERS * (max(map(len, read)) + 1)] = "DECIMAL(1,0)"
        return literal(orjson.dumps(read).decode())


def is_checked(column: Column) -> bool:
    """Whether the statement itself checks the form of a column's texts."""
    return isinstance(column.type, Primitive) and column.type.name in _FORMS


def is_metadata(column: Column) -> bool:
    """Whether the column is RECORD_METADATA, in any case."""
    return is_metadata_name(column.name)


def is_metadata_name(name: str) -> bool:
    """Whether the name is RECORD_METADATA's, in any case."""
    return name.upper() == metadata.COLUMN


def _level(level: int) -> str:
    return ident(f"parsed {level}")


def _structure_of(column: Column, reading: Reading) -> object:
    if is_checked(column):
        return "VARCHAR"
    return "JSON" if column.name in reading.documents else json_structure(column.type)


def _cast(column: Column, value: str, reading: Reading) -> str:
    if is_checked(column):
        kind = sql_type(column.type)
        form = f"WHEN {_has_form(column, value)} THEN CAST({value} AS {kind})"
        number = f"WHEN {_is_number(value)} THEN CAST({_since_epoch(value)} AS {kind}) " if column.type != _TIME else ""
        return f"CASE WHEN {value} IS NULL THEN NULL {form} {number}ELSE error({literal(TIME_FORM)}) END"
    if column.name in reading.documents:
        return f"CASE WHEN starts_with({value}, '\"') THEN {value} ->> '$' ELSE CAST({value} AS VARCHAR) END"
    return cast(value, column.type)


def _has_form(column: Column, value: str) -> str:
    """SQL for whether a text is in its type's form; NULL for NULL."""
    plain, *offset = _FORMS[str(column.type)]
    matches = f"regexp_full_match({value}, {literal(plain)})"
    if not offset:
        return matches
    # In UTC, a moment of the year 1 or 9999 may be one of the year 0 or 10000.
    inside = f"{value} >= '0002' AND {value} < '9999'"
    return f"({matches} OR (regexp_full_match({value}, {literal(offset[0])}) AND {inside}))"


def _is_number(value: str) -> str:
    """SQL for whether a text is a number since the epoch: the decoder lets only those through that are exact."""
    return f"regexp_full_match({value}, '-?[0-9]+')"


def _since_epoch(value: str) -> str:
    """SQL for the moment a number since the epoch stands for, in UTC."""
    number = f"TRY_CAST({value} AS BIGINT)"
    scale = (
        f"CASE WHEN abs({number}) < {_MILLISECONDS_FROM} THEN 1000000 "
        f"WHEN abs({number}) < {_MICROSECONDS_FROM} THEN 1000 ELSE 1 END"
    )
    return f"make_timestamp({number} * {scale})"


def _constant(column: Column, text: str | None) -> str:
    """SQL for the value every row has in a column no record has a key for."""
    if text is None:
        return f"CAST(NULL AS {sql_type(column.type)})"
    structure = literal(orjson.dumps({"default": json_structure(column.type)}).decode())
    record = literal('{"default": ' + text + "}")
    return cast(f"from_json({record}, {structure}).default", column.type)
