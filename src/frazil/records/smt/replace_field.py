"""ReplaceField: leaves fields out, and gives others new names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frazil.records.connect.data import Schema, SchemaAndValue
from frazil.records.smt.java_text import split
from frazil.records.smt.options import Options
from frazil.records.smt.schemas import Remembered, field_value, struct, struct_schema
from frazil.records.smt.transformation import OfPartAlone, Part, plain


class ReplaceField(OfPartAlone):
    """Keeps the fields of `include` (all, if there are none) without those of `exclude`."""

    purpose = "replacing fields"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `include`, `exclude`, `renames` and `replace.null.with.default`."""
        super().__init__(part)
        self._exclude = frozenset(options.distinct("exclude"))
        self._include = frozenset(options.distinct("include"))
        self._renames: dict[str, str] = {}
        for mapping in options.texts("renames"):
            pieces = split(mapping, ":")
            if len(pieces) == 2:
                self._renames[pieces[0]] = pieces[1]
            else:
                options.refuse("renames", f"{mapping!r} is no rename mapping. Write <old name>:<new name>.")
        self._default = options.replaces_null()
        self._schemas = Remembered(self._changed)

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        if before.value is None:
            return before
        return plain(self.replaced(self._map(before.value)))

    def replaced(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that are left of a value without a schema, under their new names."""
        return {self._renames.get(name, name): value for name, value in fields.items() if self._stays(name)}

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        if value is None:
            return SchemaAndValue(schema, value)
        found = self._struct(value)
        changed = self._schemas.of(found.schema)
        names = (each.name for each in found.schema.fields if self._stays(each.name))
        values = ((self._new(name), field_value(found, name, default=self._default)) for name in names)
        return SchemaAndValue(changed, struct(changed, values))

    def _stays(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _changed(self, schema: Schema) -> Schema:
        kept = (each for each in schema.fields if self._stays(each.name))
        return struct_schema(((self._new(each.name), each.schema) for each in kept), schema)

    def _new(self, name: str) -> str:
        return self._renames.get(name, name)
