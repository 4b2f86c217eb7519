"""Iceberg's fields as DuckDB reads them from Parquet files: by id, or by name where files have no ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

from frazil.errors import InvalidQuery
from frazil.sql import ident, literal

Field: TypeAlias = dict[str, Any]
"""A field as Iceberg's schema JSON has it."""

NameMapping: TypeAlias = Mapping[int, tuple[str, "NameMapping"]]
"""By id, the name that a field has in a file without ids, and those of the fields in it."""

_TYPES: Final = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz_ns": "TIMESTAMPTZ_NS",
    "string": "VARCHAR",
    "uuid": "UUID",
    "binary": "BLOB",
    "variant": "VARIANT",
    "unknown": '"NULL"',
}
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def fields_of(schema: str) -> list[Field]:
    """The fields of a schema as Iceberg's SchemaParser writes it."""
    found: list[Field] = orjson.loads(schema)["fields"]
    return found


def duckdb_type(kind: Any) -> str:
    """The type that DuckDB has for one of Iceberg's.

    Raises:
        InvalidQuery: it has none, or names differ only by case in it.
    """
    if isinstance(kind, str):
        decimal = _DECIMAL.fullmatch(kind)
        if decimal:
            return f"DECIMAL({int(decimal[1])},{int(decimal[2])})"
        if kind.startswith("fixed"):
            return "BLOB"
        if kind not in _TYPES:
            raise InvalidQuery(f"columns of the type {kind} cannot be read. Name the others instead of *")
        return _TYPES[kind]
    match kind["type"]:
        case "list":
            return f"{duckdb_type(kind['element'])}[]"
        case "map":
            return f"MAP({duckdb_type(kind['key'])}, {duckdb_type(kind['value'])})"
        case _:
            refuse_alike([each["name"] for each in kind["fields"]])
            return f"STRUCT({', '.join(_member(each) for each in kind['fields'])})"


def _member(field: Field) -> str:
    return f"{ident(field['name'])} {duckdb_type(field['type'])}"


def refuse_alike(names: Iterable[str]) -> None:
    """Refuse names that differ only by case.

    Raises:
        InvalidQuery: it names two of them.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise InvalidQuery(f"{other!r} and {name!r} differ only by case, and cannot be read together")


def schema_map(
    fields: Sequence[Field], *, names: NameMapping | None = None, constants: Mapping[int, str | None] | None = None
) -> str:
    """What `read_parquet` takes as `schema`: the columns it gives are called after the fields' ids.

    Args:
        fields: what to read.
        names: for files without ids.
        constants: by id, the value of what a file lacks, as DuckDB reads it from a text; others have their defaults.
    """
    constants = constants or {}
    entries = (_entry(each, column(each["id"]), names, constants.get(each["id"], _default(each))) for each in fields)
    return f"MAP {{{', '.join(entries)}}}"


def column(identity: int) -> str:
    """What a field's column is called where it is read: no name of a table is in the way there."""
    return f"f{identity}"


def _entry(field: Field, name: str, names: NameMapping | None, text: str | None) -> str:
    key, below = f"{int(field['id'])}", None
    if names is not None:
        # A field that the mapping leaves out is in no file: nor is a column of that name.
        found, below = names.get(field["id"], (f"no field {field['id']}", {}))
        key = literal(found)
    kind = field["type"]
    children = ", ".join(_entry(each, each["name"], below, _default(each)) for each in _children(kind))
    return (
        f"{key}: {{name: {literal(name)}, type: {literal(duckdb_type(kind))}, "
        f"default_value: {'NULL::VARCHAR' if text is None else literal(text)}, "
        f"children: {f'MAP {{{children}}}' if children else 'NULL'}}}"
    )


def _default(field: Field) -> str | None:
    return default_text(field.get("initial-default"), field["type"])


def _children(kind: Any) -> list[Field]:
    if isinstance(kind, str):
        return []
    match kind["type"]:
        case "list":
            return [{"id": kind["element-id"], "name": "element", "type": kind["element"]}]
        case "map":
            return [
                {"id": kind["key-id"], "name": "key", "type": kind["key"]},
                {"id": kind["value-id"], "name": "value", "type": kind["value"]},
            ]
        case _:
            found: list[Field] = kind["fields"]
            return found


def default_text(value: Any, kind: Any) -> str | None:
    """A single value of Iceberg's JSON as a text that DuckDB casts to the type; None of what is NULL."""
    if value is None or not isinstance(kind, str):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if kind == "binary" or kind.startswith("fixed"):
        return "".join(f"\\x{byte:02X}" for byte in bytes.fromhex(value))
    return str(value)


def name_mapping(text: str) -> NameMapping:
    """The property `schema.name-mapping.default`."""
    return _mapped(orjson.loads(text))


def _mapped(fields: Iterable[Field]) -> dict[int, tuple[str, NameMapping]]:
    return {
        each["field-id"]: (each["names"][0], _mapped(each.get("fields", ())))
        for each in fields
        if "field-id" in each and each.get("names")
    }
