"""Flatten: one field for each leaf, named by the way to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from frazil.records.connect.data import Schema, SchemaAndValue, Struct, Type
from frazil.records.smt.kinds import described, type_of
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import Remembered, struct, struct_schema, with_default
from frazil.records.smt.transformation import OfPartAlone, Part, plain


class Flatten(OfPartAlone):
    """Joins the names of nested fields; arrays stay."""

    purpose = "flattening"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `delimiter`."""
        super().__init__(part)
        self._delimiter = options.text("delimiter", ".")
        self._schemas = Remembered(self._changed)

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        return before if before.value is None else plain(dict(self._leaves(self._map(before.value), "")))

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        if value is None:
            return SchemaAndValue(schema, value)
        found = self._struct(value)
        changed = self._schemas.of(schema)
        return SchemaAndValue(changed, struct(changed, self._values(found, "")))

    def _leaves(self, value: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for key, inner in value.items():
            name = self._name(prefix, key)
            if isinstance(inner, dict):
                yield from self._leaves(inner, name)
            elif inner is None or type_of(inner) not in (None, Type.STRUCT):
                yield name, inner
            else:
                raise CannotTransform(f"{described(inner)}, which is at {name!r}, cannot be flattened without a schema")

    def _changed(self, schema: Schema) -> Schema:
        return struct_schema(self._fields(schema, "", schema.optional, schema.default), schema)

    def _fields(self, schema: Schema, prefix: str, optional: bool, default: Any) -> Iterator[tuple[str, Schema]]:
        """The flat fields of a schema; one that anything around it may be null may be null too."""
        for field in schema.fields:
            name, inner = self._name(prefix, field.name), field.schema
            may_be_null = optional or inner.optional
            own = inner.default
            if own is None and isinstance(default, Struct):
                own = default.get(field.name)
            if inner.type is Type.STRUCT:
                yield from self._fields(inner, name, may_be_null, own)
            elif inner.type is Type.MAP:
                raise CannotTransform(f"a map with a schema, which is at {name!r}, cannot be flattened")
            else:
                flat = replace(inner, optional=may_be_null, default=None)
                yield name, flat if own is None else with_default(flat, own)

    def _values(self, value: Struct, prefix: str) -> Iterator[tuple[str, Any]]:
        for field in value.schema.fields:
            name = self._name(prefix, field.name)
            if field.schema.type is not Type.STRUCT:
                yield name, value.get(field.name)
            elif (inner := value.values.get(field.name)) is not None:
                yield from self._values(inner, name)

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name
