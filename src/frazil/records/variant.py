"""JSON as a VARIANT's bytes, for what DuckDB's own cast from JSON would change: numbers with many digits.

A VARIANT keeps exactly: 64-bit integers, doubles, and decimals of up to 38 digits.
The bytes are metadata and value as Parquet's VARIANT encoding has them, one after the other, as
`variant_bytes_to_variant` takes them. DuckDB then writes the file, and puts the keys of objects in order.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from itertools import accumulate
from typing import Any, Final

MARK: Final = "\x7f"
"""What a JSON text begins with that stands for a VARIANT's bytes; other texts that begin so travel as bytes, too."""

_OBJECT: Final = 2
_ARRAY: Final = 3
_SHORT_TEXT: Final = 1
_LONG_TEXT: Final = 16 << 2
_CONSTANTS: Final = {None: b"\x00", True: b"\x04", False: b"\x08"}
_INTEGERS: Final = ((3, 1), (4, 2), (5, 4), (6, 8))
"""Types of whole numbers and their bytes."""

_DOUBLE: Final = 7
_DECIMALS: Final = ((8, 4, 9), (9, 8, 18), (10, 16, 38))
"""Types of decimals, their bytes, and their digits."""

_MOST_SHORT_BYTES: Final = 63

LONG_DIGITS: Final = 19
"""Digits of the longest 64-bit integers."""

_MOST_DIGITS: Final = 38
"""Digits of the longest decimals."""

_EXACTLY: Final = Context(prec=_MOST_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])


def marked(text: str) -> str:
    """A JSON text that stands for the VARIANT of a JSON document and is read as it by `frazil.pipes.types.cast`."""
    return f'"{MARK}{base64.b64encode(encode(text)).decode()}"'


def encode(text: str) -> bytes:
    """The VARIANT of a JSON document that has no key twice and no number but what `kept` keeps."""
    waiting: list[Any] = [json.loads(text, parse_int=kept, parse_float=kept)]
    names: dict[str, int] = {}
    done: list[bytes] = []
    # Without recursion: a document may have more levels than Python has frames left.
    while waiting:
        value = waiting.pop()
        match value:
            case dict() | list() if value:
                waiting.append(_Closing(value))
                waiting.extend(reversed(value.values() if isinstance(value, dict) else value))
            case _Closing(container):
                first = len(done) - len(container)
                done[first:] = [_container(container, done[first:], names)]
            case dict() | list():
                done.append(_container(value, [], names))
            case _:
                done.append(_scalar(value))
    return _metadata([name.encode() for name in names]) + done[0]


def kept(number: str) -> int | float | Decimal | None:
    """What a VARIANT holds for a JSON number; None if nothing it can hold is that number.

    A fraction that is a double's shortest text is that double. Others are decimals, with an exponent from -38 to 0.
    What has no room there is a double again, if it is the text of 17 digits that tells it from all others.
    """
    whole = _is_whole(number)
    if whole and (len(number) < LONG_DIGITS or -(2**63) <= Decimal(number) < 2**63):
        return int(number)
    try:
        exact = Decimal(number)
    except InvalidOperation:  # an exponent without end
        return None
    double = float(number)
    is_shortest = exact == Decimal(repr(double))
    if is_shortest and not whole:
        return double
    if (found := _as_decimal(exact)) is not None:
        return found
    return double if is_shortest or exact == Decimal(f"{double:.17g}") else None


def is_kept_from_json(number: str) -> bool:
    """Whether DuckDB's own cast from JSON keeps a number: there, whole numbers are BIGINT and others DOUBLE."""
    return isinstance(kept(number), int if _is_whole(number) else float)


@dataclass(frozen=True, slots=True)
class _Closing:
    """The end of an object or array, all of whose members are done."""

    container: dict[str, Any] | list[Any]


def _metadata(names: Sequence[bytes]) -> bytes:
    ends = _ends(names)
    size = _size(max(ends[-1], len(names)))
    return bytes([1 | (size - 1) << 6]) + _packed([len(names)], size) + _packed(ends, size) + b"".join(names)


def _container(container: Mapping[str, Any] | Sequence[Any], members: Sequence[bytes], names: dict[str, int]) -> bytes:
    """An object or an array of what its members are; new names get the next numbers."""
    ends = _ends(members)
    size = _size(ends[-1])
    is_large = len(members) > 0xFF
    opening = _packed([len(members)], 4 if is_large else 1)
    if isinstance(container, Mapping):
        ids = [names.setdefault(name, len(names)) for name in container]
        id_size = _size(max(ids, default=0))
        header = _OBJECT | (size - 1 | (id_size - 1) << 2 | is_large << 4) << 2
        opening += _packed(ids, id_size)
    else:
        header = _ARRAY | (size - 1 | is_large << 2) << 2
    return bytes([header]) + opening + _packed(ends, size) + b"".join(members)


def _scalar(value: Any) -> bytes:
    match value:
        case None | bool():
            return _CONSTANTS[value]
        case int():
            bits = (value if value >= 0 else ~value).bit_length()
            kind, size = next(each for each in _INTEGERS if bits < each[1] * 8)
            return _primitive(kind) + value.to_bytes(size, "little", signed=True)
        case float():
            return _primitive(_DOUBLE) + struct.pack("<d", value)
        case Decimal():
            return _decimal(value)
        case _:
            return _text(value.encode())


def _decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    kind, size, _ = next(each for each in _DECIMALS if max(scale, len(digits)) <= each[2])
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return _primitive(kind) + bytes([scale]) + unscaled.to_bytes(size, "little", signed=True)


def _text(encoded: bytes) -> bytes:
    if len(encoded) <= _MOST_SHORT_BYTES:
        return bytes([_SHORT_TEXT | len(encoded) << 2]) + encoded
    return bytes([_LONG_TEXT]) + len(encoded).to_bytes(4, "little") + encoded


def _primitive(kind: int) -> bytes:
    return bytes([kind << 2])


def _ends(parts: Sequence[bytes]) -> array[int]:
    """Where each part begins, and where the last one ends."""
    return array("Q", accumulate(map(len, parts), initial=0))


def _size(largest: int) -> int:
    """Bytes that hold a number."""
    return 1 if largest <= 0xFF else 2 if largest <= 0xFFFF else 4


def _packed(numbers: Iterable[int], size: int) -> bytes:
    packed = array({1: "B", 2: "H", 4: "I"}[size], numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _is_whole(number: str) -> bool:
    return number.lstrip("-").isdigit()


def _as_decimal(exact: Decimal) -> Decimal | None:
    try:
        found = _EXACTLY.normalize(exact)
        if found.adjusted() >= _MOST_DIGITS or -int(found.as_tuple().exponent) > _MOST_DIGITS:
            return None
        return _EXACTLY.quantize(found, Decimal(1)) if found == found.to_integral_value() else found
    except (InvalidOperation, Inexact):
        return None
