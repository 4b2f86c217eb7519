"""The default pipe's SQL: top-level keys to columns by name, ignoring case (spec 5.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from frazil.model import Column, FieldPath, IcebergType, ListType, MapType, Primitive, StructType, is_rescued_name
from frazil.pipes.base import CHUNK, ROW, Chunk
from frazil.pipes.default.times import (
    AFTER_FIRST_YEAR,
    AFTER_LAST_NANOSECOND,
    FIRST_NANOSECOND,
    LAST_YEAR,
    MICROSECONDS_FROM,
    MILLISECONDS_FROM,
    MOST_NANOSECONDS,
    NANOSECONDS_FROM,
)
from frazil.pipes.forms import form_named
from frazil.pipes.metadata_form import MetadataForm
from frazil.pipes.naming import folded, normalized
from frazil.pipes.record_metadata import RECORD
from frazil.pipes.types import cast, file_name, has, json_structure, paths_within, sql_type
from frazil.records.convert import VALUE
from frazil.sql import Wildcard, ident, is_usable_name, json_path, literal, pointer, wildcard_path

TIME_FORM: Final = "a time is in another form than this statement reads"
"""What DuckDB says when the statement meets a time it would not read as it is meant."""

_RAW_NUMBERS: Final = "\x7f"
"""A key made of these is read for its type: DuckDB keeps the digits of numbers within JSON if it reads some DECIMAL."""

_FORMS: Final = {
    "time": (r".{8}(\.[0-9]{1,6})?",),
    "timestamp": (r".{10}T.{8}(\.[0-9]{1,6})?Z?",),
    "timestamptz": (r".{10}T.{8}(\.[0-9]{1,6})?Z?", r".{10}T.{8}(\.[0-9]{1,6})?[+-].{5}"),
    "timestamp_ns": (r".{10}T.{8}(\.[0-9]{1,9})?",),
    "timestamptz_ns": (r".{10}T.{8}(\.[0-9]{1,9})?Z?", r".{10}T.{8}(\.[0-9]{1,9})?[+-].{5}"),
}
"""Forms of the times that are read exactly, given that they are RFC 3339: the second one not at the years' ends."""

_NANOSECONDS: Final = frozenset({Primitive("timestamp_ns"), Primitive("timestamptz_ns")})

_TIME: Final = Primitive("time")


_MINUS_ZERO: Final = r"-0\s*[,}\]]"


