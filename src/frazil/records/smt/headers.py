"""Transforms of headers: DropHeaders, HeaderFrom and InsertHeader."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from frazil.records.connect.data import Header, Record, Schema, SchemaAndValue, Type
from frazil.records.smt.literals import literal
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import Remembered, field_value, require_fit, struct, struct_schema
from frazil.records.smt.transformation import Part, plain, require_map, require_struct


class DropHeaders:
    """Removes headers by their names."""

    def __init__(self, options: Options) -> None:
        """Read `headers`."""
        self.names = frozenset(options.distinct("headers", required=True))

    def apply(self, record: Record) -> Record:
        """The record without them."""
        return replace(record, headers=tuple(each for each in record.headers if each.name not in self.names))


class InsertHeader:
    """Adds a header to every record, of what a literal says."""

    def __init__(self, options: Options) -> None:
        """Read `header` and `value.literal`."""
        content = options.read("value.literal", options.text("value.literal"), literal, plain(None))
        self._header = Header(options.text("header"), content)

    def apply(self, record: Record) -> Record:
        """The record with it."""
        return replace(record, headers=(*record.headers, self._header))


class HeaderFrom:
    """Moves or copies fields to headers."""

    def __init__(self, part: Part, options: Options) -> None:
        """Read `fields`, `headers`, `operation` and `replace.null.with.default`."""
        self._part = part
        self._fields = options.texts("fields", required=True)
        self._headers = options.texts("headers", required=True)
        operation = options.one_of("operation", ("move", "copy"))
        self._moves = operation == "move"
        self._purpose = f"a {operation} to headers"
        self._default = options.replaces_null()
        self._schemas = Remembered(self._moved)
        if len(self._fields) != len(self._headers):
            options.refuse("headers", "has not as many names as fields. Write one header for each field.")

    def apply(self, record: Record) -> Record:
        """The record with more headers, and when fields are moved without those."""
        before: SchemaAndValue = record.key if self._part == "key" else record.value
        if before.schema is None:
            value = require_map(before.value, self._purpose)
            added = [plain(value.get(name)) for name in self._fields]
            moved = frozenset(self._fields if self._moves else ())
            after = plain({name: each for name, each in value.items() if name not in moved})
        else:
            added = [self._header(before.schema, before.value, name) for name in self._fields]
            after = self._after(before.schema, before.value)
        headers = tuple(Header(name, content) for name, content in zip(self._headers, added, strict=True))
        if self._part == "key":
            return replace(record, key=after, headers=(*record.headers, *headers))
        return replace(record, value=after, headers=(*record.headers, *headers))

    def _header(self, schema: Schema, value: Any, name: str) -> SchemaAndValue:
        found = require_struct(value, self._purpose)
        field = schema.field(name) if schema.type is Type.STRUCT else None
        if field is None:
            raise CannotTransform(f"the schema has no field {name!r}")
        inner = field_value(found, name, default=self._default)
        require_fit(field.schema, inner, f"the header of {name!r}")
        return SchemaAndValue(field.schema, inner)

    def _after(self, schema: Schema, value: Any) -> SchemaAndValue:
        if not self._moves:
            return SchemaAndValue(schema, value)
        changed = self._schemas.of(schema)
        names = (each.name for each in changed.fields)
        return SchemaAndValue(
            changed, struct(changed, ((name, field_value(value, name, default=self._default)) for name in names))
        )

    def _moved(self, schema: Schema) -> Schema:
        kept = (each for each in schema.fields if each.name not in self._fields)
        return struct_schema(((each.name, each.schema) for each in kept), schema)
