"""Numbers and booleans: which JSON values are one, and the text DuckDB reads exactly (spec 4.3)."""

from __future__ import annotations

import re
import struct
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from frazil.model import Primitive
from frazil.pipes.default.exact_json import CoercionError, Number, is_text, shown, wrong_kind
from frazil.records.text import java_trim

RANGES: Final = {"int": 2**31, "long": 2**63}
"""The first whole number above a type's range."""

_FRACTION: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
"""What a `Decimal` holds."""

_LARGEST_FLOAT: Final = 3.4028235677973366e38
"""The first double that does not round to a float."""

_NOT_FINITE: Final = {
    "nan": "NaN",
    "inf": "Infinity",
    "-inf": "-Infinity",
    "infinity": "Infinity",
    "+infinity": "Infinity",
    "-infinity": "-Infinity",
}
_TRUTHS: Final = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), "true"),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), "false"),
}


def boolean(value: Any) -> str:
    """A JSON boolean, the numbers 0 and 1, and the words people write for them.

    Raises:
        CoercionError: it is none of them.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        number = _read(value)
        if number is not None and number in (0, 1):
            return "true" if number else "false"
    elif is_text(value) and (found := _TRUTHS.get(java_trim(value).lower())):
        return found
    raise wrong_kind(value, "boolean")


def whole(name: str, value: Any, *, rounds: bool) -> str:
    """A whole number of 32 or 64 bits.

    Raises:
        CoercionError: it is not a number, has a fraction (and `rounds` is false), or is out of range.
    """
    number = _exact(value, name)
    if number and number.adjusted() > 20:
        raise _out_of_range(value, name)
    if number != (nearest := number.quantize(Decimal(1), context=_WIDE)) and not rounds:
        raise CoercionError(f"{shown(value)} is not a whole number")
    if not -RANGES[name] <= nearest < RANGES[name]:
        raise _out_of_range(value, name)
    return str(int(nearest))


def decimal(kind: Primitive, value: Any, *, rounds: bool) -> str:
    """A decimal of the column's precision and scale.

    Raises:
        CoercionError: it is not a number, has too many digits after the point (and `rounds` is false) or before it.
    """
    number = _exact(value, str(kind))
    if number and number.adjusted() >= kind.precision - kind.scale:
        raise _out_of_range(value, str(kind))
    nearest = number.quantize(Decimal(1).scaleb(-kind.scale), context=_WIDE)
    if nearest != number and not rounds:
        raise CoercionError(f"{shown(value)} has more than {kind.scale} digits after the point")
    # `abs` would round to 28 digits.
    if nearest.copy_abs() >= Decimal(10) ** (kind.precision - kind.scale):
        raise _out_of_range(value, str(kind))
    return f"{nearest or abs(nearest):f}"


def floating(name: str, value: Any) -> str:
    """A binary fraction: the nearest to a decimal one, or not a number, or infinite.

    Raises:
        CoercionError: it is none, or is out of range.
    """
    if is_text(value) and (found := _NOT_FINITE.get(java_trim(value).lower())):
        return f'"{found}"'
    text = java_trim(value) if isinstance(value, str) else ""
    if not _FRACTION.fullmatch(text):
        raise wrong_kind(value, name)
    number = float(text)
    if abs(number) >= (_LARGEST_FLOAT if name == "float" else float("inf")):
        raise _out_of_range(value, name)
    return text if isinstance(value, Number) else repr(number)


def shortest(name: str, text: str) -> str:
    """The shortest text of a number that `floating` has accepted: one for all texts of that number."""
    number = float(text)
    if name == "float":
        (number,) = struct.unpack("<f", struct.pack("<f", number))
    return repr(number or 0.0)


def plain(number: Number) -> str:
    """A number's text in a text column: plain, without trailing zeros."""
    exact = _read(number)
    if exact is None or (exact and abs(exact.adjusted()) >= 1000):
        return str(number)
    text = f"{exact:f}" if exact else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text


_WIDE: Final = Context(prec=100, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Room for every number that is in range: Decimal's own arithmetic keeps 28 digits."""


def _exact(value: Any, name: str) -> Decimal:
    """The value of a number or of the text of one."""
    number = _read(java_trim(value)) if isinstance(value, str) else None
    if number is None:
        raise wrong_kind(value, name)
    return number


def _read(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _out_of_range(value: Any, name: str) -> CoercionError:
    return CoercionError(f"{shown(value)} is out of the range of {name}")