RESCUE_KEY: Final = "\x7frescued"
"""What the column of rescued values is read from: hardly a key of records, and none that is read as it is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the records of a task are read, by what is known of their keys."""

    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Column name → the spellings of its key; a column without any has its default in all rows, or NULL."""

    documents: frozenset[str] = frozenset()
    """Names of text columns some of whose values are objects or arrays, kept as JSON text."""

    @property
    def may_be_strict(self) -> bool:
        """Whether one reading of a record gives every column."""
        return not self.documents and all(len(keys) == 1 for keys in self.spellings.values())


@dataclass(frozen=True, slots=True)
class Projection:
    """Which keys go to which columns of one table, and how they are read."""

    columns: tuple[Column, ...]
    """All columns of the table, in its order."""

    normalizes: bool = False
    """Whether keys are normalised like Snowflake's identifiers before they are compared with columns."""

    metadata_column: str = RECORD.column
    """The column that says where a record comes from."""

    in_base64: bool = False
    """Whether bytes are texts in base64, rather than in hexadecimal digits."""

    rescued: Column | None = field(init=False, repr=False, compare=False, default=None)
    """The column of rescued values, which no key goes to."""

    _payload: tuple[Column, ...] = field(init=False, repr=False, compare=False)
    # Asked for every key of every record that the exact tier looks at: looked up, not searched.
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False, default_factory=dict)
    _by_folded_name: dict[str, Column] = field(init=False, repr=False, compare=False, default_factory=dict)
    _folded_paths: set[str] = field(init=False, repr=False, compare=False, default_factory=set)

    def __post_init__(self) -> None:
        payload = tuple(column for column in self.columns if not self._form.is_column(column))
        object.__setattr__(self, "_payload", payload)
        for column in self._payload:
            if is_rescued_name(column.name):
                object.__setattr__(self, "rescued", column)
                continue
            self._by_name[column.name] = column
            self._by_folded_name.setdefault(folded(column.name), column)
        for column in self.columns:
            self._folded_paths.update(folded(path) for path in paths_within(column.name, column.type))

    @property
    def _form(self) -> MetadataForm:
        return form_named(self.metadata_column)

    def payload(self) -> tuple[Column, ...]:
        """The columns that come from the record's keys: all but the one of metadata."""
        return self._payload

    def inputs(self) -> tuple[str, ...]:
        """The columns of converted records that are read."""
        return (VALUE, *self._form.inputs) if len(self._payload) < len(self.columns) else (VALUE,)

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

    def can_name_field(self, path: FieldPath) -> bool:
        """Whether a struct can get a field of that path; Iceberg knows fields by dotted paths, columns too."""
        dotted = folded(".".join(path))
        return is_usable_name(path[-1]) and dotted not in self._folded_paths and dotted not in self._by_folded_name

    def is_settled(self, key: str) -> bool:
        """Whether a key will never become a column, having one or being no name for one."""
        return self.column_for(key) is not None or not self.can_name_column(key) or self.is_reserved(key)

    def is_reserved(self, key: str) -> bool:
        """Whether a key is called like a column of frazil's own, into which no key goes."""
        return self._form.is_name(self.name_for(key)) or is_rescued_name(self.name_for(key))

    def select(self, reading: Reading, defaults: Mapping[str, str] | None = None, *, strict: bool = False) -> str:
        """The SELECT that projects the rows of a chunk.

        Its columns are called what they are called in data files.

        It fails with `TIME_FORM` on a time that DuckDB would not read as it is meant.

        Args:
            reading: which keys each column is read from, and how.
            defaults: by column, JSON text that stands for keys no record has.
            strict: fail on a record that lacks a key or has one twice, at any depth.
        """
        values = ((self._expression(column, reading, defaults or {}), file_name(column)) for column in self.columns)
        columns = ", ".join(f"{value} AS {ident(name)}" for value, name in values)
        return f"SELECT {columns} FROM ({self._parsed(reading, strict=strict)})"

    def misformed(self, chunk: Chunk, reading: Reading) -> set[int]:
        """The rows that make `select` fail with `TIME_FORM`."""
        checked = [column for column in self.payload() if is_checked(column)]
        times = Reading({column.name: reading.spellings.get(column.name, ()) for column in checked})
        wrong = [
            f"NOT coalesce({_has_form(column, value)} OR {_is_number(column, value)}, true)"
            for column in checked
            for value in self._reads(column, times)
        ]
        return _where(chunk, wrong, self._parsed(times, strict=False))

    def misread(self, chunk: Chunk, reading: Reading, *, strict: bool) -> set[int]:
        """The rows that `select` reads without failing, and not as they are meant."""
        wrong = []
        if any(has(column.type, "string") for column in self.payload()) and (
            reading.documents or any(has(column.type, "decimal") for column in self.payload())
        ):
            # Where DuckDB keeps the digits of numbers, it keeps the sign of zero in a text column, too.
            wrong.append(f"regexp_matches({VALUE}, {literal(_MINUS_ZERO)})")
        if strict:
            return _where(chunk, wrong)
        # Nobody has looked into what goes nowhere or into a VARIANT.
        wrong.append(f"NOT json_valid({VALUE})")
        wrong += [_has_two_values(keys) for keys in reading.spellings.values() if len(keys) > 1]
        return _where(chunk, wrong)

    def duplicated(self, chunk: Chunk, reading: Reading) -> set[int]:
        """The rows in which an object whose keys are columns or fields has a key twice: `strict` refuses them alone.

        JSON readers take the first or the last of the two, each its own.
        """
        paths: list[_Path] = [()]
        for column in self.payload():
            for key in reading.spellings.get(column.name, ()):
                paths.extend((key, *path) for path in _objects(column.type))
        return {row for path in paths for row in _rows_with_duplicates(chunk, path)}

    def _parsed(self, reading: Reading, *, strict: bool) -> str:
        """The rows of a chunk with their values parsed, once for each level of spellings."""
        read = "from_json_strict" if strict else "from_json"
        depth = max((len(reading.spellings.get(column.name, ())) for column in self.payload()), default=0)
        levels = "".join(
            f", {read}({VALUE}, {self._structure(level, reading)}) AS {_level(level)}" for level in range(depth)
        )
        return f"SELECT *{levels} FROM {CHUNK}"

    def _value(self, column: Column, reading: Reading, defaults: Mapping[str, str]) -> str:
        casts = [_cast(column, value, reading, in_base64=self.in_base64) for value in self._reads(column, reading)]
        if not casts:
            return constant(column, defaults.get(column.name), in_base64=self.in_base64)
        return casts[0] if len(casts) == 1 else f"coalesce({', '.join(casts)})"

    def _reads(self, column: Column, reading: Reading) -> list[str]:
        """SQL for what was parsed under each spelling of a column's key."""
        return [f"{_level(level)}.{ident(key)}" for level, key in enumerate(reading.spellings.get(column.name, ()))]

    def _expression(self, column: Column, reading: Reading, defaults: Mapping[str, str]) -> str:
        if not self._form.is_column(column):
            return self._value(column, reading, defaults)
        return self._form.expression(column)

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


