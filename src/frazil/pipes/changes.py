"""Changes of columns that are there: several as one, and what columns are after one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from frazil.model import Column, FieldPath, IcebergType, ListType, MapType, Primitive, SchemaChange, StructType


def together(changes: Iterable[SchemaChange]) -> SchemaChange:
    """Several changes as one, in any order: of two types for one field the wider."""
    add: dict[str, IcebergType] = {}
    widen: dict[FieldPath, Primitive] = {}
    relax: frozenset[FieldPath] = frozenset()
    for change in changes:
        add |= change.add
        relax |= change.relax
        for path, kind in change.widen.items():
            known = widen.get(path, kind)
            widen[path] = max(known, kind, key=lambda each: each.precision)
    return SchemaChange(dict(sorted(add.items())), dict(sorted(widen.items())), relax)


def changed(columns: Sequence[Column], change: SchemaChange) -> tuple[Column, ...]:
    """The columns after a change."""
    added = (Column(0, name, kind) for name, kind in change.add.items())
    return (*(_column(column, (column.name,), change) for column in columns), *added)


def _column(column: Column, path: FieldPath, change: SchemaChange) -> Column:
    required = column.required and path not in change.relax
    return replace(column, type=_type(column.type, path, change), required=required)


def _type(kind: IcebergType, path: FieldPath, change: SchemaChange) -> IcebergType:
    match kind:
        case Primitive():
            return change.widen.get(path, kind)
        case StructType(fields=fields):
            return StructType(tuple(_column(field, (*path, field.name), change) for field in fields))
        case ListType():
            within = (*path, "element")
            required = kind.element_required and within not in change.relax
            return replace(kind, element=_type(kind.element, within, change), element_required=required)
        case MapType():
            within = (*path, "value")
            required = kind.value_required and within not in change.relax
            return replace(kind, value=_type(kind.value, within, change), value_required=required)
