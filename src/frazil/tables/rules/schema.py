"""Iceberg's schema JSON ↔ our columns, and what is left to do of a change of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Final

import orjson

from frazil.model import Column, FieldPath, IcebergType, ListType, MapType, Primitive, SchemaChange, StructType
from frazil.pipes.evolution import unambiguous
from frazil.pipes.naming import folded

_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


_WIDER: Final = {("int", "long"), ("float", "double")}


def columns_from_json(text: str) -> tuple[Column, ...]:
    """The columns of a schema as `SchemaParser.toJson` writes it."""
    return _fields(orjson.loads(text)["fields"])


def schema_to_json(columns: Sequence[Column]) -> str:
    """A schema as `SchemaParser.fromJson` reads it; ids are given anew, as for a new table."""
    numbers = count(1)
    return orjson.dumps({"type": "struct", "schema-id": 0, "fields": _fields_json(columns, numbers)}).decode()


def is_promotion(before: Primitive, after: Primitive) -> bool:
    """Whether what was written as the one type is read rightly as the other; also of a type to itself."""
    if before.name == after.name == "decimal":
        return before.scale == after.scale and before.precision <= after.precision
    return before == after or (before.name, after.name) in _WIDER


def may_evolve(says: str | None, *, created: bool) -> bool | None:
    """Whether records may change a table's columns; None where nobody has decided.

    Args:
        says: the table's property `frazil.schema.evolution`.
        created: whether frazil made the table.
    """
    if says is not None and says.lower() in ("true", "false"):
        return says.lower() == "true"
    return True if created else None


def remaining(change: SchemaChange, existing: Sequence[Column]) -> SchemaChange:
    """What is left to do of a change, on a table that has the `existing` columns by now.

    What others did to these in the meantime stays: a column that is there already, is gone, or has become of a type
    that cannot be widened to the wanted one.
    """
    known = {folded(column.name) for column in existing}
    missing = {name: kind for name, kind in change.add.items() if folded(name) not in known}
    return SchemaChange(
        add=unambiguous(missing, existing),
        grow={path: kind for path, kind in change.grow.items() if _is_missing(existing, path)},
        widen={path: kind for path, kind in change.widen.items() if _is_narrower(_field(existing, path), kind)},
        relax=frozenset(path for path in change.relax if (found := _field(existing, path)) and found.required),
    )


def fields_of(kind: IcebergType) -> tuple[Column, ...]:
    """What is directly within a type and may change: all but the keys of maps."""
    match kind:
        case StructType(fields=fields):
            return fields
        case ListType():
            return (Column(kind.element_id, "element", kind.element, kind.element_required),)
        case MapType():
            return (Column(kind.value_id, "value", kind.value, kind.value_required),)
        case _:
            return ()


def _field(columns: Sequence[Column], path: FieldPath) -> Column | None:
    name, *rest = path
    found = next((column for column in columns if column.name == name), None)
    return _field(fields_of(found.type), tuple(rest)) if found and rest else found


def _is_missing(columns: Sequence[Column], path: FieldPath) -> bool:
    """Whether there is a struct for a field, and not the field."""
    parent = _field(columns, path[:-1])
    if parent is None or not isinstance(parent.type, StructType):
        return False
    return folded(path[-1]) not in {folded(field.name) for field in parent.type.fields}


def _is_narrower(column: Column | None, wanted: Primitive) -> bool:
    kind = column and column.type
    return isinstance(kind, Primitive) and kind != wanted and is_promotion(kind, wanted)


def _fields(fields: Iterable[dict[str, Any]]) -> tuple[Column, ...]:
    return tuple(
        Column(each["id"], each["name"], _type(each["type"]), each["required"], _default(each.get("write-default")))
        for each in fields
    )


def _default(value: Any) -> str | None:
    """A default as JSON text: structs, lists and maps have none but the empty one, which nobody needs."""
    return None if value is None or isinstance(value, dict | list) else orjson.dumps(value).decode()


def _type(found: Any) -> IcebergType:
    if isinstance(found, str):
        decimal = _DECIMAL.fullmatch(found)
        if decimal:
            return Primitive("decimal", int(decimal[1]), int(decimal[2]))
        return Primitive(found)
    match found["type"]:
        case "list":
            return ListType(found["element-id"], _type(found["element"]), found["element-required"])
        case "map":
            return MapType(
                found["key-id"], _type(found["key"]), found["value-id"], _type(found["value"]), found["value-required"]
            )
        case _:
            return StructType(_fields(found["fields"]))


def _fields_json(columns: Iterable[Column], numbers: count[int]) -> list[dict[str, Any]]:
    return [
        {"id": next(numbers), "name": each.name, "required": each.required, "type": _type_json(each.type, numbers)}
        for each in columns
    ]


def _type_json(kind: IcebergType, numbers: count[int]) -> Any:
    match kind:
        case Primitive():
            return str(kind)
        case StructType(fields=fields):
            return {"type": "struct", "fields": _fields_json(fields, numbers)}
        case ListType(element=element, element_required=required):
            number = next(numbers)
            return {
                "type": "list",
                "element-id": number,
                "element": _type_json(element, numbers),
                "element-required": required,
            }
        case MapType(key=key, value=value, value_required=required):
            key_id, value_id = next(numbers), next(numbers)
            return {
                "type": "map",
                "key-id": key_id,
                "key": _type_json(key, numbers),
                "value-id": value_id,
                "value": _type_json(value, numbers),
                "value-required": required,
            }