def _level(level: int) -> str:
    return ident(f"parsed {level}")


def _structure_of(column: Column, reading: Reading) -> object:
    if is_checked(column):
        return "VARCHAR"
    return "JSON" if column.name in reading.documents else json_structure(column.type)


def _cast(column: Column, value: str, reading: Reading, *, in_base64: bool) -> str:
    if is_checked(column):
        kind = sql_type(column.type)
        form = f"WHEN {_has_form(column, value)} THEN CAST({value} AS {kind})"
        number = ""
        if column.type != _TIME:
            number = f"WHEN {_is_number(column, value)} THEN CAST({_since_epoch(column, value)} AS {kind}) "
        return f"CASE WHEN {value} IS NULL THEN NULL {form} {number}ELSE error({literal(TIME_FORM)}) END"
    if column.name in reading.documents:
        return f"CASE WHEN starts_with({value}, '\"') THEN {value} ->> '$' ELSE CAST({value} AS VARCHAR) END"
    return cast(value, column.type, in_base64=in_base64)


def _has_form(column: Column, value: str) -> str:
    """SQL for whether a text is in its type's form; NULL for NULL."""
    plain, *offset = _FORMS[str(column.type)]
    matches = f"regexp_full_match({value}, {literal(plain)})"
    first, last = "0002", "9999"
    if column.type in _NANOSECONDS:
        matches = f"({matches} AND {value} >= '{FIRST_NANOSECOND}' AND {value} < '{AFTER_LAST_NANOSECOND}')"
        first, last = AFTER_FIRST_YEAR, LAST_YEAR
    if not offset:
        return matches
    # In UTC, a moment of the year 1 or 9999 may be one of the year 0 or 10000.
    inside = f"{value} >= '{first}' AND {value} < '{last}'"
    return f"({matches} OR (regexp_full_match({value}, {literal(offset[0])}) AND {inside}))"


def _is_number(column: Column, value: str) -> str:
    """SQL for whether a text is a number since the epoch: the decoder lets only those through that are exact."""
    whole = f"regexp_full_match({value}, '-?[0-9]+')"
    if column.type not in _NANOSECONDS:
        return whole
    return f"({whole} AND coalesce(abs({_nanoseconds(value)}) <= {MOST_NANOSECONDS}, false))"


