"""What information_schema tells: the tables of a catalog and their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import duckdb
import pyarrow as pa

from frazil.errors import InvalidQuery
from frazil.model import Column, IcebergType, Primitive, StructType, TableName
from frazil.queries.lake import CatalogLake
from frazil.snowflake.compiled import Scan
from frazil.snowflake.tables import INFORMATION
from frazil.sql import ident

_SNOWFLAKES: Final = {
    "boolean": "BOOLEAN",
    "int": "NUMBER(10,0)",
    "long": "NUMBER(19,0)",
    "float": "FLOAT",
    "double": "FLOAT",
    "date": "DATE",
    "time": "TIME(6)",
    "timestamp": "TIMESTAMP_NTZ(6)",
    "timestamptz": "TIMESTAMP_LTZ(6)",
    "timestamp_ns": "TIMESTAMP_NTZ(9)",
    "timestamptz_ns": "TIMESTAMP_LTZ(9)",
    "string": "VARCHAR",
    "uuid": "UUID",
    "binary": "BINARY(67108864)",
    "variant": "VARIANT",
}
"""How Snowflake shows the types of Iceberg's columns."""


def type_name(kind: IcebergType, length: int | None = None) -> str:
    """A type as Snowflake spells it, with the length that its texts or bytes may have."""
    if isinstance(kind, Primitive):
        if length is not None:
            return f"{_SNOWFLAKES[kind.name].partition('(')[0]}({length})"
        if kind.name == "decimal":
            return f"NUMBER({kind.precision},{kind.scale})"
        if kind.name.startswith("fixed"):
            return f"BINARY({kind.name[6:-1]})"
        return _SNOWFLAKES.get(kind.name, kind.name.upper())
    if isinstance(kind, StructType):
        return f"OBJECT({', '.join(f'{each.name} {type_name(each.type)}' for each in kind.fields)})"
    if hasattr(kind, "element"):
        return f"ARRAY({type_name(kind.element)})"
    return f"MAP({type_name(kind.key)}, {type_name(kind.value)})"


def rows(scan: Scan, lake: CatalogLake) -> pa.Table:
    """All rows of a table of information_schema; what costs to know is there only if the scan needs it."""
    name = scan.table.name
    needs_totals = scan.columns is None or bool(_TOTALS & {*scan.columns})
    found = list(_tables(lake, needs_totals=needs_totals) if name == "tables" else _columns(lake))
    schema = pa.schema([(each.name, _ARROW[str(each.type)]) for each in INFORMATION[name]])
    return pa.Table.from_pylist(found, schema)


_TOTALS: Final = {"ROW_COUNT", "BYTES", "CREATED", "LAST_ALTERED"}
_ARROW: Final = {"string": pa.string(), "long": pa.int64(), "timestamptz": pa.timestamp("us", "UTC")}


def create(connection: duckdb.DuckDBPyConnection, scan: Scan, rows: pa.Table) -> None:
    """Make the table of a scan of information_schema."""
    connection.register("frazil rows", rows)
    names = rows.column_names if scan.columns is None else list(scan.columns) or rows.column_names[:1]
    columns = ", ".join(ident(each) for each in names)
    connection.execute(f'CREATE TABLE {ident(scan.place)} AS SELECT {columns} FROM "frazil rows"')
    connection.unregister("frazil rows")


def names(lake: CatalogLake) -> Iterator[TableName]:
    """All tables of a catalog."""
    for namespace in lake.namespaces():
        yield from lake.tables(namespace)


def _named(table: TableName, lake: CatalogLake) -> dict[str, Any]:
    return {
        "TABLE_CATALOG": lake.name,
        "TABLE_SCHEMA": ".".join(table.namespace),
        "TABLE_NAME": table.name,
        "TABLE_TYPE": "BASE TABLE",
    }


def _tables(lake: CatalogLake, *, needs_totals: bool) -> Iterator[dict[str, Any]]:
    for table in names(lake):
        yield {**_named(table, lake), **(totals(table, lake) if needs_totals else {})}


def _columns(lake: CatalogLake) -> Iterator[dict[str, Any]]:
    for table in names(lake):
        for place, column in enumerate(known_columns(table, lake), 1):
            yield {
                **_named(table, lake),
                "COLUMN_NAME": column.name,
                "ORDINAL_POSITION": place,
                "COLUMN_DEFAULT": column.default,
                "IS_NULLABLE": "NO" if column.required else "YES",
                "DATA_TYPE": type_name(column.type),
            }


def totals(table: TableName, lake: CatalogLake) -> dict[str, Any]:
    """How large a table is, and when it was changed; nothing if it is gone since it was listed."""
    try:
        return lake.opened(table).totals
    except InvalidQuery:
        return {}


def known_columns(table: TableName, lake: CatalogLake) -> list[Column]:
    """The columns of a table; none if it is gone since it was listed."""
    try:
        return list(lake.columns(table))
    except InvalidQuery:
        return []
