"""What columns have to become so that a record fits which does not: wider types, and NULL where there was none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from frazil.model import Column, FieldPath, IcebergType, ListType, MapType, Primitive, SchemaChange, StructType
from frazil.pipes.default.coercion import Coercion
from frazil.pipes.default.exact_json import CoercionError, Object
from frazil.pipes.default.projection import Projection
from frazil.pipes.naming import folded

_MOST_DIGITS: Final = 38
"""Digits of Iceberg's widest decimal."""


@dataclass(slots=True)
class Growth:
    """What one record asks of the columns; others may be in the way that nothing can be done about."""

    projection: Projection
    coercion: Coercion
    widen: dict[FieldPath, Primitive] = field(default_factory=dict)
    relax: set[FieldPath] = field(default_factory=set)

    def asked_by(self, record: Object | None) -> SchemaChange:
        """The change that a record asks for; None is a tombstone."""
        values: dict[str, list[Any]] = {}
        for key, value in record or ():
            column = self.projection.column_for(key)
            if column is not None:
                values.setdefault(column.name, []).append(value)
        for column in self.projection.payload():
            self._look_at_field(column, values.get(column.name, []), (column.name,))
        return SchemaChange(widen=dict(self.widen), relax=frozenset(self.relax))

    def _look_at_field(self, column: Column, values: Sequence[Any], path: FieldPath) -> None:
        """Look at all values of one column or field in a record: several where keys differ only by case."""
        if column.required and all(value is None for value in values) and (values or column.default is None):
            self.relax.add(path)
        for value in values:
            self._look(column.type, value, path)

    def _look(self, kind: IcebergType, value: Any, path: FieldPath) -> None:
        match kind:
            case _ if value is None:
                return
            case Primitive():
                if not self._fits(kind, value):
                    fitting = (wider for wider in _wider(kind) if self._fits(wider, value))
                    if wider := next(fitting, None):
                        self._widen(path, wider)
            case StructType(fields=fields) if isinstance(value, Object):
                for each in fields:
                    found = [member for key, member in value if folded(key) == folded(each.name)]
                    self._look_at_field(each, found, (*path, each.name))
            case ListType() if isinstance(value, list) and not isinstance(value, Object):
                self._look_at_items(kind.element, value, (*path, "element"), required=kind.element_required)
            case MapType() if isinstance(value, Object):
                members = [member for _, member in value]
                self._look_at_items(kind.value, members, (*path, "value"), required=kind.value_required)

    def _look_at_items(self, kind: IcebergType, items: Sequence[Any], path: FieldPath, *, required: bool) -> None:
        if required and any(item is None for item in items):
            self.relax.add(path)
        for item in items:
            self._look(kind, item, path)

    def _fits(self, kind: Primitive, value: Any) -> bool:
        try:
            self.coercion.text(kind, value, "")
        except CoercionError:
            return False
        return True

    def _widen(self, path: FieldPath, kind: Primitive) -> None:
        known = self.widen.get(path, kind)
        self.widen[path] = max(known, kind, key=lambda each: each.precision)


def _wider(kind: Primitive) -> Iterator[Primitive]:
    """What Iceberg can make of a type, the narrowest first."""
    match kind.name:
        case "int":
            yield Primitive("long")
        case "float":
            yield Primitive("double")
        case "decimal":
            for precision in range(kind.precision + 1, _MOST_DIGITS + 1):
                yield replace(kind, precision=precision)
