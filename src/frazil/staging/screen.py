"""The fast tier's check: a decoder compiled from the table's columns that accepts only what COPY reads exactly.

The decoder is strict: a JSON value must have the column's own JSON type and be in its range, and every key must be
known. It builds nothing that is kept; its whole result is which rows it refuses. Those go to `frazil.staging.judge`,
which gives the reason or writes the record anew.

Keys are learned from the records: a table's columns may be spelled in another case than the records' keys, and keys
without a column are counted. What was learned lasts as long as the task.
"""

from __future__ import annotations

import re
import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from frazil.model import Column, IcebergType, ListType, Primitive, StructType
from frazil.pipes.default import DefaultPipe
from frazil.pipes.types import check_text_form
from frazil.sql import is_usable_name
from frazil.staging.exact_json import DEEPEST

_KEYS_LEARNED: Final = 500
"""Keys without a column that get a place in the decoder; records with others are counted one by one."""

_INT: Final = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_LONG: Final = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_LARGEST_FLOAT: Final = 3.4028234663852886e38

_REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Time:
    """A text in the form a date or time column takes; the decoder keeps one of each kind, not the texts."""

    name: str


class _Date(_Time):
    name = "date"


class _Timestamp(_Time):
    name = "timestamp"


class _TimestampTz(_Time):
    name = "timestamptz"


_ACCEPTED: Final[dict[type[Any], _Time]] = {kind: kind() for kind in (_Date, _Timestamp, _TimestampTz)}


class _Unreadable:
    """A struct the decoder cannot describe, because msgspec takes no field of that name; only null is accepted."""


_TYPES: Final[dict[str, Any]] = {
    "boolean": bool,
    "int": _INT,
    "long": _LONG,
    "float": Annotated[float, Meta(ge=-_LARGEST_FLOAT, le=_LARGEST_FLOAT)],
    "double": float,
    # A number's text is the judge's, but for whole numbers, which DuckDB prints as they came.
    "string": str | bool | _LONG,
    "date": _Date,
    "timestamp": _Timestamp,
    "timestamptz": _TimestampTz,
}


class Screen:
    """Screens the records of one table."""

    def __init__(self, pipe: DefaultPipe, *, keeps_unknown: bool = False) -> None:
        """Screen for the table of `pipe`; `keeps_unknown` when new keys may become columns and so need usable names."""
        self._pipe = pipe
        self._keeps_unknown = keeps_unknown
        self._types = {column.name: _json_type(column.type) for column in pipe.payload()}
        self.spellings: dict[str, list[str]] = {}
        """Spellings of each column's key met so far."""

        self._unknown: dict[str, str] = {}
        """Keys without a column, and their places in the decoder."""

        self._needed: list[tuple[str, ...]] = []
        """Places of the decoder of which one must have a value, for each required column it cannot require itself."""

        self._decode = self._compile()

    def refused(self, values: Iterable[bytes | str | None], unknown: Counter[str]) -> list[int]:
        """The rows that must go to the judge; counts keys without a column into `unknown`.

        Args:
            values: JSON texts; None for a tombstone.
            unknown: how many of the accepted records have each key that has no column.
        """
        rows: list[int] = []
        nullable = not any(column.required for column in self._pipe.payload())
        for row, value in enumerate(values):
            if value is None:
                if not nullable:
                    rows.append(row)
                continue
            try:
                decoded = self._decode(value)
            except _REFUSED:
                decoded = self._after_learning(value)
            if (
                decoded is None
                or (self._needed and self._lacks_needed(decoded))
                or (len(value) > _SHALLOW and _is_too_deep(value))
            ):
                rows.append(row)
                continue
            if self._unknown:
                for key, place in self._unknown.items():
                    if getattr(decoded, place) is not UNSET:
                        unknown[key] += 1
        return rows

    def learn(self, keys: Iterable[str]) -> None:
        """Learn keys that records have."""
        if self._learn(keys):
            self._decode = self._compile()

    def _lacks_needed(self, decoded: Any) -> bool:
        return any(all(_is_null(getattr(decoded, place)) for place in places) for places in self._needed)

    def _after_learning(self, value: bytes | str) -> Any:
        """Learn the keys of a refused record and try again; None if it is still refused."""
        try:
            keys = _members(value)
        except _REFUSED:
            return None
        self.learn(keys)
        try:
            return self._decode(value)
        except _REFUSED:
            return None

    def _learn(self, keys: Iterable[str]) -> bool:
        learned = False
        for key in keys:
            column = self._pipe.column_for(key)
            if column is not None:
                known = self.spellings.setdefault(column.name, [])
                if key not in known:
                    known.append(key)
                    learned = True
            elif key not in self._unknown and len(self._unknown) < _KEYS_LEARNED and self._may_learn(key):
                self._unknown[key] = f"unknown_{len(self._unknown)}"
                learned = True
        return learned

    def _may_learn(self, key: str) -> bool:
        return _is_field_name(key) and (is_usable_name(key) or not self._keeps_unknown)

    def _compile(self) -> Callable[[bytes | str], Any]:
        fields: list[Any] = []
        renamed: dict[str, str] = {}
        self._needed = []
        for number, column in enumerate(self._pipe.payload()):
            kind = self._types[column.name]
            spellings = self.spellings.get(column.name, ())
            places = {f"column_{number}_{which}": key for which, key in enumerate(spellings) if _is_field_name(key)}
            required = column.required and len(spellings) == len(places) == 1 and kind is not Raw
            fields.extend(_field(place, kind, required=required) for place in places)
            renamed |= places
            if column.required and not required:
                self._needed.append(tuple(places))
        for key, place in self._unknown.items():
            renamed[place] = key
            fields.append((place, Raw, UNSET))
        record = _struct("Record", fields, renamed)
        return msgspec.json.Decoder(record, dec_hook=_hook).decode


