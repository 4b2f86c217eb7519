"""What a task sees in keys that have no column: the shapes of their values, from which columns can be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isinf
from typing import Any, Final

import msgspec
from msgspec import Raw

from frazil.model import NOTHING_OBSERVED, ObservedType, RecordPlace
from frazil.pipes.default.decoder import REFUSED
from frazil.pipes.default.exact_json import CoercionError, Object, is_text, parse
from frazil.pipes.default.exact_json import raw as written
from frazil.records.new_keys import MIXED
from frazil.sql import LONGEST_NAME

_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_ITEMS: Final = msgspec.json.Decoder(list[Raw])
_DEEPEST: Final = 50
"""Levels below which a value counts as nested, whatever is in it."""

_SCALARS: Final = {ord("n"): "null", ord("t"): "boolean", ord("f"): "boolean", ord('"'): "string"}


def members(value: bytes | str | Raw) -> Mapping[str, Raw]:
    """The members of a JSON object, unparsed; of a key given twice the last.

    Raises:
        msgspec.DecodeError: the text is no JSON object.
    """
    found: Mapping[str, Raw] = _MEMBERS.decode(value)
    return found


def seen_in(
    value: str, known: Callable[[str], bool], *, deep: bool, at: RecordPlace | None = None
) -> Mapping[str, ObservedType]:
    """What the values of a record's keys look like that are not known.

    A record that is no JSON object has none.

    Args:
        value: the record's value.
        known: whether a key is known.
        deep: whether to look into objects and arrays.
        at: where the record lies.
    """
    levels = _DEEPEST if deep else 0
    try:
        return {key: _seen(raw, levels, at) for key, raw in members(value).items() if not known(key)}
    except REFUSED:
        return _seen_exactly(value, known, levels, at)


def _seen_exactly(
    value: str, known: Callable[[str], bool], levels: int, at: RecordPlace | None
) -> Mapping[str, ObservedType]:
    """What a record looks like that msgspec cannot read, as the exact tier reads it."""
    try:
        parsed = parse(value)
    except (CoercionError, RecursionError):
        return {}
    if not isinstance(parsed, Object):
        return {}
    return {key: _seen_value(member, levels, at) for key, member in parsed if not known(key)}


def _seen_value(value: Any, levels: int, at: RecordPlace | None) -> ObservedType:
    match value:
        case Object():
            found = value if levels else ()
            return _seen_object({key: _seen_value(member, levels - 1, at) for key, member in found}, at)
        case list():
            element = NOTHING_OBSERVED
            for item in value if levels else ():
                element = element.merged_with(_seen_value(item, levels - 1, at))
            return ObservedType(element=element, first=at)
        case str() if is_text(value):
            return ObservedType(frozenset({"string"}), first=at)
        case _:
            return ObservedType(frozenset({_scalar(written(value).encode())}), first=at)


def _seen(raw: Raw, levels: int, at: RecordPlace | None) -> ObservedType:
    text = bytes(raw).strip()
    if text[:1] == b"{":
        found = members(raw) if levels else {}
        return _seen_object({key: _seen(member, levels - 1, at) for key, member in found.items()}, at)
    if text[:1] == b"[":
        element = NOTHING_OBSERVED
        for item in _ITEMS.decode(raw) if levels else ():
            element = element.merged_with(_seen(item, levels - 1, at))
        return ObservedType(element=element, first=at)
    return ObservedType(frozenset({_scalar(text)}), first=at)


def _seen_object(fields: Mapping[str, ObservedType], at: RecordPlace | None) -> ObservedType:
    if any(len(name) > LONGEST_NAME for name in fields):
        return replace(MIXED, first=at)
    # In the order that merging leaves them in: whether records are merged hangs on how they are spread over tasks.
    return ObservedType(fields=tuple(sorted(fields.items(), key=lambda item: item[0])), first=at)


def _scalar(text: bytes) -> str:
    kind = _SCALARS.get(text[0])
    if kind is not None:
        return kind
    if not text.lstrip(b"-").isdigit():
        # Beyond a double's range, too, only text keeps the value.
        return "huge" if isinf(float(text)) else "double"
    return "long" if len(text) < 21 and -(2**63) <= int(text) < 2**63 else "huge"
