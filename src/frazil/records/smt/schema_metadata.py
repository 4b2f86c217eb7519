"""SetSchemaMetadata: names a schema, or gives it a version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from frazil.records.connect.data import Schema, SchemaAndValue, Struct
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import Remembered, contents, struct
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
        self._schemas = Remembered(self._changed)
        if self._name is None and "schema.version" not in options.given:
            options.refuse("type", "sets neither a name nor a version. Write schema.name or schema.version.")

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        if before.value is not None:
            raise CannotTransform(f"{self.purpose} needs a schema, and there is none")
        return before

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        changed = self._schemas.of(schema)
        if not isinstance(value, Struct):
            return SchemaAndValue(changed, value)
        values = ((field.name, each) for field, each in contents(value, default=self._default))
        return SchemaAndValue(changed, struct(changed, values))

    def _changed(self, schema: Schema) -> Schema:
        name = schema.name if self._name is None else self._name
        return replace(schema, name=name, version=schema.version if self._version is None else self._version)
