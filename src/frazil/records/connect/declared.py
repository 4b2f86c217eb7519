"""What the columns of records are by the schemas of their values, whatever the values look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from frazil.model import ObservedType
from frazil.records.connect.data import (
    DATE,
    DECIMAL,
    FINE_TIME,
    FINE_TIMESTAMP,
    PRECISION,
    SCALE,
    TIME,
    TIMESTAMP,
    UNSIGNED,
    Field,
    Schema,
    Type,
)
from frazil.records.new_keys import MIXED
from frazil.sql import LONGEST_NAME

_DEBEZIUM: Final = "io.debezium."
_MOST_DIGITS: Final = 38
_MOST_TYPES: Final = 5000
"""Types within one column; what a schema has beyond them is JSON text."""

_STRING: Final = "string"
_SCALARS: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: _STRING,
}
_NAMED: Final[Mapping[tuple[str | None, Type], str]] = {
    (DATE, Type.INT32): "date",
    (TIME, Type.INT32): "time",
    (TIMESTAMP, Type.INT64): "timestamp",
    (FINE_TIME, Type.STRING): "time",
    (FINE_TIMESTAMP, Type.STRING): "timestamp",
    (UNSIGNED, Type.INT64): "decimal(20,0)",
    (f"{_DEBEZIUM}time.Date", Type.INT32): "date",
    (f"{_DEBEZIUM}time.Time", Type.INT32): "time",
    (f"{_DEBEZIUM}time.MicroTime", Type.INT64): "time",
    (f"{_DEBEZIUM}time.Timestamp", Type.INT64): "timestamp",
    (f"{_DEBEZIUM}time.MicroTimestamp", Type.INT64): "timestamp",
    (f"{_DEBEZIUM}time.ZonedTimestamp", Type.STRING): "timestamptz",
    # Columns of microseconds have no room for their digits.
    (f"{_DEBEZIUM}time.NanoTime", Type.INT64): _STRING,
    (f"{_DEBEZIUM}time.NanoTimestamp", Type.INT64): _STRING,
    # Each of its values has a scale of its own.
    (f"{_DEBEZIUM}data.VariableScaleDecimal", Type.STRUCT): _STRING,
}
"""By the schema's name and type."""

_JSON: Final = (f"{_DEBEZIUM}data.Json", Type.STRING)


def declared(schema: Schema, *, bytes_fit: bool) -> dict[str, ObservedType]:
    """What the fields of a struct's schema are; a schema of another type declares none.

    Args:
        schema: of the value.
        bytes_fit: whether columns of bytes take what converters make of bytes; where they do not, it is text.
    """
    if schema.type is not Type.STRUCT:
        return {}
    found = _Types(bytes_fit=bytes_fit)
    return {each.name: found.column(each.schema) for each in schema.fields}


@dataclass(slots=True)
class _Types:
    """Looks into schemas, also those that are in themselves."""

    bytes_fit: bool
    left: int = 0
    """Types that the column may still have."""

    around: list[tuple[Field, ...]] = field(default_factory=list)
    """The fields of the structs around the schema that is looked at."""

    def column(self, schema: Schema) -> ObservedType:
        """What the values of a field are."""
        self.left = _MOST_TYPES
        return self._of(schema)

    def _of(self, schema: Schema | None) -> ObservedType:
        self.left -= 1
        if schema is None or self.left < 0:
            return MIXED
        if (name := _NAMED.get((schema.name, schema.type))) is not None:
            return scalar(name)
        match schema.type:
            case Type.BYTES if schema.name == DECIMAL:
                return scalar(_decimal(schema))
            case Type.BYTES:
                return scalar("binary" if self.bytes_fit else _STRING)
            case Type.ARRAY:
                return ObservedType(element=self._of(schema.value))
            case Type.MAP:
                return ObservedType(entries=(self._of(schema.key), self._of(schema.value)))
            case Type.STRUCT:
                return self._struct(schema)
            case _ if (schema.name, schema.type) == _JSON:
                return MIXED
            case _:
                return scalar(_SCALARS[schema.type])

    def _struct(self, schema: Schema) -> ObservedType:
        is_around = any(each is schema.fields for each in self.around)
        if is_around or any(len(each.name) > LONGEST_NAME for each in schema.fields):
            return MIXED
        self.around.append(schema.fields)
        fields = [(each.name, self._of(each.schema)) for each in schema.fields]
        self.around.pop()
        return ObservedType(fields=tuple(sorted(fields, key=lambda each: each[0])))


def scalar(name: str) -> ObservedType:
    """What values of one scalar type are."""
    return ObservedType(frozenset({name}))


def _decimal(schema: Schema) -> str:
    """A decimal of the schema's precision and scale; a text where a column has no room for it, or it has no scale."""
    scale, precision = (_number(schema.parameters.get(each)) for each in (SCALE, PRECISION))
    if scale is None or scale > _MOST_DIGITS:
        return _STRING
    precision = _MOST_DIGITS if precision is None else precision
    # Digits before the point that are all zeros, and digits behind it that are, are digits of the column.
    digits = max(precision - min(scale, 0), scale)
    return f"decimal({digits},{max(scale, 0)})" if 0 < digits <= _MOST_DIGITS else _STRING


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.removeprefix("-").isdecimal() and len(text) < 10 else None


def shallow(found: Mapping[str, ObservedType]) -> Iterator[tuple[str, ObservedType]]:
    """The same types, without those inside objects and arrays."""
    for key, each in found.items():
        match each:
            case ObservedType(element=None, fields=None, entries=None):
                yield key, each
            case ObservedType(scalars=scalars, element=None):
                yield key, ObservedType(scalars, fields=())
            case ObservedType(scalars=scalars):
                yield key, ObservedType(scalars, element=MIXED)
