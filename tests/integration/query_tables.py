"""Tables that hold the same documents as STRUCT, VARIANT and JSON text, and queries over them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from frazil.cli.query.statement import Statement
from frazil.cli.sql import answer
from frazil.tables.catalog import Catalog
from frazil.tables.session import EMBEDDED, iceberg_catalog

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
    "STRUCT<topic: STRING, CreateTime: BIGINT, qty: INT, price: DECIMAL(10,2), paid: BOOLEAN, empty: STRING, "
    "headers: MAP<STRING,STRING>, `a.b`: INT, `it's`: STRING, tags: ARRAY<STRING>, "
    "nested: STRUCT<deep: ARRAY<STRUCT<sku: STRING, qty: INT>>>>"
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
        "STRUCT<offset: BIGINT, topic: STRING, partition: INT, key: STRING, schema_id: INT, CreateTime: BIGINT, "
        "headers: MAP<STRING,STRING>>"
    ),
    "STRUCT<ID: BIGINT, PSI: BIGINT, etc: STRING>",
)


@dataclass(frozen=True, slots=True)
class Lake:
    """A catalog with tables, asked as `frazil sql` asks."""

    spark: SparkSession
    catalog: Catalog

    def rows(self, query: str) -> list[list[Any]]:
        """The rows of a query, as values."""
        _, rows = answer(Statement.parse(query), self.catalog, self.spark)
        return [[None if value is None else json.loads(value) for value in row] for row in rows]

    def heads(self, query: str) -> list[str]:
        """The heads of a query's columns."""
        columns, _ = answer(Statement.parse(query), self.catalog, self.spark)
        return [column.head for column in columns]

    def value(self, expression: str) -> Any:
        """What an expression is in the first row of ALIKE."""
        ((found,),) = self.rows(f"select {expression} from alike where id = 1")
        return found


def open_lake(spark: SparkSession, home: Path) -> Lake:
    """The catalog of a home as `frazil sql` sees it."""
    java = iceberg_catalog(spark, EMBEDDED, home)
    return Lake(spark, Catalog(java, spark.sparkContext._gateway, EMBEDDED))


def create_alike(spark: SparkSession) -> None:
    """The table ALIKE: `id`, and the documents three times."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(
        f"CREATE TABLE frazil.public.ALIKE (id BIGINT, struct {_STRUCT}, variant VARIANT, text STRING) "
        "USING iceberg TBLPROPERTIES ('format-version' = '3')"
    )
    documents = spark.createDataFrame(
        [(n, json.dumps(each)) for n, each in enumerate(DOCUMENTS, 1)], "id INT, doc STRING"
    )
    documents.createOrReplaceTempView("documents")
    spark.sql(
        f"INSERT INTO frazil.public.ALIKE SELECT id, from_json(doc, '{escaped(_STRUCT)}'), parse_json(doc), doc "
        "FROM documents"
    )


def create_seed(spark: SparkSession) -> None:
    """A table of RECORD_METADATA and RECORD_CONTENT for each kind: TABLE_STRUCT, TABLE_VARIANT and TABLE_TEXT."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    source = spark.createDataFrame(
        [[json.dumps(SEED["meta"]), json.dumps(SEED["content"])]], "meta STRING, content STRING"
    )
    source.createOrReplaceTempView("source")
    read = {
        "STRUCT": [f"from_json(meta, '{_SEED_TYPES[0]}')", f"from_json(content, '{_SEED_TYPES[1]}')"],
        "VARIANT": ["parse_json(meta)", "parse_json(content)"],
        "TEXT": ["meta", "content"],
    }
    for kind, (meta, content) in read.items():
        spark.sql(
            f"CREATE TABLE frazil.public.TABLE_{kind} USING iceberg TBLPROPERTIES ('format-version' = '3') "
            f"AS SELECT {meta} AS RECORD_METADATA, {content} AS RECORD_CONTENT FROM source"
        )


def escaped(text: str) -> str:
    """A text within a literal of Spark's."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
