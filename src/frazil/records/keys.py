"""Record keys as text, by the key converter."""

from __future__ import annotations

import base64

import msgspec
import orjson
import pyarrow as pa

from frazil.model import KeyConverter
from frazil.records.text import TextColumn, lenient_utf8, utf8


def keys(column: pa.BinaryArray, converter: KeyConverter) -> TextColumn:
    """The keys as RECORD_METADATA's `key` holds them (spec 3.1, 3.3): text as it is, bytes as base64, JSON compact."""
    if column.null_count == len(column):
        return TextColumn(column.cast(pa.string()))
    if converter == "string":
        return lenient_utf8(column)
    if converter == "bytes":
        encoded = [None if cell is None else base64.b64encode(cell).decode() for cell in column.to_pylist()]
        return TextColumn(pa.array(encoded, pa.string()))
    return _json(column)


def _json(column: pa.BinaryArray) -> TextColumn:
    text = utf8(column)
    values: list[str | None] = []
    bad = dict(text.bad)
    for row, cell in enumerate(text.values.to_pylist()):
        try:
            values.append(_json_text(cell) if cell else None)
        except orjson.JSONDecodeError as error:
            values.append(None)
            bad[row] = f"the key is no JSON: {error}"
    return TextColumn(pa.array(values, pa.string()), bad)


def _json_text(cell: str) -> str | None:
    parsed = orjson.loads(cell)
    if parsed is None or isinstance(parsed, str):
        return parsed
    # Numbers keep their own digits: parsing would round those a double cannot hold.
    return msgspec.json.format(cell, indent=-1).strip()
