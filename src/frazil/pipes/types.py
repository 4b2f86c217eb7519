"""Iceberg types as DuckDB reads, casts and writes them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType
from frazil.sql import ident

_PLAIN = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "variant": "VARIANT",
}

_TIME = r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
TEXT_FORMS = {
    "date": re.compile(_DAY),
    "timestamp": re.compile(_DAY + _TIME),
    "timestamptz": re.compile(_DAY + _TIME + r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?"),
}
"""Forms of the texts that are cast to dates and times: ISO 8601; text without a zone is UTC."""


def check_text_form(name: str, text: str) -> None:
    """Refuse what a column of a date or time type cannot take from a text.

    Raises:
        ValueError: the text is not in the type's form, or no moment of the years 1 to 9999 (UTC); the message says why.
    """
    if not TEXT_FORMS[name].fullmatch(text):
        raise ValueError(f"no ISO 8601 {name}")
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo and not dt.MINYEAR < moment.year < dt.MAXYEAR:
        try:
            moment.astimezone(dt.UTC)
        except OverflowError as error:
            raise ValueError("year is out of range in UTC") from error


def unsupported(kind: IcebergType) -> str | None:
    """The first type within `kind` that records cannot be projected to, if there is one."""
    match kind:
        case Primitive(name="decimal"):
            return None
        case Primitive(name=name):
            return None if name in _PLAIN else name
        case ListType(element=element):
            return "list of variant" if element == Primitive("variant") else unsupported(element)
        case StructType(fields=fields):
            return next((found for field in fields if (found := _unsupported_field(field))), None)
        case MapType():
            return "map"


def sql_type(kind: IcebergType) -> str:
    """The DuckDB type of a column as it is written."""
    match kind:
        case Primitive(name="decimal", precision=precision, scale=scale):
            return f"DECIMAL({precision},{scale})"
        case Primitive(name=name):
            return _PLAIN[name]
        case ListType(element=element):
            return sql_type(element) + "[]"
        case StructType(fields=fields):
            return "STRUCT(" + ", ".join(f"{ident(field.name)} {sql_type(field.type)}" for field in fields) + ")"
        case MapType(key=key, value=value):
            return f"MAP({sql_type(key)}, {sql_type(value)})"


def json_structure(kind: IcebergType) -> object:
    """What `from_json` is told to read, as a JSON value."""
    match kind:
        case Primitive(name="variant"):
            return "JSON"
        case Primitive() | MapType():
            return sql_type(kind)
        case ListType(element=element):
            return [json_structure(element)]
        case StructType(fields=fields):
            return {field.name: json_structure(field.type) for field in fields}


def cast(expression: str, kind: IcebergType) -> str:
    """SQL that turns what `json_structure` read into the column's type."""
    return f"CAST({expression} AS {sql_type(kind)})"


def field_ids(columns: Sequence[Column]) -> str:
    """The value of COPY's FIELD_IDS for these columns."""
    return "{" + ", ".join(f"{ident(column.name)}: {_field_id(column.id, column.type)}" for column in columns) + "}"


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
    # A VARIANT below the top level would need the raw text of a nested value, which DuckDB's reader does not keep.
    return "struct with a variant" if field.type == Primitive("variant") else unsupported(field.type)
