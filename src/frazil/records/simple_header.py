"""What Kafka Connect's SimpleHeaderConverter takes a header's text for (spec 3.4): it guesses, and so does this.

Where its guess would lose something, the value stays the text it is: Connect rounds fractions to 32 bits, reads `1,2`
as 1 and `{}` with more behind it as an empty map, and counts the 45th of a month on into the next.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import pyarrow as pa

from frazil.records.converters import ConvertedColumn, Part
from frazil.records.text import java_trim
from frazil.records.value import Value, from_json
from frazil.records.variant import LONG_DIGITS, kept

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class SimpleHeaderConverter:
    """Texts in UTF-8 that may stand for other values; undecodable bytes are replaced."""

    part: Part
    options: Mapping[str, str]

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:  # noqa: ARG002
        """Most headers say the same in many records: each value is looked at once."""
        distinct = column.dictionary_encode()
        values = [guess(cell.decode("utf-8", "replace")) for cell in distinct.dictionary.to_pylist()]
        texts = pa.array([value.text for value in values], pa.string())
        is_json = pa.array([value.is_json for value in values], pa.bool_())
        return ConvertedColumn(texts.take(distinct.indices), is_json.take(distinct.indices))


def guess(text: str) -> Value:
    """The value a header's text stands for: null, a boolean, a number, a list, a map, a date, or else the text."""
    trimmed = java_trim(text)
    if trimmed == "null":
        return Value(None)
    if trimmed in ("true", "false"):
        return Value(trimmed, is_json=True)
    match trimmed[:1]:
        case "[" | "{":
            return _collection(trimmed) or Value(text)
        case "+" | "-" | "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9":
            return _number(trimmed) or _date(trimmed) or Value(text)
        case _:
            return Value(text)


def _collection(text: str) -> Value | None:
    try:
        return from_json(text)
    except ValueError:
        return None


def _number(text: str) -> Value | None:
    """The number in one form: `007` and `+7.0` are 7."""
    if not _NUMBER.fullmatch(text) or (found := kept(text)) is None:
        return None
    number = Decimal(text)
    if number.adjusted() < LONG_DIGITS and number == number.to_integral_value():
        return Value(str(int(number)), is_json=True)
    if isinstance(found, float):
        shortest = repr(found)
        return Value(shortest if Decimal(shortest) == number else str(number), is_json=True)
    return Value(f"{found:f}", is_json=True)


def _date(text: str) -> Value | None:
    """A date is its midnight in UTC, as dates in records are (spec 4.1); times and timestamps stay as they are."""
    if not _DATE.fullmatch(text):
        return None
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return None
    return Value(f"{text}T00:00:00.000Z")
