"""From fastavro's values straight to what JSON is written of: the same as by way of Connect's values, in less time.

Most values of most schemas are what JSON is written of already. What is done to those that are not is put together
once for a schema; None stands for nothing to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from frazil.records.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Type
from frazil.records.connect.debezium import meaning
from frazil.records.connect.json_text import plain_of as plain_of_schema

Plain: TypeAlias = Callable[[Any], Any]
"""Turns a value of fastavro's into what the encoder writes; it may change the value it is given."""

_NAMED: Final = frozenset({DECIMAL, DATE, TIME, TIMESTAMP})
_NATURAL: Final = {
    "int": (Type.INT8, Type.INT16, Type.INT32),
    "long": (Type.INT64,),
    "boolean": (Type.BOOLEAN,),
    "string": (Type.STRING,),
    "bytes": (Type.BYTES,),
}
"""What values of these wires are already."""


class Translated(Protocol):
    """An Avro schema in its forms; `frazil.records.connect.avro_schema.AvroType` is one."""

    @property
    def wire(self) -> Any:
        """For fastavro."""

    @property
    def schema(self) -> Schema:
        """Connect's."""

    @property
    def convert(self) -> Callable[[Any], Any]:
        """Makes values Connect's."""

    @property
    def plain(self) -> Plain | None:
        """The way to JSON of values that have parts."""


def plain_of(found: Translated) -> Plain | None:
    """The way to JSON of values that are not null."""
    schema, wire = found.schema, found.wire
    # A union's way has that of its type.
    means = None if isinstance(wire, list) else meaning(schema)
    if found.plain is not None and means is None:
        return None if found.plain is nothing_to_do else found.plain
    if schema.name not in _NAMED and means is None:
        if isinstance(wire, str) and schema.type in _NATURAL.get(wire, ()):
            return None
        if wire == "double" and schema.type is Type.FLOAT64:
            return _finite
        if isinstance(wire, Mapping) and wire.get("type") == "enum" and schema.type is Type.STRING:
            return None
    if wire == "null" or (isinstance(wire, list) and {*wire} == {"null"}):
        return None
    of_schema, convert = plain_of_schema(schema), found.convert
    return lambda value: of_schema(convert(value))


def field_plain(found: Translated) -> Plain | None:
    """The same of a field, whose default stands for null."""
    plain, default = plain_of(found), found.schema.default
    if default is None:
        return plain
    of_schema = plain_of_schema(found.schema)
    if plain is None:
        return lambda value: of_schema(default) if value is None else value
    return lambda value: of_schema(default) if value is None else plain(value)


def nothing_to_do(value: Any) -> Any:
    """The way of values with parts that are what JSON is written of."""
    return value


def record_plain(fields: Mapping[str, Plain | None]) -> Plain:
    """The way of a record, given those of its fields."""
    changing = [(name, plain) for name, plain in fields.items() if plain is not None]
    if not changing:
        return nothing_to_do

    def change(value: Any) -> Any:
        for name, plain in changing:
            value[name] = plain(value[name])
        return value

    return change


def array_plain(element: Plain | None) -> Plain:
    """The way of an array, given that of its elements."""
    return nothing_to_do if element is None else lambda value: [element(each) for each in value]


def map_plain(content: Plain | None) -> Plain:
    """The way of a map whose keys are texts, given that of its values."""
    if content is None:
        return nothing_to_do
    return lambda value: {key: content(each) for key, each in value.items()}


def unless_null(plain: Plain | None) -> Plain:
    """The way of an optional value, given that of one that is there."""
    return nothing_to_do if plain is None else lambda value: None if value is None else plain(value)


def alternative_plain(branches: Mapping[str, tuple[str, Plain | None]], nothing: Mapping[str, None]) -> Plain:
    """The way of a union's value, a struct of which one field has a value.

    Args:
        branches: by the record that stands for a branch, the name of its field and its way.
        nothing: all fields.
    """

    def choose(value: Any) -> Any:
        if value is None:
            return None
        record, content = value
        name, plain = branches[record]
        inner = content["value"]
        return {**nothing, name: inner if plain is None else plain(inner)}

    return choose


def _finite(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
