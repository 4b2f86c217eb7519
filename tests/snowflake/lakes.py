"""A lake in an empty DuckDB, and tables that hold the same documents as STRUCT, VARIANT and JSON text."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import uuid
from collections.abc import Sequence
from typing import Any

import duckdb
from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType, TableName
from frazil.snowflake import kinds
from frazil.snowflake.compiled import Compiled, Filter
from frazil.snowflake.lake import NOW, Moment
from frazil.snowflake.statements import Select, read
from frazil.snowflake.tables import place_names
from frazil.snowflake.typed import said
from frazil.sql import ident

PUBLIC = ("public",)
KINDS = ("struct", "variant", "text")
"""Columns of ALIKE, each with the documents in its own type."""

DOCUMENTS = [
    {
        "topic": "orders", "CreateTime": 1700000000000, "qty": 3, "price": 1.5, "paid": True, "empty": None,
        "headers": {"h1": "x", "h2": "y"}, "a.b": 1, "it's": "yes", "tags": ["t1", "t2"],
        "nested": {"deep": [{"sku": "A", "qty": 2}, {"sku": "B", "qty": 30}]},
    },
    {
        "topic": "other", "CreateTime": 1700000001000, "qty": 20, "price": 2.25, "paid": False, "empty": None,
        "headers": {}, "a.b": 2, "it's": "no", "tags": [], "nested": {"deep": []},
    },
    {
        "topic": "orders", "CreateTime": 1700086400000, "qty": 100, "price": 0.25, "paid": True, "empty": None,
        "headers": {"h1": "z"}, "a.b": 3, "it's": "yes", "tags": ["t1"], "nested": {"deep": [{"sku": "C", "qty": 4}]},
    },
]  # fmt: skip

_STRUCT = (
    'STRUCT(topic VARCHAR, CreateTime BIGINT, qty INTEGER, price DECIMAL(10,2), paid BOOLEAN, "empty" VARCHAR, '
    'headers MAP(VARCHAR, VARCHAR), "a.b" INTEGER, "it\'s" VARCHAR, tags VARCHAR[], '
    "nested STRUCT(deep STRUCT(sku VARCHAR, qty INTEGER)[]))"
)

SEED = {
    "meta": {
        "offset": 1, "topic": "PressureOverloadWarning", "partition": 12, "key": "key name", "schema_id": 123,
        "CreateTime": 1234567890, "headers": {"name1": "value1", "name2": "value2"},
    },
    "content": {"ID": 62, "PSI": 451, "etc": "..."},
}  # fmt: skip
"""The record of the documentation of the connector that frazil replaces, which its query is shown with."""

_SEED_TYPES = (
    (
        'STRUCT("offset" BIGINT, topic VARCHAR, "partition" INTEGER, "key" VARCHAR, schema_id INTEGER, CreateTime BIGINT, '
        "headers MAP(VARCHAR, VARCHAR))"
    ),
    "STRUCT(ID BIGINT, PSI BIGINT, etc VARCHAR)",
)


class Lake:
    """The tables of one DuckDB, asked as `frazil sql` asks."""

    name = "frazil"

    def __init__(self) -> None:
        self.duckdb = duckdb.connect(":memory:")
        self._tables: dict[TableName, tuple[str, list[Column]]] = {}
        self.asked: list[tuple[TableName, Moment]] = []

    def create(self, name: str, select: str, namespace: tuple[str, ...] = PUBLIC) -> None:
        """A table of a query's rows."""
        stored = f"stored {len(self._tables)}"
        self.duckdb.execute(f"CREATE TABLE {ident(stored)} AS {select}")
        found = self.duckdb.execute(f"SELECT * FROM {ident(stored)} LIMIT 0").description
        self.put(TableName(namespace, name), stored, [(each[0], _iceberg(kinds.of_duckdb(each[1]))) for each in found])

    def put(self, table: TableName, stored: str, columns: Sequence[tuple[str, IcebergType]]) -> None:
        """A table whose rows DuckDB has under another name."""
        self._tables[table] = (stored, [Column(n, name, kind) for n, (name, kind) in enumerate(columns, 1)])

    def namespaces(self) -> list[tuple[str, ...]]:
        return list(dict.fromkeys([PUBLIC, *(each.namespace for each in self._tables)]))

    def tables(self, namespace: tuple[str, ...]) -> list[TableName]:
        return [each for each in self._tables if each.namespace == namespace]

    def columns(self, table: TableName, moment: Moment = NOW) -> list[Column]:
        self.asked.append((table, moment))
        return self._tables[table][1]

    def compiled(self, query: str) -> Compiled:
        """A query as DuckDB runs it."""
        statement = read(query)
        assert isinstance(statement, Select)
        return statement.compile(self)

    def run(self, compiled: Compiled, *, pruned: bool = False) -> list[tuple[Any, ...]]:
        """The rows as they leave DuckDB; `pruned` reads no row that a filter leaves out."""
        for scan in compiled.scans:
            stored, columns = self._tables[scan.table]
            # Nothing but what the query says it needs is there.
            names = [each.name for each in columns]
            kept = {
                stored_as: name
                for stored_as, name in zip(place_names(names), names, strict=True)
                if scan.columns is None or name in scan.columns
            }
            listed = ", ".join(f"{ident(stored_as)} AS {ident(name)}" for stored_as, name in kept.items()) or "1"
            kept_rows = " AND ".join(_condition(each) for each in scan.filters if pruned) or "TRUE"
            self.duckdb.execute(
                f"CREATE OR REPLACE TEMP VIEW {ident(scan.place)} AS SELECT {listed} FROM {ident(stored)} "
                f"WHERE {kept_rows}"
            )
        try:
            table = self.duckdb.sql(compiled.text).to_arrow_table()
        except duckdb.Error as error:
            raise InvalidQuery(said(str(error))) from error
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def rows(self, query: str) -> list[list[Any]]:
        """The rows of a query, as values."""
        compiled = self.compiled(query)
        documents = [column.is_document for column in compiled.columns]
        return [
            [
                _document(value) if is_document else _value(value)
                for value, is_document in zip(row, documents, strict=True)
            ]
            for row in self.run(compiled)
        ]

    def heads(self, query: str) -> list[str]:
        """The heads of a query's columns."""
        return [column.head for column in self.compiled(query).columns]

    def value(self, expression: str) -> Any:
        """What an expression is in the first row of ALIKE."""
        ((found,),) = self.rows(f"select {expression} from alike where id = 1")
        return found


