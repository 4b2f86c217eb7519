"""Iceberg types as DuckDB reads, casts and writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType
from frazil.pipes.naming import folded
from frazil.records.variant import MARK
from frazil.sql import ident, is_writable_name, literal

_PLAIN: Final = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz_ns": "TIMESTAMPTZ_NS",
    "uuid": "UUID",
    "binary": "BLOB",
    "variant": "VARIANT",
}

VARIANT: Final = Primitive("variant")

_VARIANT_WITHIN: Final = "STRUCT(metadata BLOB, value BLOB)"
"""What a VARIANT is within a struct, a list or a map of a file: DuckDB writes one at the top level only."""

_FIXED: Final = re.compile(r"fixed\[(\d+)\]").fullmatch


def fixed_length(kind: Primitive) -> int | None:
    """The bytes of a type `fixed`; None of any other."""
    found = _FIXED(kind.name)
    return int(found[1]) if found else None


def is_bytes(kind: Primitive) -> bool:
    """Whether a type's values are bytes, which records have as hexadecimal texts."""
    return kind.name == "binary" or fixed_length(kind) is not None


def unsupported(kind: IcebergType) -> str | None:
    """The first type within `kind` that records cannot be projected to, if there is one."""
    match kind:
        case Primitive(name="decimal"):
            return None
        case Primitive(name=name):
            return None if name in _PLAIN or is_bytes(kind) else name
        case ListType(element=element):
            return unsupported(element)
        case StructType(fields=fields):
            if len({folded(field.name) for field in fields}) < len(fields):
                return "struct with fields that differ only by case"
            found = next((found for field in fields if (found := _unsupported_field(field))), None)
            return found if fields else "struct without fields"
        case MapType(key=key, value=value):
            if not isinstance(key, Primitive) or key == VARIANT:
                return "map whose keys are no scalars"
            return unsupported(key) or unsupported(value)


def has(kind: IcebergType, name: str) -> bool:
    """Whether a primitive type of that name is somewhere in a type."""
    match kind:
        case Primitive():
            return kind.name == name
        case ListType(element=element):
            return has(element, name)
        case MapType(key=key, value=value):
            return has(key, name) or has(value, name)
        case StructType(fields=fields):
            return any(has(field.type, name) for field in fields)


def sql_type(kind: IcebergType) -> str:
    """The DuckDB type of a column as it is written."""
    match kind:
        case Primitive(name="decimal", precision=precision, scale=scale):
            return f"DECIMAL({precision},{scale})"
        case Primitive(name=name):
            return "BLOB" if is_bytes(kind) else _PLAIN[name]
        case ListType(element=element):
            return type_within(element) + "[]"
        case StructType(fields=fields):
            return "STRUCT(" + ", ".join(f"{ident(field.name)} {type_within(field.type)}" for field in fields) + ")"
        case MapType(key=key, value=value):
            return f"MAP({sql_type(key)}, {type_within(value)})"


def type_within(kind: IcebergType) -> str:
    """The same of what is within a struct, a list or a map."""
    return _VARIANT_WITHIN if kind == VARIANT else sql_type(kind)


def read_type(kind: IcebergType) -> str:
    """The DuckDB type `from_json` reads for a column: its own, or a text that `cast` turns into it."""
    match kind:
        case Primitive(name="variant"):
            return "JSON"
        case Primitive():
            return "VARCHAR" if is_bytes(kind) else sql_type(kind)
        case ListType(element=element):
            return read_type(element) + "[]"
        case StructType(fields=fields):
            return "STRUCT(" + ", ".join(f"{ident(field.name)} {read_type(field.type)}" for field in fields) + ")"
        case MapType(value=value):
            # The keys of a JSON object are texts, whatever they stand for.
            return f"MAP(VARCHAR, {read_type(value)})"


def json_structure(kind: IcebergType) -> object:
    """What `from_json` is to read, as a JSON value."""
    match kind:
        case ListType(element=element):
            return [json_structure(element)]
        case StructType(fields=fields):
            return {field.name: json_structure(field.type) for field in fields}
        case _:
            return read_type(kind)


def cast(expression: str, kind: IcebergType, *, in_base64: bool = False) -> str:
    """SQL that turns what `json_structure` read into the column's type.

    Args:
        expression: what was read.
        kind: the type.
        in_base64: whether bytes are texts in base64, rather than in hexadecimal digits.
    """
    return _variant(expression) if kind == VARIANT else _cast(expression, kind, 0, in_base64=in_base64)


