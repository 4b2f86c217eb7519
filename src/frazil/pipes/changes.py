"""Changes of columns: several as one, and what columns are after one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from frazil.model import Column, FieldPath, IcebergType, ListType, MapType, Primitive, SchemaChange, StructType
from frazil.pipes.naming import folded
from frazil.pipes.scalars import joined_scalars
from frazil.records.new_keys import width_of

_STRING: Final = Primitive("string")


def together(changes: Iterable[SchemaChange]) -> SchemaChange:
    """Several changes as one, in any order: of two types for one field the one that holds both."""
    add: dict[str, IcebergType] = {}
    fields: dict[FieldPath, tuple[FieldPath, IcebergType]] = {}
    widen: dict[FieldPath, Primitive] = {}
    relax: frozenset[FieldPath] = frozenset()
    for change in changes:
        add |= change.add
        relax |= change.relax
        for path, kind in change.grow.items():
            key = tuple(map(folded, path))
            known, seen = fields.get(key, (path, kind))
            fields[key] = (min(known, path), joined(seen, kind))
        for path, wider in change.widen.items():
            widen[path] = max(widen.get(path, wider), wider, key=lambda each: each.precision)
    grow = dict(sorted(fields.values(), key=lambda each: each[0]))
    return SchemaChange(dict(sorted(add.items())), grow, dict(sorted(widen.items())), relax)


def joined(one: IcebergType, other: IcebergType) -> IcebergType:
    """The type that holds the values of two types of new fields, whichever comes first."""
    match one, other:
        case _ if one == other:
            return one
        case StructType(), StructType():
            return _union(one, other)
        case ListType(), ListType():
            return replace(one, element=joined(one.element, other.element))
        case MapType(), MapType() if one.key == other.key:
            return replace(one, value=joined(one.value, other.value))
        case Primitive(), Primitive():
            return joined_scalars({str(one), str(other)})
        case _:
            return _STRING


def within(fields: Mapping[FieldPath, IcebergType], room: int) -> dict[FieldPath, IcebergType]:
    """As many new fields as there is room for columns, a field that is too wide by itself as JSON text."""
    found: dict[FieldPath, IcebergType] = {}
    for path, kind in fields.items():
        taken = width_of(found.values())
        if taken < room:
            found[path] = kind if taken + width_of([kind]) <= room else _STRING
    return found


def changed(columns: Sequence[Column], change: SchemaChange) -> tuple[Column, ...]:
    """The columns after a change."""
    added = (Column(0, name, kind) for name, kind in change.add.items())
    return (*(_column(column, (column.name,), change) for column in columns), *added)


def _union(one: StructType, other: StructType) -> StructType:
    fields: dict[str, Column] = {}
    for field in sorted((*one.fields, *other.fields), key=lambda each: each.name):
        known = fields.setdefault(folded(field.name), field)
        fields[folded(field.name)] = replace(known, type=joined(known.type, field.type))
    return StructType(tuple(sorted(fields.values(), key=lambda each: each.name)))


def _column(column: Column, path: FieldPath, change: SchemaChange) -> Column:
    required = column.required and path not in change.relax
    return replace(column, type=_type(column.type, path, change), required=required)


def _type(kind: IcebergType, path: FieldPath, change: SchemaChange) -> IcebergType:
    match kind:
        case Primitive():
            return change.widen.get(path, kind)
        case StructType(fields=fields):
            there = (_column(field, (*path, field.name), change) for field in fields)
            return StructType((*there, *_new_fields(path, change.grow)))
        case ListType():
            within = (*path, "element")
            required = kind.element_required and within not in change.relax
            return replace(kind, element=_type(kind.element, within, change), element_required=required)
        case MapType():
            within = (*path, "value")
            required = kind.value_required and within not in change.relax
            return replace(kind, value=_type(kind.value, within, change), value_required=required)


def _new_fields(path: FieldPath, grow: Mapping[FieldPath, IcebergType]) -> Iterable[Column]:
    return (Column(0, name, kind) for (*parent, name), kind in grow.items() if tuple(parent) == path)
