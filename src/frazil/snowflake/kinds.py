"""Types: DuckDB's, as sqlglot writes them, from those of tables and from DuckDB's own.

What Snowflake calls VARIANT, OBJECT and ARRAY is DuckDB's JSON within a query: JSON tells NULL from null, keeps whole
numbers of any length, and takes keys that are computed, none of which DuckDB's VARIANT does. A VARIANT column of a
table is VARIANT until something is asked of it.
"""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType


def _plain(name: str) -> exp.DataType:
    return exp.DataType(this=exp.DType[name], nested=False)


TEXT: Final = _plain("TEXT")
BOOLEAN: Final = _plain("BOOLEAN")
INTEGER: Final = _plain("INT")
BIGINT: Final = _plain("BIGINT")
HUGEINT: Final = _plain("INT128")
UBIGINT: Final = _plain("UBIGINT")
FLOAT: Final = _plain("FLOAT")
DOUBLE: Final = _plain("DOUBLE")
DATE: Final = _plain("DATE")
TIME: Final = _plain("TIME")
TIMESTAMP: Final = _plain("TIMESTAMP")
TIMESTAMP_NS: Final = _plain("TIMESTAMP_NS")
TIMESTAMPTZ: Final = _plain("TIMESTAMPTZ")
INTERVAL: Final = _plain("INTERVAL")
BLOB: Final = _plain("VARBINARY")
UUID: Final = _plain("UUID")
JSON: Final = _plain("JSON")
"""A VARIANT, OBJECT or ARRAY of Snowflake's."""

VARIANT: Final = _plain("VARIANT")
"""A VARIANT column of a table, as it is."""

NULL: Final = _plain("NULL")

INTEGERS: Final = frozenset(
    exp.DType[name]
    for name in (
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "INT128",
        "UTINYINT",
        "USMALLINT",
        "UINT",
        "UBIGINT",
        "UINT128",
    )
)
LONG_INTEGERS: Final = frozenset(exp.DType[name] for name in ("BIGINT", "UBIGINT", "INT128", "UINT128"))
"""Those with numbers that a DOUBLE does not tell apart."""

FLOATS: Final = frozenset({exp.DType.FLOAT, exp.DType.DOUBLE})
MOMENTS: Final = frozenset(
    exp.DType[name] for name in ("DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMPTZ")
)
NESTED: Final = frozenset({exp.DType.STRUCT, exp.DType.ARRAY, exp.DType.MAP})

_ICEBERG: Final = {
    "boolean": BOOLEAN, "int": INTEGER, "long": BIGINT, "float": FLOAT, "double": DOUBLE, "date": DATE, "time": TIME,
    "timestamp": TIMESTAMP, "timestamptz": TIMESTAMPTZ, "timestamp_ns": TIMESTAMP_NS, "timestamptz_ns": TIMESTAMPTZ,
    "string": TEXT, "uuid": UUID, "binary": BLOB, "variant": VARIANT, "unknown": NULL,
}  # fmt: skip

_DUCKDB: Final = {
    "varchar": TEXT, "boolean": BOOLEAN, "integer": INTEGER, "bigint": BIGINT, "hugeint": HUGEINT, "float": FLOAT,
    "double": DOUBLE, "date": DATE, "time": TIME, "timestamp": TIMESTAMP, "timestamp_ns": TIMESTAMP_NS,
    "timestamp with time zone": TIMESTAMPTZ, "interval": INTERVAL, "blob": BLOB, "uuid": UUID, "variant": VARIANT,
    "null": NULL, "tinyint": _plain("TINYINT"), "smallint": _plain("SMALLINT"), "utinyint": _plain("UTINYINT"),
    "usmallint": _plain("USMALLINT"), "uinteger": _plain("UINT"), "ubigint": _plain("UBIGINT"),
    "uhugeint": _plain("UINT128"), "timestamp_s": _plain("TIMESTAMP_S"), "timestamp_ms": _plain("TIMESTAMP_MS"),
    "time with time zone": _plain("TIMETZ"), "sqlnull": NULL,
}  # fmt: skip


