"""SetSchemaMetadata: names a schema, or gives it a version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from frazil.records.connect.data import Schema, SchemaAndValue, Struct
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import field_value, struct
from frazil.records.smt.transformation import OfPartAlone, Part


class SetSchemaMetadata(OfPartAlone):
    """Changes a schema's name, version, or both."""

    purpose = "updating schema metadata"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `schema.name`, `schema.version` and `replace.null.with.default`."""
        super().__init__(part)
        self._name = options.maybe("schema.name")
        self._version = options.integer("schema.version")
        self._default = options.replaces_null()
        if self._name is None and "schema.version" not in options.given:
            options.refuse("type", "sets neither a name nor a version. Write schema.name or schema.version.")

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        if before.value is not None:
            raise CannotTransform(f"{self.purpose} needs a schema, and there is none")
        return before

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        name = schema.name if self._name is None else self._name
        changed = replace(schema, name=name, version=schema.version if self._version is None else self._version)
        if not isinstance(value, Struct):
            return SchemaAndValue(changed, value)
        names = (each.name for each in changed.fields)
        values = ((each, field_value(value, each, default=self._default)) for each in names)
        return SchemaAndValue(changed, struct(changed, values))
