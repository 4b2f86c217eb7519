"""Schemas and structs as transforms build them, with the checks of Connect's own builders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from frazil.records.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Field, Moment, Number, Schema, Struct, Type
from frazil.records.smt.kinds import described
from frazil.records.smt.refusal import CannotTransform

STRING: Final = Schema(Type.STRING)
INT32: Final = Schema(Type.INT32)
INT64: Final = Schema(Type.INT64)
DATE_SCHEMA: Final = Schema(Type.INT32, name=DATE, version=1)
TIME_SCHEMA: Final = Schema(Type.INT32, name=TIME, version=1)
TIMESTAMP_SCHEMA: Final = Schema(Type.INT64, name=TIMESTAMP, version=1)

_LOGICAL: Final[dict[str, type[Any]]] = {DECIMAL: Decimal, DATE: Moment, TIME: Moment, TIMESTAMP: Moment}
_PLAIN: Final[dict[Type, type[Any] | tuple[type[Any], ...]]] = {
    Type.INT8: int,
    Type.INT16: int,
    Type.INT32: int,
    Type.INT64: int,
    Type.FLOAT32: (float, int),
    Type.FLOAT64: (float, int),
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
    Type.ARRAY: list,
    Type.MAP: (dict, list),
    Type.STRUCT: Struct,
}
_KEPT: Final = 64


class Remembered:
    """Schemas that were made of others: the schema of a batch's records is most often one object."""

    def __init__(self, make: Callable[[Schema], Schema]) -> None:
        """Make them with `make`."""
        self._make = make
        self._known: dict[int, tuple[Schema, Schema]] = {}

    def of(self, schema: Schema) -> Schema:
        """What is made of a schema."""
        known = self._known.get(id(schema))
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            # Kept beside what is made of it, its id stays its own.
            known = self._known[id(schema)] = schema, self._make(schema)
        return known[1]


def struct_schema(fields: Iterable[tuple[str, Schema]], like: Schema | None = None) -> Schema:
    """A required struct's schema of some fields, with the name, version, doc and parameters of another.

    Raises:
        CannotTransform: two fields have one name, or one has none.
    """
    found: dict[str, Field] = {}
    for name, schema in fields:
        if not name:
            raise CannotTransform("a field without a name cannot be added to a schema")
        if name in found:
            raise CannotTransform(f"the schema would have the field {name!r} twice")
        found[name] = Field(name, schema)
    return basics(like, Schema(Type.STRUCT, fields=tuple(found.values())))


def basics(source: Schema | None, schema: Schema) -> Schema:
    """A schema with the name, version, doc and parameters of another."""
    if source is None:
        return schema
    return replace(schema, name=source.name, version=source.version, doc=source.doc, parameters=dict(source.parameters))


def with_default(schema: Schema, default: Any) -> Schema:
    """A schema with a default that it allows.

    Raises:
        CannotTransform: the default is no value of the schema.
    """
    require_fit(schema, default, "the default")
    return replace(schema, default=default)


def struct(schema: Schema, values: Iterable[tuple[str, Any]]) -> Struct:
    """A struct of a schema.

    Raises:
        CannotTransform: a value is none of its field's.
    """
    fields = {each.name: each.schema for each in schema.fields}
    found = {}
    for name, value in values:
        if name not in fields:
            raise CannotTransform(f"the schema has no field {name!r}")
        require_fit(fields[name], value, f"the field {name!r}")
        if value is not None:
            found[name] = value
    return Struct(schema, found)


def field_value(value: Struct, name: str, *, default: bool) -> Any:
    """A field of a struct, or with `default` what stands for one that is null.

    Raises:
        CannotTransform: the struct has no such field.
    """
    if value.schema.field(name) is None:
        raise CannotTransform(f"the schema has no field {name!r}")
    return value.get(name) if default else value.values.get(name)


def require_fit(schema: Schema, value: Any, place: str) -> None:
    """See that a value is one of a schema.

    Raises:
        CannotTransform: it is not.
    """
    if value is None:
        if not schema.optional:
            raise CannotTransform(f"{place} is required, and null")
        return
    expected = _LOGICAL.get(schema.name or "", _PLAIN[schema.type])
    wrong = (isinstance(value, bool) and schema.type is not Type.BOOLEAN) or isinstance(value, Number)
    if wrong or not isinstance(value, expected):
        raise CannotTransform(f"{place} is of type {schema.name or schema.type}, and cannot be {described(value)}")
    match schema.type:
        case Type.STRUCT if isinstance(value, Struct):
            _require_struct(schema, value, place)
        case Type.ARRAY if schema.value is not None:
            for each in value:
                require_fit(schema.value, each, f"an element of {place}")
        case Type.MAP if schema.key is not None and schema.value is not None:
            for key, each in value.items() if isinstance(value, dict) else value:
                require_fit(schema.key, key, f"a key of {place}")
                require_fit(schema.value, each, f"a value of {place}")


def _require_struct(schema: Schema, value: Struct, place: str) -> None:
    if value.schema is not schema and value.schema != schema:
        raise CannotTransform(f"{place} is a struct of another schema")
    for each in schema.fields:
        found = value.values.get(each.name)
        if found is not None or each.schema.default is None:
            require_fit(each.schema, found, f"the field {each.name!r} of {place}")
