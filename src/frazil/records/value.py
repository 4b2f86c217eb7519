"""Keys and header values: their texts, and whether such a text is a JSON value to be kept as one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from frazil.records.variant import kept

_AS_IT_IS: Final = "^(true|false|0|-?[1-9][0-9]{0,17})$"
"""JSON documents that need no look: they are compact, and a VARIANT keeps them."""


class Value(NamedTuple):
    """A key or header value."""

    text: str | None
    is_json: bool = False
    """Whether the text is a JSON number, boolean, object or array rather than a text."""


@dataclass(frozen=True, slots=True)
class ValueColumn:
    """A column of keys or header values."""

    texts: pa.StringArray
    is_json: pa.BooleanArray
    bad: Mapping[int, str] = field(default_factory=dict)
    """Reasons by row, as what is said of them."""

    @property
    def json(self) -> pa.StringArray:
        """The values as JSON."""
        return pc.fill_null(pc.if_else(self.is_json, self.texts, quoted(self.texts)), "null")


def no_object(kind: str) -> str:
    """Why a value without keys goes to no columns; `kind` is what it is, such as `an array`."""
    return f"the value is {kind}, not a JSON object; the transform HoistField$Value puts such values into a field"


def values(column: pa.StructArray) -> ValueColumn:
    """The values of a column of `frazil.records.batches.TEXT_OR_JSON`; each JSON document is read once."""
    texts, is_json = column.flatten()
    is_json = pc.fill_null(pc.and_(is_json, pc.is_valid(texts)), pa.scalar(False))
    if not pc.any(is_json).as_py():
        return ValueColumn(texts, is_json)
    unread = pc.and_not(is_json, pc.fill_null(pc.match_substring_regex(texts, _AS_IT_IS), pa.scalar(True)))
    distinct = pc.if_else(unread, texts, pa.scalar(None, pa.string())).dictionary_encode()
    found: list[Value] = []
    reasons: dict[int, str] = {}
    for index, text in enumerate(distinct.dictionary.to_pylist()):
        try:
            found.append(from_json(text))
        except ValueError as error:
            found.append(Value(None))
            reasons[index] = f"is not valid JSON: {error}"
    read = pa.array([value.text for value in found], pa.string()).take(distinct.indices)
    stays = pa.array([value.is_json for value in found], pa.bool_()).take(distinct.indices)
    places = distinct.indices.to_pylist() if reasons else []
    bad = {row: reasons[index] for row, index in enumerate(places) if index in reasons}
    return ValueColumn(pc.if_else(unread, read, texts), pc.if_else(unread, stays, is_json), bad)


def quoted(texts: pa.StringArray) -> pa.StringArray:
    """Plain texts as JSON; null stays null."""
    distinct = texts.dictionary_encode()
    return pa.array([orjson.dumps(text).decode() for text in distinct.dictionary.to_pylist()], pa.string()).take(
        distinct.indices
    )


def from_json(text: str) -> Value:
    """The value of a JSON document, compact, its numbers with their own digits.

    One that a VARIANT would change is its text instead: a number that is none of those it keeps, an object that has a
    key twice.

    Raises:
        ValueError: it is none, or nested too deep.
    """
    try:
        parsed, survives = _parse(text)
        if parsed is None or isinstance(parsed, str):
            return Value(parsed)
        return Value(msgspec.json.format(text, indent=-1).strip(), survives)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _parse(text: str) -> tuple[Any, bool]:
    """The document, without the values of its numbers and what is in its objects; and whether a VARIANT keeps it."""
    if "\\u" in text:
        json.dumps(json.loads(text), ensure_ascii=False).encode()  # half a surrogate pair is no character
    try:
        return _EXACT.decode(text), True
    except _Changed:
        return _ANY.decode(text), False


class _Changed(Exception):
    """A VARIANT would not keep this."""


def _exact_number(text: str) -> int:
    if kept(text) is None:
        raise _Changed
    return 0


def _exact_object(members: list[tuple[str, Any]]) -> tuple[()]:
    if len({key for key, _ in members}) < len(members):
        raise _Changed
    return ()


def _any_number(_: str) -> int:
    return 0


def _no_number(text: str) -> None:
    raise ValueError(f"JSON has no {text}")


_EXACT: Final = json.JSONDecoder(
    object_pairs_hook=_exact_object, parse_float=_exact_number, parse_int=_exact_number, parse_constant=_no_number
)
_ANY: Final = json.JSONDecoder(parse_float=_any_number, parse_int=_any_number, parse_constant=_no_number)
