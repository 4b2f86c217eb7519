"""Record keys by the key converter."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from frazil.model import KeyConverter
from frazil.records.text import lenient_utf8, utf8, without_mark
from frazil.records.value import Value, from_json


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """The keys of records."""

    values: pa.StringArray
    """As text (spec 3.1, 3.3): text as it is, bytes as base64, JSON compact; null without a key."""

    is_json: pa.BooleanArray
    """Whether the text is a JSON number, boolean, object or array rather than a text."""

    bad: Mapping[int, str] = field(default_factory=dict)
    """Reasons by row."""


def keys(column: pa.BinaryArray, converter: KeyConverter) -> KeyColumn:
    """The keys of a batch."""
    if column.null_count == len(column):
        return _texts(column.cast(pa.string()))
    if converter == "string":
        return _texts(lenient_utf8(column).values)
    if converter == "bytes":
        encoded = [None if cell is None else base64.b64encode(cell).decode() for cell in column.to_pylist()]
        return _texts(pa.array(encoded, pa.string()))
    return _json(column)


def _texts(values: pa.StringArray) -> KeyColumn:
    return KeyColumn(values, pa.repeat(False, len(values)))


def _json(column: pa.BinaryArray) -> KeyColumn:
    text = utf8(without_mark(column))
    values: list[Value] = []
    bad = {row: f"the key is no JSON: {reason}" for row, reason in text.bad.items()}
    for row, cell in enumerate(text.values.to_pylist()):
        try:
            values.append(from_json(cell) if cell else Value(None))
        except ValueError as error:
            values.append(Value(None))
            bad[row] = f"the key is no JSON: {error}"
    return KeyColumn(
        pa.array([value.text for value in values], pa.string()),
        pa.array([value.is_json for value in values], pa.bool_()),
        bad,
    )
