"""Converters: the bytes of values, keys and headers → JSON text or plain text, whole columns at a time.

`frazil.records.simple_header` shows what one of them needs.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from frazil.records.connect.framed import MAGIC, framed
from frazil.records.text import empty_as_null, lenient_utf8, utf8, without_mark

Part: TypeAlias = Literal["value", "key", "header"]
"""What of a record a converter reads."""


@dataclass(frozen=True, slots=True)
class ConvertedColumn:
    """What a converter made of a column."""

    texts: pa.StringArray
    """JSON documents or plain texts; null where the bytes were null, stand for nothing, or are bad."""

    is_json: pa.BooleanArray
    """Which of the texts are JSON documents; whether they are valid ones need not be known yet."""

    schema_ids: pa.Int32Array | None = None
    """The id of each row's schema in its registry; None from a converter that knows no schemas."""

    bad: Mapping[int, str] = field(default_factory=dict)
    """Why rows cannot be converted, by row, as what is said of them: `is not valid JSON: …`. What a reason shows of
    the record is in quotes."""

    types: pa.DictionaryArray | None = None
    """What each row is by its schema, as `frazil.records.schema_types` has it; None where no row has a schema."""


class Converter(Protocol):
    """Reads one part of records; made once for a task."""

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:
        """Convert the values, keys or headers of some records, whose topics are given beside them.

        A record that cannot be read is bad, never null. An error that is raised fails the task.
        """


MakeConverter: TypeAlias = Callable[[Part, Mapping[str, str]], Converter]
"""Makes a converter of a part of records, by its options."""


@dataclass(frozen=True, slots=True)
class JsonConverter:
    """JSON without schemas, in UTF-8. Only texts are made here: what parses them later finds out whether they are JSON.

    A byte order mark is no part of a document, and an empty body is none (spec 4.1).
    """

    part: Part
    options: Mapping[str, str]

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:  # noqa: ARG002
        """Whatever is UTF-8 is taken for JSON."""
        text = utf8(empty_as_null(without_mark(column)))
        bad = {row: f"is not valid JSON: {reason}" for row, reason in text.bad.items()}
        if self.part == "value":
            bad |= _registered(column)
        return ConvertedColumn(text.values, pa.repeat(True, len(column)), bad=bad)


@dataclass(frozen=True, slots=True)
class StringConverter:
    """Texts in UTF-8; undecodable bytes are replaced."""

    part: Part
    options: Mapping[str, str]

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:  # noqa: ARG002
        """Every value is a plain text."""
        return ConvertedColumn(lenient_utf8(column), pa.repeat(False, len(column)))


@dataclass(frozen=True, slots=True)
class BytesConverter:
    """Any bytes, as base64."""

    part: Part
    options: Mapping[str, str]

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:  # noqa: ARG002
        """Every value is a plain text."""
        encoded = [None if cell is None else base64.b64encode(cell).decode() for cell in column.to_pylist()]
        return ConvertedColumn(pa.array(encoded, pa.string()), pa.repeat(False, len(column)))


def _registered(values: pa.BinaryArray) -> dict[int, str]:
    """Why the values of a schema registry's serialisers are not JSON, by row."""
    found = pc.fill_null(pc.starts_with(values, MAGIC), pa.scalar(False))
    if not pc.any(found).as_py():
        return {}
    rows = pc.indices_nonzero(found).to_pylist()
    return {row: reason for row in rows if (reason := framed(values[row].as_py())) is not None}