def create_alike(lake: Lake) -> None:
    """The table ALIKE: `id`, and the documents three times."""
    rows = " UNION ALL ".join(
        f"SELECT {n}::BIGINT AS id, d::JSON::{_STRUCT} AS struct, d::JSON::VARIANT AS variant, d AS text "
        f"FROM (SELECT {_quoted(json.dumps(each))} AS d)"
        for n, each in enumerate(DOCUMENTS, 1)
    )
    lake.create("ALIKE", rows)


def create_seed(lake: Lake) -> None:
    """A table of RECORD_METADATA and RECORD_CONTENT for each kind: TABLE_STRUCT, TABLE_VARIANT and TABLE_TEXT."""
    read = {
        "STRUCT": [f"meta::JSON::{_SEED_TYPES[0]}", f"content::JSON::{_SEED_TYPES[1]}"],
        "VARIANT": ["meta::JSON::VARIANT", "content::JSON::VARIANT"],
        "TEXT": ["meta", "content"],
    }
    source = f"(SELECT {_quoted(json.dumps(SEED['meta']))} AS meta, {_quoted(json.dumps(SEED['content']))} AS content)"
    for kind, (meta, content) in read.items():
        lake.create(f"TABLE_{kind}", f"SELECT {meta} AS RECORD_METADATA, {content} AS RECORD_CONTENT FROM {source}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_NAMES = {
    "TEXT": "string", "BIGINT": "long", "INT": "int", "BOOLEAN": "boolean", "VARIANT": "variant", "DATE": "date",
    "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamptz", "TIMESTAMP_NS": "timestamp_ns", "TIME": "time",
    "DOUBLE": "double", "FLOAT": "float", "UUID": "uuid", "VARBINARY": "binary",
}  # fmt: skip


def _iceberg(kind: exp.DataType | None) -> IcebergType:
    assert kind is not None
    match kind.this:
        case exp.DType.DECIMAL:
            return Primitive("decimal", *kinds.size(kind))
        case exp.DType.ARRAY:
            return ListType(0, _iceberg(kinds.element(kind)), element_required=False)
        case exp.DType.MAP:
            key, value = kind.expressions
            return MapType(0, _iceberg(key), 0, _iceberg(value), value_required=False)
        case exp.DType.STRUCT:
            return StructType(tuple(Column(0, name, _iceberg(each)) for name, each in kinds.fields(kind)))
    return Primitive(_NAMES[kind.this.name])


def _condition(filter_: Filter) -> str:
    column = ".".join(ident(each) for each in filter_.column)
    values = [_quoted(each) for each in filter_.values]
    match filter_.operator:
        case "starts with":
            return f"starts_with({column}, {values[0]})"
        case "in":
            return f"{column} IN ({', '.join(values)})"
    return " ".join([column, filter_.operator, *values])


def _document(value: str | None) -> Any:
    return None if value is None else json.loads(value)


def _value(value: Any) -> Any:
    """A value as JSON has it."""
    match value:
        case decimal.Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case dt.datetime(tzinfo=None):
            return value.isoformat(timespec="milliseconds")
        case dt.datetime():
            return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
        case dt.date() | dt.time():
            return value.isoformat()
        case uuid.UUID():
            return str(value)
        case bytes():
            return value.hex().upper()
        case [(_, _), *_]:
            return {key: _value(each) for key, each in value}
        case list():
            return [_value(each) for each in value]
        case dict():
            return {key: _value(each) for key, each in value.items()}
    return value
