"""Which numbers a VARIANT keeps exactly: 64-bit integers, doubles, and decimals of up to 38 digits."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from typing import Final

_DIGITS: Final = 19
"""Digits of the longest 64-bit integers."""

_MOST_DIGITS: Final = 38
"""Digits of the longest decimals."""

_EXACTLY: Final = Context(prec=_MOST_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])


def kept(number: str) -> int | float | Decimal | None:
    """What a VARIANT holds for a JSON number; None if nothing it can hold is that number.

    A fraction that is a double's shortest text is that double. Others are decimals, with an exponent from -38 to 0.
    What has no room there is a double again, if it is the text of 17 digits that tells it from all others.
    """
    whole = _is_whole(number)
    if whole and (len(number) < _DIGITS or -(2**63) <= Decimal(number) < 2**63):
        return int(number)
    try:
        exact = Decimal(number)
    except InvalidOperation:  # an exponent without end
        return None
    double = float(number)
    is_shortest = exact == Decimal(repr(double))
    if is_shortest and not whole:
        return double
    if (found := _decimal(exact)) is not None:
        return found
    return double if is_shortest or exact == Decimal(f"{double:.17g}") else None


def is_kept_from_json(number: str) -> bool:
    """Whether DuckDB's own cast from JSON keeps a number: there, whole numbers are BIGINT and others DOUBLE."""
    return isinstance(kept(number), int if _is_whole(number) else float)


def _is_whole(number: str) -> bool:
    return number.lstrip("-").isdigit()


def _decimal(exact: Decimal) -> Decimal | None:
    try:
        found = _EXACTLY.normalize(exact)
        if found.adjusted() >= _MOST_DIGITS or -int(found.as_tuple().exponent) > _MOST_DIGITS:
            return None
        return _EXACTLY.quantize(found, Decimal(1)) if found == found.to_integral_value() else found
    except (InvalidOperation, Inexact):
        return None
