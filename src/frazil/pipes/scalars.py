"""The one type that holds scalars of several: a fixed, commutative merge."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from frazil.model import Primitive

MOST_DIGITS: Final = 38
"""Digits of Iceberg's widest decimal."""

_STRING: Final = Primitive("string")
_WHOLE: Final = {"int": 10, "long": 19}
"""Types of whole numbers, and how many digits their values have at most."""

_FRACTIONS: Final = frozenset({"float", "double"})
_ALONE: Final = frozenset({"boolean", "string", "date", "time", "timestamp", "timestamptz", "binary"})
"""Types that go with no other but `string`."""

_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)").fullmatch


def joined_scalars(kinds: Collection[str]) -> Primitive:
    """The type that holds scalars of all these kinds, as `ObservedType.scalars` has them.

    int < long < double, float < double, and whole numbers go into decimals with enough digits; other mixes are texts,
    and so are whole numbers beyond 64 bits.
    """
    found = {*kinds} - {"null"}
    if len(found) == 1 and (kind := next(iter(found))) in (_ALONE | _FRACTIONS | _WHOLE.keys()):
        return Primitive(kind)
    if found and found <= _WHOLE.keys():
        return Primitive("long")
    if found and found <= _FRACTIONS | _WHOLE.keys():
        return Primitive("double")
    return _decimal(found) or _STRING


def decimal(digits: int, scale: int) -> str:
    """The kind of decimals with at most `digits` before the point and `scale` behind it; `string` if none has room."""
    return f"decimal({digits + scale},{scale})" if 0 < digits + scale <= MOST_DIGITS else "string"


def _decimal(kinds: Collection[str]) -> Primitive | None:
    """The decimal that holds decimals and whole numbers, if these are all and there is one."""
    decimals = [(int(each[1]), int(each[2])) for each in map(_DECIMAL, kinds) if each]
    wholes = [_WHOLE[each] for each in kinds if each in _WHOLE]
    if not decimals or len(decimals) + len(wholes) < len(kinds):
        return None
    scale = max(scale for _, scale in decimals)
    digits = max(*(precision - scale for precision, scale in decimals), *wholes, 0)
    if digits + scale > MOST_DIGITS:
        return None
    return Primitive("decimal", digits + scale, scale)
