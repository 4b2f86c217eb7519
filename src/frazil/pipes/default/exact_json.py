"""JSON read and written without losing anything: numbers as they were written, objects with all their keys."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn, TypeGuard

DEEPEST: Final = 500
"""Levels of nesting a record may have."""

TOO_DEEP: Final = f"the value is nested deeper than {DEEPEST} levels"

_SHOWN = 60
"""Characters of a value that a reason shows."""


class Number(str):
    """A JSON number as it was written; parsing it would round what a double cannot hold."""

    __slots__ = ()


class Object(list[tuple[str, Any]]):
    """A JSON object with all its keys, duplicates included."""

    __slots__ = ()


class CoercionError(Exception):
    """A value does not fit; carries the sentence for the reject."""


class Twice(CoercionError):
    """A key has a value twice."""

    def __init__(self, key: str) -> None:
        super().__init__("the key appears twice with a value")
        self.key = key


def parse(text: str) -> Any:
    """The document, with `Number`s and `Object`s.

    Raises:
        CoercionError: the text is not valid JSON, or is nested too deep.
    """
    try:
        parsed = _DECODER.decode(text)
        text.encode()
    except json.JSONDecodeError as error:
        # Some of Python's messages end where they expect the place.
        raise CoercionError(
            f"the value is not valid JSON: {error.msg.removesuffix(' at')} at character {error.pos}"
        ) from error
    _check_depth(parsed, 0)
    return parsed


def _check_depth(value: Any, depth: int) -> None:
    if depth > DEEPEST:
        raise CoercionError(TOO_DEEP)
    if isinstance(value, Object):
        for _, member in value:
            _check_depth(member, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_depth(item, depth + 1)


def unique(members: Object) -> list[tuple[str, Any]]:
    """The members with each key once: of duplicates the one that has a value, if only one has."""
    found: dict[str, Any] = {}
    for key, value in members:
        if found.get(key) is not None and value is not None:
            raise Twice(key)
        if found.get(key) is None:
            found[key] = value
    return list(found.items())


def kind_of(value: Any) -> str:
    """What a value is, for people."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case Number():
            return "a number"
        case str():
            return "a text"
        case Object():
            return "an object"
        case _:
            return "an array"


def raw(value: Any) -> str:
    """The value as compact JSON, numbers as they were written."""
    written: list[str] = []
    _write(value, written)
    return "".join(written)


def _write(value: Any, written: list[str]) -> None:
    # One stack frame a level: a generator for the members would need two, and Python allows about a thousand.
    match value:
        case None:
            written.append("null")
        case bool():
            written.append("true" if value else "false")
        case Number():
            written.append(str(value))
        case str():
            written.append(string(value))
        case Object():
            separator = "{"
            for key, member in value:
                written.append(f"{separator}{string(key)}:")
                _write(member, written)
                separator = ","
            written.append("}" if value else "{}")
        case _:
            separator = "["
            for item in value:
                written.append(separator)
                _write(item, written)
                separator = ","
            written.append("]" if value else "[]")


def string(text: str) -> str:
    """The text as a JSON string.

    Raises:
        CoercionError: it holds half a surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CoercionError("a text holds an unpaired surrogate, which is no character") from error
    return json.dumps(text, ensure_ascii=False)


def shown(value: Any) -> str:
    """The start of a value, for a reason."""
    return short(value if isinstance(value, str) else raw(value))


def short(text: str) -> str:
    """The start of a text, quoted."""
    safe = text.encode("utf-8", "replace").decode()
    return repr(safe) if len(safe) <= _SHOWN else repr(safe[:_SHOWN]) + "…"


def is_text(value: Any) -> TypeGuard[str]:
    """Whether a value is a JSON string."""
    return isinstance(value, str) and not isinstance(value, Number)


def wrong_kind(value: Any, name: str) -> CoercionError:
    """The error of a value whose kind is not the column's."""
    return CoercionError(f"{kind_of(value)} does not fit a column of type {name}: {shown(value)}")


def _refuse(literal: str) -> NoReturn:
    raise CoercionError(f"the value is not valid JSON: {literal} is not a number there")


_DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_float=Number, parse_int=Number, parse_constant=_refuse)
