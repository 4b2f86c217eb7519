"""One record key or header value: its text, and whether that text is a JSON value to be kept as one."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from frazil.records.variant_numbers import kept


class Value(NamedTuple):
    """A key or header value, by its converter."""

    text: str | None
    is_json: bool = False
    """Whether the text is a JSON number, boolean, object or array rather than a text."""

    @property
    def json(self) -> str:
        """The value as JSON."""
        return self.text if self.is_json and self.text is not None else orjson.dumps(self.text).decode()


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
