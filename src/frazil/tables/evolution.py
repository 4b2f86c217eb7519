"""How drift becomes columns: a fixed, commutative merge of the kinds of values a new key has (design section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from frazil.model import Drift, Primitive

_SINGLE: Final = {
    "boolean": "boolean",
    "long": "long",
    "double": "double",
    "string": "string",
    # Beyond 64 bits only text keeps every digit.
    "huge": "string",
    "object": "variant",
    "array": "variant",
}


def merged(drifts: Iterable[Drift]) -> Drift:
    """The drift of several tasks as one; the order of tasks does not matter."""
    together: dict[str, frozenset[str]] = {}
    for drift in drifts:
        for key, kinds in drift.items():
            together[key] = together.get(key, frozenset()) | kinds
    return together


def columns_for(drift: Drift) -> dict[str, Primitive]:
    """The columns to add, sorted by name.

    Keys that differ only by case are one column, spelled as the first of them in code point order.
    """
    spelled: dict[str, str] = {}
    kinds: dict[str, set[str]] = {}
    for key in sorted(drift):
        name = spelled.setdefault(key.casefold(), key)
        kinds.setdefault(name, set()).update(drift[key])
    return {name: column_type(found) for name, found in sorted(kinds.items())}


def column_type(kinds: Iterable[str]) -> Primitive:
    """The type that holds values of all these kinds: BIGINT < DOUBLE, other mixes of scalars STRING, nested VARIANT.

    A key that only ever was null becomes STRING, which takes whatever comes later as its text.
    """
    found = {_SINGLE[kind] for kind in kinds if kind != "null"}
    if not found:
        return Primitive("string")
    if "variant" in found:
        return Primitive("variant")
    if found <= {"long", "double"}:
        return Primitive("double" if "double" in found else "long")
    return Primitive(found.pop() if len(found) == 1 else "string")
