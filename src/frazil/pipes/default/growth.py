"""What columns have to become so that a record fits which does not: new fields, wider types, NULL where none was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from frazil.model import (
    Column,
    FieldPath,
    IcebergType,
    ListType,
    MapType,
    ObservedType,
    Primitive,
    SchemaChange,
    StructType,
)
from frazil.pipes.changes import together
from frazil.pipes.default.coercion import Coercion
from frazil.pipes.default.exact_json import CoercionError, Object
from frazil.pipes.default.observation import LEVELS, observed
from frazil.pipes.default.projection import Projection
from frazil.pipes.evolution import column_type, is_typed
from frazil.pipes.naming import folded
from frazil.pipes.scalars import MOST_DIGITS


@dataclass(slots=True)
class Growth:
    """What one record asks of the columns; others may be in the way that nothing can be done about."""

    projection: Projection
    coercion: Coercion
    grows: bool
    """Whether structs may get fields."""

    widens: bool
    """Whether types may become wider, and NULL may come where it could not."""

    change: SchemaChange = field(default_factory=SchemaChange)
    """What was asked for so far."""

    def asked_by(self, record: Object | None, types: Mapping[str, ObservedType]) -> SchemaChange:
        """The change that a record asks for; None is a tombstone.

        Args:
            record: its value.
            types: what its keys are by its schema, which says more of new fields than values do.
        """
        values: dict[str, list[Any]] = {}
        for key, value in record or ():
            column = self.projection.column_for(key)
            if column is not None:
                values.setdefault(column.name, []).append(value)
        self.asked_by_types(types)
        named = {column.name for key in types if (column := self.projection.column_for(key)) is not None}
        grows = self.grows
        for column in self.projection.payload():
            self.grows = grows and column.name not in named
            self._look_at_field(column, values.get(column.name, []), (column.name,))
        self.grows = grows
        return self.change

    def asked_by_types(self, types: Mapping[str, ObservedType]) -> SchemaChange:
        """The change that a schema asks for, whatever its values are."""
        for key, kind in types.items():
            column = self.projection.column_for(key)
            if column is not None:
                self._compare(column.type, kind, (column.name,))
        return self.change

    def _compare(self, kind: IcebergType, wanted: ObservedType, path: FieldPath) -> None:
        match kind:
            case Primitive():
                wider = column_type(wanted, "struct")
                if self.widens and isinstance(wider, Primitive) and wider in _wider(kind):
                    self._ask(SchemaChange(widen={path: wider}))
            case StructType(fields=fields):
                known = {folded(each.name): each for each in fields}
                for name, each in wanted.fields or ():
                    if (field := known.get(folded(name))) is not None:
                        self._compare(field.type, each, (*path, field.name))
                    elif self.grows:
                        self._grow(name, each, path)
            case ListType(element=element) if wanted.element is not None:
                self._compare(element, wanted.element, (*path, "element"))
            case MapType(value=value) if wanted.entries is not None:
                self._compare(value, wanted.entries[1], (*path, "value"))

    def _look_at_field(self, column: Column, values: Sequence[Any], path: FieldPath) -> None:
        """Look at all values of one column or field in a record: several where keys differ only by case."""
        is_null = all(value is None for value in values) and (values or column.default is None)
        if column.required and self.widens and is_null:
            self._ask(SchemaChange(relax=frozenset({path})))
        for value in values:
            self._look(column.type, value, path)

    def _look(self, kind: IcebergType, value: Any, path: FieldPath) -> None:
        match kind:
            case _ if value is None:
                return
            case Primitive():
                if self.widens and not self._fits(kind, value):
                    fitting = (wider for wider in _wider(kind) if self._fits(wider, value))
                    if wider := next(fitting, None):
                        self._ask(SchemaChange(widen={path: wider}))
            case StructType(fields=fields) if isinstance(value, Object):
                self._look_at_members(fields, value, path)
            case ListType() if isinstance(value, list) and not isinstance(value, Object):
                self._look_at_items(kind.element, value, (*path, "element"), required=kind.element_required)
            case MapType() if isinstance(value, Object):
                members = [member for _, member in value]
                self._look_at_items(kind.value, members, (*path, "value"), required=kind.value_required)

    def _look_at_members(self, fields: Sequence[Column], value: Object, path: FieldPath) -> None:
        known = {folded(each.name) for each in fields}
        for each in fields:
            found = [member for key, member in value if folded(key) == folded(each.name)]
            self._look_at_field(each, found, (*path, each.name))
        for key, member in value if self.grows else ():
            if folded(key) not in known:
                self._grow(key, observed(member, LEVELS), path)

    def _look_at_items(self, kind: IcebergType, items: Sequence[Any], path: FieldPath, *, required: bool) -> None:
        if required and self.widens and any(item is None for item in items):
            self._ask(SchemaChange(relax=frozenset({path})))
        for item in items:
            self._look(kind, item, path)

    def _grow(self, key: str, seen: ObservedType, parent: FieldPath) -> None:
        """Ask for a field of a type."""
        if not is_typed(seen, "struct") or not self.projection.can_name_field((*parent, key)):
            return
        self._ask(SchemaChange(grow={(*parent, key): column_type(seen, "struct")}))

    def _fits(self, kind: Primitive, value: Any) -> bool:
        try:
            self.coercion.text(kind, value, "")
        except CoercionError:
            return False
        return True

    def _ask(self, change: SchemaChange) -> None:
        self.change = together([self.change, change])


def _wider(kind: Primitive) -> Iterator[Primitive]:
    """What Iceberg can make of a type, the narrowest first."""
    match kind.name:
        case "int":
            yield Primitive("long")
        case "float":
            yield Primitive("double")
        case "decimal":
            for precision in range(kind.precision + 1, MOST_DIGITS + 1):
                yield replace(kind, precision=precision)