def decimal(precision: int, scale: int = 0) -> exp.DataType:
    """DECIMAL(precision, scale)."""
    sizes = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in (precision, scale)]
    return exp.DataType(this=exp.DType.DECIMAL, expressions=sizes, nested=False)


NUMBER: Final = decimal(38, 0)
"""What Snowflake's integers are."""


def list_of(element: exp.DataType) -> exp.DataType:
    """A list."""
    return exp.DataType(this=exp.DType.ARRAY, expressions=[element.copy()], nested=True)


def map_of(key: exp.DataType, value: exp.DataType) -> exp.DataType:
    """A map."""
    return exp.DataType(this=exp.DType.MAP, expressions=[key.copy(), value.copy()], nested=True)


def struct_of(fields: list[tuple[str, exp.DataType]]) -> exp.DataType:
    """A struct."""
    definitions = [exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=kind.copy()) for name, kind in fields]
    return exp.DataType(this=exp.DType.STRUCT, expressions=definitions, nested=True)


def element(kind: exp.DataType) -> exp.DataType:
    """The type of a list's elements, or of a map's values."""
    found = kind.expressions[-1]
    assert isinstance(found, exp.DataType)  # noqa: S101 (list_of and map_of put nothing else there)
    return found


def fields(kind: exp.DataType) -> list[tuple[str, exp.DataType]]:
    """The fields of a struct."""
    return [(each.name, each.args["kind"]) for each in kind.expressions] if kind.this == exp.DType.STRUCT else []


def size(kind: exp.DataType) -> tuple[int, int]:
    """Precision and scale of a DECIMAL."""
    precision, scale = (int(each.this.name) for each in kind.expressions)
    return precision, scale


def has(kind: exp.DataType, *names: exp.DType) -> bool:
    """Whether a type is one of these, or has one within."""
    return any(each.this in names for each in kind.find_all(exp.DataType))


def of_table(kind: IcebergType) -> exp.DataType:
    """The type in which a table's column is read."""
    match kind:
        case ListType(element=inner):
            return list_of(of_table(inner))
        case MapType(key=key, value=value):
            return map_of(of_table(key), of_table(value))
        case StructType(fields=members):
            return struct_of([(each.name, of_table(each.type)) for each in members])
        case Primitive(name="decimal", precision=precision, scale=scale):
            return decimal(precision, scale)
    found = BLOB if kind.name.startswith("fixed") else _ICEBERG.get(kind.name)
    if found is None:
        raise InvalidQuery(f"a column of type {kind} cannot be read")
    return found.copy()


def columns_of(columns: list[Column]) -> list[tuple[str, exp.DataType]]:
    """Names and types of columns."""
    return [(each.name, of_table(each.type)) for each in columns]


def of_duckdb(found: Any) -> exp.DataType | None:
    """A type that DuckDB says; None for one that no query here needs."""
    if str(found) == "JSON":
        return JSON.copy()
    match found.id:
        case "decimal":
            sizes = dict(found.children)
            return decimal(sizes["precision"], sizes["scale"])
        case "list" | "array":
            inner = of_duckdb(found.children[0][1])
            return inner and list_of(inner)
        case "map":
            key, value = (of_duckdb(each) for _, each in found.children)
            return map_of(key, value) if key and value else None
        case "struct":
            members = [(name, of_duckdb(each)) for name, each in found.children]
            known = [(name, each) for name, each in members if each]
            return struct_of(known) if len(known) == len(members) else None
    plain = _DUCKDB.get(found.id)
    return plain and plain.copy()


def shown(kind: exp.DataType) -> str:
    """A type as messages name it: as Snowflake does."""
    if kind.this in (exp.DType.JSON, exp.DType.VARIANT):
        return "VARIANT"
    if kind.this in INTEGERS:
        return "NUMBER"
    text = kind.sql(dialect="duckdb").replace("TEXT", "VARCHAR")
    return text if len(text) <= 60 else text[:59] + "…"
