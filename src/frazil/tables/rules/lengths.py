"""How long the texts and bytes of columns may be: a property of the table says it, for Iceberg's types do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from frazil.model import Column

LENGTHS: Final = "frazil.lengths"
"""The property: a JSON object of lengths by the ids of columns, in characters of texts and bytes of BINARY columns."""


def with_lengths(columns: Sequence[Column], text: str | None) -> tuple[Column, ...]:
    """Columns with the lengths that the property says; what is none of its form says nothing."""
    known = _read(text)
    if not known:
        return tuple(columns)
    return tuple(replace(each, length=known.get(str(each.id))) for each in columns)


def changed(text: str | None, lengths: Mapping[int, int | None]) -> str | None:
    """The property with other lengths of some columns, None for no length; None if there are none left."""
    known = _read(text)
    for number, length in lengths.items():
        if length is None:
            known.pop(str(number), None)
        else:
            known[str(number)] = length
    return orjson.dumps(known, option=orjson.OPT_SORT_KEYS).decode() if known else None


def _read(text: str | None) -> dict[str, int]:
    try:
        found = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: each for key, each in found.items() if type(each) is int and each > 0}
