"""What the elements of an array, or the keys or values of a map, have in common: Connect's rules for literals.

Numbers widen to the largest type among them. Of two values of one type the later decides, which tells where types have
names: `[5, 2026-01-02]` has two dates. Where nothing is in common, every value stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from frazil.records.connect.data import DATE, TIME, TIMESTAMP, Moment, Schema, Struct, Type
from frazil.records.smt.date_format import DAY
from frazil.records.smt.kinds import BITS, INTEGERS, Float32, described, wrapped

_WIDER: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


class NothingInCommon(ValueError):
    """A value is none of the type that it should have in common with others."""


class Common:
    """The schema that values have in common."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.schema: Schema | None = None
        """None where there were no values but null, or some have nothing in common."""

        self._differ = False

    def add(self, schema: Schema | None) -> None:
        """One more value is of this schema; None is the schema of null."""
        if schema is None or self._differ:
            return
        self.schema = schema if self.schema is None else _merged(self.schema, schema)
        self._differ = self.schema is None


class TypedMap:
    """A map that tells keys of different types apart, as 1 of 8 bits and 1 of 16."""

    def __init__(self) -> None:
        """Nothing is in it."""
        self._entries: dict[Any, tuple[Any, Any]] = {}

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._entries.values())

    def put(self, key: Any, value: Any) -> None:
        """Add an entry, or give one another value."""
        identity = _identity(key)
        first, _ = self._entries.get(identity, (key, None))
        self._entries[identity] = first, value

    def content(self) -> dict[str, Any] | list[tuple[Any, Any]]:
        """A dict if all keys are texts, else pairs."""
        entries = [*self]
        return dict(entries) if all(isinstance(key, str) for key, _ in entries) else entries


def aligned(schema: Schema, value: Any) -> Any:
    """A value as one of the schema that it has in common with others.

    Raises:
        NothingInCommon: it cannot be one.
    """
    if value is None:
        raise NothingInCommon("null is beside values")
    if schema.type not in _WIDER or (isinstance(value, Moment) and schema.name in _MOMENTS):
        return value
    if isinstance(value, Moment):
        raise NothingInCommon(f"{described(value)} is beside values of type {schema.type}")
    if schema.name in _MOMENTS:
        return Moment(_millis(schema.name, int(value)))
    if schema.type in BITS:
        return INTEGERS[schema.type](wrapped(int(value), BITS[schema.type]))
    return Float32(float(value)) if schema.type is Type.FLOAT32 else float(value)


def bare(schema: Schema, value: Any) -> Any:
    """A value as one of a schema, which says by itself how many bits a number has."""
    if value is None or isinstance(value, bool | Moment | Struct):
        return value
    if isinstance(value, int | float) and type(value) is _CLASSES.get(schema.type):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, dict) and schema.value is not None:
        return {key: bare(schema.value, each) for key, each in value.items()}
    if isinstance(value, list) and schema.type is Type.ARRAY and schema.value is not None:
        return [bare(schema.value, each) for each in value]
    if isinstance(value, list) and schema.key is not None:
        key, inner = schema.key, schema.value
        return [(bare(key, each), of if inner is None else bare(inner, of)) for each, of in value]
    return value


_CLASSES: Final = {**INTEGERS, Type.FLOAT32: Float32, Type.FLOAT64: float}
_MOMENTS: Final = (DATE, TIME, TIMESTAMP)


def _merged(before: Schema, latest: Schema) -> Schema | None:
    if before.type is latest.type:
        return latest
    if before.type not in _WIDER or latest.type not in _WIDER:
        return None
    return max(before, latest, key=lambda schema: _WIDER.index(schema.type))


def _millis(name: str | None, number: int) -> int:
    """The moment that a number is, of days or milliseconds."""
    if name == TIMESTAMP:
        return number
    number = wrapped(number, 32)
    if name == DATE:
        return number * DAY
    if not 0 <= number <= DAY:
        raise NothingInCommon(f"{number} is no time of day in ms")
    return number


def _identity(value: Any) -> Any:
    if isinstance(value, list):
        return "list", tuple(_identity(each) for each in value)
    if isinstance(value, tuple):
        return "entry", tuple(_identity(each) for each in value)
    if isinstance(value, dict):
        return "map", frozenset((key, _identity(each)) for key, each in value.items())
    return type(value).__name__, repr(value)