def _nanoseconds(value: str) -> str:
    """SQL for the nanoseconds since the epoch that a number stands for, of which there may be more than a BIGINT."""
    number = f"CAST(TRY_CAST({value} AS BIGINT) AS HUGEINT)"
    scale = (
        f"CASE WHEN abs({number}) < {MILLISECONDS_FROM} THEN 1000000000 "
        f"WHEN abs({number}) < {MICROSECONDS_FROM} THEN 1000000 "
        f"WHEN abs({number}) < {NANOSECONDS_FROM} THEN 1000 ELSE 1 END"
    )
    return f"{number} * {scale}"


def _since_epoch(column: Column, value: str) -> str:
    """SQL for the moment a number since the epoch stands for, in UTC."""
    if column.type in _NANOSECONDS:
        return f"make_timestamp_ns(CAST({_nanoseconds(value)} AS BIGINT))"
    number = f"TRY_CAST({value} AS BIGINT)"
    scale = (
        f"CASE WHEN abs({number}) < {MILLISECONDS_FROM} THEN 1000000 "
        f"WHEN abs({number}) < {MICROSECONDS_FROM} THEN 1000 ELSE 1 END"
    )
    return f"make_timestamp({number} * {scale})"


def constant(column: Column, text: str | None, *, in_base64: bool = False) -> str:
    """SQL for the value every row has in a column no record has a key for; `text` is its default as JSON."""
    if text is None:
        return f"CAST(NULL AS {sql_type(column.type)})"
    structure = literal(orjson.dumps({"default": json_structure(column.type)}).decode())
    record = literal('{"default": ' + text + "}")
    return cast(f"from_json({record}, {structure}).default", column.type, in_base64=in_base64)


def _where(chunk: Chunk, conditions: list[str], source: str = f"FROM {CHUNK}") -> set[int]:
    """The rows for which one of some conditions is true, but for those the exact tier has written."""
    if not conditions:
        return set()
    return chunk.unsettled(chunk.query(f"SELECT {ROW} FROM ({source}) WHERE {' OR '.join(conditions)}"))


def _has_two_values(keys: tuple[str, ...]) -> str:
    """SQL for whether two spellings of one column's key have a value."""
    paths = ", ".join(literal(pointer((key,))) for key in keys)
    values = f"list_filter(json_type({VALUE}, [{paths}]), lambda kind: kind <> 'NULL')"
    return f"CASE WHEN json_valid({VALUE}) THEN len({values}) > 1 END"


_Path = tuple[str | Wildcard, ...]


def _rows_with_duplicates(chunk: Chunk, path: _Path) -> set[int]:
    """The rows in which an object at a path has a key twice."""
    names, is_one = _names(path)
    listed = names if is_one else f"unnest({names})"
    lists = chunk.query(f"SELECT DISTINCT names FROM (SELECT {listed} AS names FROM {CHUNK})")
    twice = [keys for (keys,) in lists if keys is not None and len(keys) != len(set(keys))]
    if not twice:
        return set()
    condition = f"list_contains($twice, {names})" if is_one else f"list_has_any({names}, $twice)"
    # A bound value may hold what a literal may not: keys with NUL characters.
    return chunk.unsettled(chunk.query(f"SELECT {ROW} FROM {CHUNK} WHERE {condition}", {"twice": twice}))


def _names(path: _Path) -> tuple[str, bool]:
    """SQL for the keys of the object at a path, or the list of those of all objects there; and whether it is one."""
    keys = [key for key in path if isinstance(key, str)]
    if len(keys) == len(path):
        return f"json_keys({VALUE}, {json_path(keys)})", True
    return f"json_keys({VALUE}, {literal(wildcard_path(path))})", False


def _objects(kind: IcebergType, path: _Path = ()) -> Iterator[_Path]:
    """Paths of the objects within a type."""
    match kind:
        case StructType(fields=fields):
            yield path
            for field_ in fields:
                yield from _objects(field_.type, (*path, field_.name))
        case ListType(element=element):
            yield from _objects(element, (*path, Wildcard.ELEMENTS))
        case MapType(value=value):
            yield path
            yield from _objects(value, (*path, Wildcard.MEMBERS))
        case Primitive():
            return
