"""Kafka Connect's data: schemas, values, and the records that transforms change.

A value without a schema is JSON's: dicts, lists, texts, booleans, None, and numbers as `Number`, which keeps the digits
that were written until somebody calculates with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias


class Type(StrEnum):
    """Connect's types."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
SCALE: Final = "scale"
"""The parameter of a Decimal's schema that has its scale."""

PRECISION: Final = "connect.decimal.precision"
"""The parameter that has its precision, where a converter knows it."""

FINE_TIME: Final = "frazil.data.Time"
"""A time of a day to the microsecond, as text: Connect's Time has milliseconds."""

FINE_TIMESTAMP: Final = "frazil.data.Timestamp"
"""A timestamp to the microsecond, or one without a zone, as text: Connect's Timestamp is one of milliseconds in UTC."""

UNSIGNED: Final = "frazil.data.UnsignedLong"
"""A whole number of 64 bits without a sign, which the int64 of its schema has no room for."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What a value is."""

    type: Type
    optional: bool = False
    default: Any = None
    """What stands for a value that is absent; None for none."""

    name: str | None = None
    """Of a struct, or of a logical type."""

    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()
    """Of a struct, in their order."""

    key: Schema | None = None
    """Of the keys of a map."""

    value: Schema | None = None
    """Of the values of a map, or the elements of an array."""

    def field(self, name: str) -> Field | None:
        """The field of a struct with that name, if there is one."""
        return next((each for each in self.fields if each.name == name), None)

    def as_optional(self) -> Schema:
        """The same schema for values that may be null."""
        return self if self.optional else replace(self, optional=True)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct's schema."""

    name: str
    schema: Schema


@dataclass(slots=True)
class Struct:
    """A value of a struct's schema."""

    schema: Schema
    values: Mapping[str, Any]
    """By field; one that is absent is null."""

    def get(self, name: str) -> Any:
        """A field's value, or its default where it has none."""
        found = self.values.get(name)
        if found is not None:
            return found
        known = self.schema.field(name)
        return None if known is None else known.schema.default


class Number(str):
    """A JSON number as it is written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A value of the logical types Date, Time and Timestamp, as Java's Date has it."""

    millis: int
    """Since the epoch."""


Value: TypeAlias = Any
"""None; int, float, bool, str, bytes; `Decimal` and `Moment` for logical types; list for arrays, list of pairs or dict
for maps (a dict if all keys are texts), `Struct`; without a schema dict, list, str, bool and `Number`, and whatever a
transform has put there."""


@dataclass(slots=True)
class SchemaAndValue:
    """A value beside its schema; None is the schema of what has none."""

    schema: Schema | None
    value: Value


@dataclass(slots=True)
class Header:
    """A header of a record."""

    name: str
    content: SchemaAndValue


@dataclass(slots=True)
class Record:
    """A record as transforms get it."""

    topic: str
    partition: int | str
    offset: int | str
    """Numbers of Kafka's; of a stream the shard's id, and the sequence number as text."""

    timestamp: int | None
    """In ms since the epoch."""

    key: SchemaAndValue
    value: SchemaAndValue
    headers: tuple[Header, ...] = ()
