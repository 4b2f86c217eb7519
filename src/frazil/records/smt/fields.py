"""Transforms of fields: ExtractField, HoistField, MaskField and ValueToKey."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from frazil.records.connect.data import Moment, Record, Schema, SchemaAndValue, Struct, Type
from frazil.records.smt import java_text
from frazil.records.smt.field_path import FieldPath
from frazil.records.smt.kinds import BITS, INTEGERS, Float32, described, type_of, wrapped
from frazil.records.smt.kinds import plain as plain_number
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import Remembered, field_value, struct, struct_schema
from frazil.records.smt.transformation import OfPartAlone, Part, plain, require_map, require_struct


class ExtractField(OfPartAlone):
    """Puts one field in the place of the value."""

    purpose = "extracting a field"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `field`, `field.syntax.version` and `replace.null.with.default`."""
        super().__init__(part)
        self._path = FieldPath.of(options, "field")
        self._default = options.replaces_null()

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        return plain(None if before.value is None else self._path.in_map(self._map(before.value)))

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        found = None if value is None else self._struct(value)
        field = self._path.in_schema(schema)
        if field is None:
            raise CannotTransform(f"there is no field {'.'.join(self._path.steps)!r}")
        inner = None if found is None else self._path.in_struct(found, default=self._default)
        return SchemaAndValue(field.schema, inner)


class HoistField(OfPartAlone):
    """Wraps the value in a struct or map with one field."""

    purpose = "hoisting a field"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `field`."""
        super().__init__(part)
        self._field = options.text("field")
        self._schemas = Remembered(lambda schema: struct_schema([(self._field, schema)]))

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        return plain({self._field: before.value})

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        wrapped_in = self._schemas.of(schema)
        return SchemaAndValue(wrapped_in, struct(wrapped_in, [(self._field, value)]))


class MaskField(OfPartAlone):
    """Puts nothing (0, false, an empty text …) or a replacement in the place of fields."""

    purpose = "masking fields"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `fields`, `replacement` and `replace.null.with.default`."""
        super().__init__(part)
        self._fields = options.distinct("fields", required=True)
        self._replacement = options.maybe("replacement")
        if self._replacement == "":
            options.refuse("replacement", "is empty. Write a text, or remove the key.")
        self._default = options.replaces_null()

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        value = self._map(before.value)
        masked = {}
        for name in self._fields:
            found = plain_number(value.get(name))
            masked[name] = self._masked(found, type_of(found))
        return plain({**value, **masked})

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        found = self._struct(value)
        values = []
        for each in found.schema.fields:
            inner = field_value(found, each.name, default=self._default)
            values.append((each.name, self._of_field(inner, each.schema) if each.name in self._fields else inner))
        return SchemaAndValue(schema, struct(found.schema, values))

    def _of_field(self, value: Any, schema: Schema) -> Any:
        kind = None if isinstance(value, Moment | Decimal) else schema.type
        masked = self._masked(value, kind)
        return int(masked) if kind in BITS and value is not None else masked

    def _masked(self, value: Any, kind: Type | None) -> Any:
        """A masked value of a type; decimals and dates are of None."""
        if value is None:
            return None
        known: dict[Type | str, Any] = _NOTHING if self._replacement is None else _REPLACEMENTS
        found = kind or ("decimal" if isinstance(value, Decimal) else "date")
        if found not in known:
            by = "" if self._replacement is None else f" by {self._replacement!r}"
            raise CannotTransform(f"{described(value)} cannot be masked{by}")
        if self._replacement is None:
            return known[found]()
        try:
            return known[found](self._replacement)
        except ValueError as error:
            raise CannotTransform(f"{described(value)} cannot be masked: {error}") from error


class ValueToKey:
    """Makes the key of fields of the value."""

    purpose = "copying fields from value to key"

    def __init__(self, options: Options) -> None:
        """Read `fields` and `replace.null.with.default`."""
        self._fields = options.distinct("fields", required=True)
        self._default = options.replaces_null()
        self._schemas = Remembered(self._key)

    def apply(self, record: Record) -> Record:
        """The record with a new key."""
        if record.value.schema is None:
            value = require_map(record.value.value, self.purpose)
            return replace(record, key=plain({name: value.get(name) for name in self._fields}))
        found: Struct = require_struct(record.value.value, self.purpose)
        schema = self._schemas.of(found.schema)
        key = struct(schema, ((name, field_value(found, name, default=self._default)) for name in self._fields))
        return replace(record, key=SchemaAndValue(schema, key), value=SchemaAndValue(found.schema, found))

    def _key(self, schema: Schema) -> Schema:
        fields = []
        for name in self._fields:
            found = schema.field(name)
            if found is None:
                raise CannotTransform(f"the value has no field {name!r}")
            fields.append((name, found.schema))
        return struct_schema(fields)


def _integers(kind: Type) -> Callable[[str], int]:
    return lambda text: INTEGERS[kind](wrapped(java_text.truncated(java_text.decimal(text)), BITS[kind]))


_NOTHING: Final[dict[Type | str, Callable[[], Any]]] = {
    **{kind: made for kind, made in INTEGERS.items()},  # noqa: C416 (its keys are of a wider type)
    Type.BOOLEAN: bool,
    Type.FLOAT32: lambda: Float32(0.0),
    Type.FLOAT64: float,
    Type.STRING: str,
    Type.ARRAY: list,
    Type.MAP: dict,
    "decimal": Decimal,
    "date": lambda: Moment(0),
}
_REPLACEMENTS: Final[dict[Type | str, Callable[[str], Any]]] = {
    **{kind: _integers(kind) for kind in BITS},
    Type.FLOAT32: lambda text: Float32(float(java_text.decimal(text))),
    Type.FLOAT64: lambda text: float(java_text.decimal(text)),
    Type.STRING: str,
    "decimal": java_text.decimal,
}
