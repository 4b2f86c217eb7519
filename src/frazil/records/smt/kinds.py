"""What values are without a schema: Connect goes by the class of a Java object, and so do transforms here.

A whole number is a Long and a fraction a Double; the others have types of their own. A number of a JSON document
becomes one of the two when somebody calculates with it.
"""

from __future__ import annotations

import math
import re
import struct
from fractions import Fraction
from typing import Any, Final, Self

from frazil.records.connect.data import Moment, Number, Struct, Type

_ZERO: Final = re.compile(r"-?[0.]*([eE].*)?")
_MORE_THAN_ANY: Final = 400
"""Digits before the point that no double has."""


class Int8(int):
    """A Byte."""


class Int16(int):
    """A Short."""


class Int32(int):
    """An Integer."""


class Float32(float):
    """A Float; its text is the shortest that is read as the same Float."""

    def __new__(cls, value: float) -> Self:
        """The Float next to a number."""
        return super().__new__(cls, single(value))

    def __repr__(self) -> str:
        return shortest_single(self)


INTEGERS: Final[dict[Type, type[int]]] = {Type.INT8: Int8, Type.INT16: Int16, Type.INT32: Int32, Type.INT64: int}
BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}

_TYPES: Final[tuple[tuple[type[Any], Type], ...]] = (
    (bool, Type.BOOLEAN),
    (Int8, Type.INT8),
    (Int16, Type.INT16),
    (Int32, Type.INT32),
    (int, Type.INT64),
    (Float32, Type.FLOAT32),
    (float, Type.FLOAT64),
    (str, Type.STRING),
    (bytes, Type.BYTES),
    (list, Type.ARRAY),
    (dict, Type.MAP),
    (Struct, Type.STRUCT),
)


def plain(value: Any) -> Any:
    """A value ready to calculate with: a JSON number is an int, of which 64 bits count, or a float."""
    if not isinstance(value, Number):
        return value
    if not any(mark in value for mark in ".eE"):
        return wrapped(int(value), 64)
    return 0.0 if _ZERO.fullmatch(value) else float(value)


def type_of(value: Any) -> Type | None:
    """The type that Connect takes a value for; None for dates and decimals, which need a schema."""
    if isinstance(value, Number):
        return type_of(plain(value))
    return next((kind for known, kind in _TYPES if isinstance(value, known)), None)


def wrapped(number: int, bits: int) -> int:
    """The lowest bits of a number, as Java casts it."""
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def single(value: float) -> float:
    """The number of 32 bits next to one of 64."""
    try:
        (found,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return float(found)


def exact_single(text: str) -> float:
    """The number of 32 bits next to what a decimal text says, rounded once."""
    double = float(text)
    found = single(double)
    if math.isinf(double) or math.isnan(double) or found == double:
        return found
    (bits,) = struct.unpack("i", struct.pack("f", found))
    away = 1 if abs(double) > abs(found) else -1
    (other,) = struct.unpack("f", struct.pack("i", bits + away))
    middle = (_exact(found) + _exact(other)) / 2
    if middle == Fraction(double) and (exact := Fraction(text)) != middle:
        return float(other if (exact > middle) == (other > found) else found)
    return found


def _exact(value: float) -> Fraction:
    """A number of 32 bits; for an infinite one the first that is too large."""
    return Fraction(math.copysign(2.0**128, value)) if math.isinf(value) else Fraction(value)


def shortest_single(value: float) -> str:
    """The shortest digits that are read as the same number of 32 bits."""
    texts = (f"{float(value):.{digits}e}" for digits in range(9))
    return next((repr(float(text)) for text in texts if single(float(text)) == value), repr(float(value)))


def described(value: Any) -> str:
    """What a value is, for a sentence."""
    if value is None:
        return "null"
    if isinstance(value, Moment):
        return "a date"
    found = type_of(value)
    return f"a value of type {found}" if found else "a decimal"
