"""What the values of keys look like that have no column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isinf
from typing import Any, Final

from frazil.model import NOTHING_OBSERVED, ObservedType, OrderedPlace
from frazil.pipes.default.exact_json import CoercionError, Number, Object, parse
from frazil.records.new_keys import MIXED
from frazil.sql import LONGEST_NAME

LEVELS: Final = 50
"""Levels below which a value counts as nested, whatever is in it."""


def seen_in(
    value: str, known: Callable[[str], bool], *, deep: bool, at: OrderedPlace | None = None
) -> Mapping[str, ObservedType]:
    """What the values of a record's keys look like that are not known; a null says nothing of its key.

    A record that is not a JSON object has none.

    Args:
        value: the record's value.
        known: whether a key is known.
        deep: whether to look into objects and arrays.
        at: where the record lies.
    """
    try:
        parsed = parse(value)
    except (CoercionError, RecursionError):
        return {}
    if not isinstance(parsed, Object):
        return {}
    levels = LEVELS if deep else 0
    return {key: observed(member, levels, at) for key, member in parsed if member is not None and not known(key)}


def observed(value: Any, levels: int, at: OrderedPlace | None = None) -> ObservedType:
    """What a parsed value looks like, down to as many levels."""
    match value:
        case Object():
            found = value if levels else ()
            return _seen_object({key: observed(member, levels - 1, at) for key, member in found}, at)
        case list():
            element = MIXED if value and not levels else NOTHING_OBSERVED
            for item in value if levels else ():
                element = element.merged_with(observed(item, levels - 1, at))
            return ObservedType(element=element, first=at)
        case _:
            return ObservedType(frozenset({_scalar(value)}), first=at)


def _seen_object(fields: Mapping[str, ObservedType], at: OrderedPlace | None) -> ObservedType:
    if any(len(name) > LONGEST_NAME for name in fields):
        return replace(MIXED, first=at)
    # In the order that merging leaves them in: whether records are merged hangs on how they are spread over tasks.
    return ObservedType(fields=tuple(sorted(fields.items(), key=lambda item: item[0])), first=at)


def _scalar(value: str | bool | None) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case Number() if not value.lstrip("-").isdigit():
            # Beyond a double's range, too, only text keeps the value.
            return "huge" if isinf(float(value)) else "double"
        case Number():
            return "long" if len(value) < 21 and -(2**63) <= int(value) < 2**63 else "huge"
        case _:
            return "string"
