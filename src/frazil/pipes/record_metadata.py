"""RECORD_METADATA in the type a table's column has: a struct of some of its fields, VARIANT, or JSON text (spec 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from frazil.model import Column, Conversion, IcebergType, MapType, Primitive, StructType
from frazil.pipes import types
from frazil.records import metadata
from frazil.sql import ident, literal

REMEDY: Final = (
    "Make it VARIANT, STRING, or a struct of fields among "
    + ", ".join(name for name, _ in metadata.FIELDS)
    + ", as docs/record-metadata.md says; or drop it."
)
"""What to do about a column that is `unsupported`."""

INPUTS: Final = (
    *(name for name, _ in metadata.FIELDS),
    metadata.KEY_IS_JSON,
    metadata.STRUCTURED_HEADERS,
    metadata.ENCODED,
)
"""The columns of converted records that the column's SQL reads."""

_DIGITS: Final = {"int": 10, "long": 19}
"""Digits a decimal needs before the point to hold every value of a type."""

_WIDER: Final = {
    "string": ("string",),
    "int": ("int", "long", "double", "string"),
    "long": ("long", "string"),
    "map": ("string",),
}
"""Types that hold every value of a field exactly."""

_ENCODED: Final = ident(metadata.ENCODED)
KEY: Final = (
    f"CASE WHEN {ident(metadata.KEY_IS_JSON)} THEN {ident('key')} ELSE CAST(to_json({ident('key')}) AS VARCHAR) END"
)
"""SQL for the key as JSON text."""

HEADERS: Final = f"coalesce({ident(metadata.STRUCTURED_HEADERS)}, CAST(to_json({ident('headers')}) AS VARCHAR))"
"""SQL for the headers as JSON text."""

ANYTHING: Final = " OR ".join(f"{ident(name)} IS NOT NULL" for name, _ in metadata.FIELDS)
"""SQL for whether anything is known of a record; its first part is true for nearly every one."""

_MEMBERS: Final = {
    "topic": f"CAST(to_json({ident('topic')}) AS VARCHAR)",
    "offset": ident("offset"),
    "partition": ident("partition"),
    "schema_id": ident("schema_id"),
    "key_schema_id": ident("key_schema_id"),
    "CreateTime": ident("CreateTime"),
    "LogAppendTime": ident("LogAppendTime"),
    "SnowflakeConnectorPushTime": ident("SnowflakeConnectorPushTime"),
    "key": KEY,
    "headers": HEADERS,
}
"""The members of the JSON object in their order, each as SQL for its JSON text."""


def is_metadata(column: Column) -> bool:
    """Whether the column is RECORD_METADATA, in any case."""
    return is_metadata_name(column.name)


def is_metadata_name(name: str) -> bool:
    """Whether the name is RECORD_METADATA's, in any case."""
    return name.upper() == metadata.COLUMN


def expression(column: Column) -> str:
    """SQL for the column's value over the columns `frazil.records.convert` makes; NULL if nothing is known of a record.

    The column is one that `unsupported` has no objection to.
    """
    match column.type:
        case StructType(fields=fields):
            value = f"struct_pack({', '.join(f'{ident(field.name)} := {_field(field)}' for field in fields)})"
        case Primitive(name="variant"):
            value = types.canonical(
                f"CASE WHEN {_ENCODED} IS NOT NULL THEN variant_bytes_to_variant({_ENCODED}) "
                f"ELSE CAST(CAST({document()} AS JSON) AS VARIANT) END"
            )
        case _:
            value = document()
    return f"CASE WHEN {ANYTHING} THEN {value} END"


def document() -> str:
    """SQL for the metadata as the text of a JSON object that has no member without a value (spec 3.1)."""
    members = ", ".join(literal(f'"{name}":') + " || " + value for name, value in _MEMBERS.items())
    return f"'{{' || concat_ws(',', {members}) || '}}'"


def unsupported(column: Column, conversion: Conversion) -> str | None:
    """Why a table's RECORD_METADATA cannot be written as records are converted, if it cannot; goes with `REMEDY`."""
    always = metadata.always_present(conversion)
    if column.required and not always:
        return "it must not be NULL, and the settings snowflake.metadata.* leave it NULL"
    match column.type:
        case StructType(fields=fields):
            return _unsupported_struct(fields, always)
        case Primitive(name="variant" | "string"):
            return None
        case other:
            return f"its type is {other}"


def created_type(conversion: Conversion) -> IcebergType:
    """The type of the column in tables frazil creates: a struct, unless it is to be a text, or headers to be typed."""
    if not conversion.structured_metadata:
        return Primitive("string")
    if not conversion.structured_headers:
        return metadata.column_type()
    return Primitive("variant" if conversion.nested_type == "variant" else "string")


def keeps_structure(column: Column) -> bool:
    """Whether header values can keep their JSON types in this column; in a struct they are texts."""
    return isinstance(column.type, Primitive)


def _unsupported_struct(fields: Sequence[Column], always: frozenset[str]) -> str | None:
    known = {_known(field) for field in fields}
    if known == {None}:
        return f"its type is {StructType(tuple(fields))}"
    return next((found for field in fields if (found := _unsupported_field(field, always))), None) or next(
        _twice(fields), None
    )


def _unsupported_field(field: Column, always: frozenset[str]) -> str | None:
    name = _known(field)
    if field.required and name not in always:
        return f"its field {field.name} must not be NULL, and not every record has one"
    if name is None:
        found = types.unsupported(StructType((field,)))
        return f"its field {field.name} is of type {field.type}, and {found} is not written yet" if found else None
    kind = dict(metadata.FIELDS)[name]
    return None if _holds(field.type, kind) else f"its field {field.name} is of type {field.type}, which cannot hold it"


def _twice(fields: Sequence[Column]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for field in fields:
        other = seen.setdefault(field.name.casefold(), field.name)
        if other != field.name:
            yield f"its fields {other} and {field.name} differ only by case"


def _holds(kind: IcebergType, needed: str) -> bool:
    match kind:
        case Primitive(name="decimal", precision=precision, scale=scale):
            return precision - scale >= _DIGITS.get(needed, 99)
        case Primitive(name=name):
            return name in _WIDER[needed]
        case MapType(key=key, value=value, value_required=required):
            return needed == "map" and (key, value, required) == (Primitive("string"), Primitive("string"), False)
        case _:
            return False


def _field(field: Column) -> str:
    name = _known(field)
    if name == "headers" and field.type == Primitive("string"):
        return HEADERS
    return f"CAST({ident(name) if name else 'NULL'} AS {types.type_within(field.type)})"


def _known(field: Column) -> str | None:
    """The metadata field that a field of a struct is for, ignoring case."""
    return _NAMES.get(field.name.casefold())


_NAMES: Final = {name.casefold(): name for name, _ in metadata.FIELDS}
