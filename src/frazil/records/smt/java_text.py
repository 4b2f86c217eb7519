"""What Java makes of texts, where Python makes something else."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from frazil.records.smt.kinds import Float32, exact_single, single, wrapped

_INTEGER: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_FLOAT: Final = re.compile(r"([+-]?)(?:(NaN|Infinity)|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?)")
_HEXADECIMAL: Final = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_BLANKS: Final = "".join(map(chr, range(33)))
_NEVER_CASTS: Final = 6144
"""Digits of a number that need not be written out: of those that are that large, no low bit is set."""


def split(text: str, mark: str) -> list[str]:
    """The pieces between marks, without the empty ones at the end."""
    pieces = text.split(mark)
    while len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    return [] if text and pieces == [""] else pieces


def integer(text: str, bits: int) -> int:
    """The integer a text is, if it has that few bits.

    Raises:
        ValueError: it is none.
    """
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is not an integer")
    found = int(text)
    if found != wrapped(found, bits):
        raise ValueError(f"{text!r} has more than {bits} bits")
    return found


def floating(text: str, bits: int) -> float:
    """The number of 32 or 64 bits next to what a text says.

    Raises:
        ValueError: it is no number.
    """
    trimmed = text.strip(_BLANKS)
    if found := _HEXADECIMAL.fullmatch(trimmed):
        try:
            number = float.fromhex(found[1])
        except OverflowError:
            number = float("-inf" if trimmed.startswith("-") else "inf")
        return single(number) if bits == 32 else number
    found = _FLOAT.fullmatch(trimmed)
    if found is None:
        raise ValueError(f"{text!r} is not a number")
    digits = f"{found[1]}{found[2] or found[3]}"
    return exact_single(digits) if bits == 32 else float(digits)


def decimal(text: str) -> Decimal:
    """The decimal a text is.

    Raises:
        ValueError: it is none.
    """
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    found = Decimal(text)
    exponent = found.as_tuple().exponent
    if not isinstance(exponent, int) or not -(2**31) < exponent < 2**31:
        raise ValueError(f"{text!r} has an exponent beyond 32 bits")
    return found


def truncated(number: Decimal) -> int:
    """The whole part of a decimal, of which 64 bits count."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 (decimals of Connect are finite)
    if number.adjusted() < 0 or exponent >= 64:
        return 0
    whole = int("".join(map(str, digits[: len(digits) + min(exponent, 0)])) or "0") * 10 ** max(exponent, 0)
    return wrapped(-whole if sign else whole, 64)


def text_of_float(number: float) -> str:
    """The text of a Double, or of a Float if it is a `Float32`, as Java writes it."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "-0.0" if str(float(number)).startswith("-") else "0.0"
    sign, digits, exponent = Decimal(_shortest(number)).normalize().as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 (it is finite)
    written = "".join(map(str, digits))
    first = len(written) + exponent - 1
    minus = "-" if sign else ""
    if -3 <= first < 7:
        return f"{minus}{_plain(written, first)}"
    return f"{minus}{written[0]}.{written[1:] or '0'}E{first}"


def _shortest(number: float) -> str:
    """Of the shortest digits those next to the number; where one digit would do, it may have two."""
    is_single = isinstance(number, Float32)
    two = f"{float(number):.1e}"
    if (single(float(two)) if is_single else float(two)) == number:
        return two
    return repr(number) if is_single else repr(float(number))


def _plain(digits: str, first: int) -> str:
    if first < 0:
        return f"0.{'0' * (-first - 1)}{digits}"
    whole = digits[: first + 1].ljust(first + 1, "0")
    return f"{whole}.{digits[first + 1 :] or '0'}"