_FIELD_NAME: Final = re.compile(r'[^"\\\x00-\x1f]*')


def _is_field_name(key: str) -> bool:
    """Whether msgspec takes a field of that name; records with other keys are refused, and read by the judge."""
    return _FIELD_NAME.fullmatch(key) is not None


def _is_null(value: Any) -> bool:
    return value is None or value is UNSET or (isinstance(value, Raw) and bytes(value) == b"null")


_SHALLOW: Final = 2 * DEEPEST
"""Bytes of a record that has no room for more levels than `DEEPEST`."""

_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[^][{}"]+', re.DOTALL)


def _is_too_deep(value: bytes | str) -> bool:
    """Whether a record is nested deeper than the judge allows: the decoder does not count levels."""
    data = value.encode() if isinstance(value, str) else value
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return False
    depth = deepest = 0
    for bracket in _STRINGS.sub(b"", data):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    # The record itself is level 0.
    return deepest - 1 > DEEPEST


def kinds_of_unknown(value: bytes | str, known: Callable[[str], bool]) -> Mapping[str, str]:
    """The JSON kinds of a record's keys that are not known; a record that is no JSON object has none.

    Kinds are `null`, `boolean`, `long`, `huge` (a whole number beyond 64 bits), `double`, `string`, `object`, `array`.
    """
    try:
        members = _members(value)
    except _REFUSED:
        return {}
    return {key: _kind(bytes(raw)) for key, raw in members.items() if not known(key)}


def _members(value: bytes | str) -> Mapping[str, Raw]:
    members: Mapping[str, Raw] = _MEMBERS.decode(value)
    return members


_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_KINDS: Final = {
    ord("n"): "null",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord('"'): "string",
    ord("{"): "object",
    ord("["): "array",
}


def _kind(raw: bytes) -> str:
    text = raw.strip()
    kind = _KINDS.get(text[0])
    if kind is not None:
        return kind
    if not text.lstrip(b"-").isdigit():
        return "double"
    return "long" if -(2**63) <= int(text) < 2**63 else "huge"


def _json_type(kind: IcebergType) -> Any:
    """What the decoder accepts for a type."""
    match kind:
        case Primitive(name="variant"):
            return Raw
        case Primitive(name="decimal", precision=precision, scale=scale):
            # A fraction may have more digits than the scale, and the cast would round it: the judge looks at those.
            largest = min(10 ** (precision - scale) - 1, 2**63 - 1)
            return Annotated[int, Meta(ge=-largest, le=largest)]
        case Primitive(name=name):
            return _TYPES[name]
        case ListType(element=element, element_required=required):
            inner = _json_type(element)
            return types.GenericAlias(list, inner if required else _optional(inner))
        case StructType(fields=fields):
            return _struct_of(fields)
        case _:
            raise TypeError(f"records are not projected to {kind}")


def _struct_of(columns: Iterable[Column]) -> Any:
    named = {f"field_{number}": column for number, column in enumerate(columns)}
    if not all(_is_field_name(column.name) for column in named.values()):
        return _Unreadable
    fields = [_field(place, _json_type(column.type), required=column.required) for place, column in named.items()]
    return _struct("Struct", fields, {place: column.name for place, column in named.items()})


def _struct(name: str, fields: list[Any], renamed: Mapping[str, str]) -> Any:
    # Required fields come first: Python's signatures want those without a default in front.
    ordered = sorted(fields, key=len)
    return msgspec.defstruct(name, ordered, rename=renamed, forbid_unknown_fields=True, gc=False)


def _field(place: str, kind: Any, *, required: bool) -> tuple[Any, ...]:
    if required:
        return (place, kind)
    return (place, kind, UNSET) if kind is Raw else (place, _optional(kind) | UnsetType, UNSET)


def _optional(kind: Any) -> Any:
    return kind if kind is Raw else kind | None


def _hook(kind: type[_Time | _Unreadable], value: Any) -> _Time:
    """Accept a text for a date or time column only in the forms COPY casts exactly."""
    accepted = _ACCEPTED.get(kind)
    if accepted is None or not isinstance(value, str):
        raise TypeError("not in the column's form")
    check_text_form(accepted.name, value)
    return accepted