def _cast(expression: str, kind: IcebergType, depth: int, *, in_base64: bool) -> str:
    """The same within a column, at a `depth` of so many lambdas around it."""
    if kind == VARIANT:
        return f"CASE WHEN {expression} IS NOT NULL THEN variant_to_parquet_variant({_variant(expression)}) END"
    if not _is_cast_by_hand(kind):
        return f"CAST({expression} AS {sql_type(kind)})"
    each = f"each_{depth}"

    def within(part: str, kind: IcebergType, levels: int = 1) -> str:
        return _cast(part, kind, depth + levels, in_base64=in_base64)

    match kind:
        case ListType(element=element):
            return f"list_transform({expression}, lambda {each}: {within(each, element)})"
        case MapType(key=key, value=value):
            entry = f"{{'k': {within(f'{each}.key', key)}, 'v': {within(f'{each}.value', value)}}}"
            entries = f"list_transform(map_entries({expression}), lambda {each}: {entry})"
            return f"CASE WHEN {expression} IS NOT NULL THEN map_from_entries({entries}) END"
        case StructType(fields=fields):
            packed = ", ".join(
                f"{ident(field.name)} := {within(f'{expression}.{ident(field.name)}', field.type, 0)}"
                for field in fields
            )
            return f"CASE WHEN {expression} IS NOT NULL THEN struct_pack({packed}) END"
        case _:
            return f"{'from_base64' if in_base64 else 'unhex'}({expression})"


def _is_cast_by_hand(kind: IcebergType) -> bool:
    """Whether something in a type is not what DuckDB's own cast makes: its cast to BLOB keeps hexadecimal as it is."""
    match kind:
        case Primitive():
            return kind == VARIANT or is_bytes(kind)
        case ListType(element=element):
            return _is_cast_by_hand(element)
        case MapType(key=key, value=value):
            return _is_cast_by_hand(key) or _is_cast_by_hand(value)
        case StructType(fields=fields):
            return any(_is_cast_by_hand(field.type) for field in fields)


def canonical(variant: str) -> str:
    """SQL for a VARIANT with the keys of its objects in the order of their UTF-8 bytes, at every level.

    DuckDB leaves them as they came. The specification wants them in order, and readers look for them by halves.
    """
    return f"variant_normalize({variant})"


def _variant(json: str) -> str:
    """SQL for the VARIANT of a JSON value, or of the bytes that a text with a mark stands for."""
    opening = '"' + MARK
    encoded = f"substr(CAST({json} AS VARCHAR), {len(opening) + 1}, length({json}) - {len(opening) + 1})"
    return canonical(
        f"CASE WHEN starts_with({json}, {literal(opening)}) THEN variant_bytes_to_variant(from_base64({encoded})) "
        f"ELSE CAST({json} AS VARIANT) END"
    )


def paths_within(path: str, kind: IcebergType) -> Iterator[str]:
    """The dotted paths of what is within a column or field of that path, by which Iceberg knows fields."""
    match kind:
        case Primitive():
            return
        case ListType(element=element):
            inner = [("element", element)]
        case MapType(key=key, value=value):
            inner = [("key", key), ("value", value)]
        case StructType(fields=fields):
            inner = [(field.name, field.type) for field in fields]
    for name, found in inner:
        yield f"{path}.{name}"
        yield from paths_within(f"{path}.{name}", found)


def file_name(column: Column) -> str:
    """What a column is called in data files; readers go by field ids.

    DuckDB finds no column with capital letters when the statement names VARIANTs not to shred.
    """
    return column.name.lower() if column.type == VARIANT else column.name


def field_ids(columns: Sequence[Column]) -> str:
    """The value of COPY's FIELD_IDS for these columns."""
    ids = (f"{ident(file_name(column))}: {_field_id(column.id, column.type)}" for column in columns)
    return "{" + ", ".join(ids) + "}"


def _field_id(number: int, kind: IcebergType) -> str:
    match kind:
        case Primitive():
            return str(number)
        case ListType(element_id=element_id, element=element):
            return f"{{__duckdb_field_id: {number}, element: {_field_id(element_id, element)}}}"
        case MapType(key_id=key_id, key=key, value_id=value_id, value=value):
            return (
                f"{{__duckdb_field_id: {number}, key: {_field_id(key_id, key)}, value: {_field_id(value_id, value)}}}"
            )
        case StructType(fields=fields):
            return f"{{__duckdb_field_id: {number}, {field_ids(fields)[1:-1]}}}"


def _unsupported_field(field: Column) -> str | None:
    if not field.name:
        return "struct with a field without a name"
    if not is_writable_name(field.name):
        return f"struct with a field named {field.name!r}"
    return unsupported(field.type)
