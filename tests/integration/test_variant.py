"""VARIANTs as others read them: by Spark's paths, by parquet-java and Iceberg's own classes, and by DuckDB."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pyarrow.parquet as pq
from py4j.java_gateway import JVMView
from pyspark.sql import SparkSession
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce

NUMBERS = {
    "percent_17g": "0.10000000000000001",
    "fraction": "123456789.123456789",
    "whole": "12345678901234567890",
    "longest": "9" * 38,
    "double": "34.69160746644433",
    "long": "-9223372036854775808",
}


def shuffled(count: int) -> dict[str, int]:
    """An object with its keys in no order."""
    keys = [f"key{number}" for number in range(count)]
    Random(count).shuffle(keys)
    return {key: int(key[3:]) for key in keys}


DOCUMENTS: list[Any] = [
    {**shuffled(44), "userId": 7},
    shuffled(2000),
    {"z": [shuffled(300), {"y": shuffled(33)}], "a": {}, "": []},
    {"b": 1, "a": 2},
    {"é": 1, "😀": 2, "z": 3, "\x7f": 4, "\0": 5, "A": 6},
]
TEXTS = [json.dumps(document) for document in DOCUMENTS]
TEXTS.append("{" + ",".join(f'"{name}": {number}' for name, number in reversed(NUMBERS.items())) + "}")
HEADERS = [(name, str(value).encode()) for name, value in shuffled(50).items()] + [("big", b"12345678901234567890")]


def test_spark_finds_every_key_and_every_digit(connect, topic, spark: SparkSession, broker: KafkaBroker) -> None:
    name = land(connect, topic, spark, broker)

    rows = spark.sql(
        f"SELECT n, to_json(v) AS text, schema_of_variant(v) AS kind, to_json(record_metadata) AS told, "
        f"schema_of_variant(record_metadata) AS told_kind FROM {name} ORDER BY n"
    ).collect()
    assert [exactly(row["text"]) for row in rows] == [exactly(text) for text in TEXTS]
    assert [exactly(row["told"])["headers"] for row in rows] == [exactly_headers()] * len(TEXTS)
    for number, document in enumerate(DOCUMENTS[:2]):
        some = list(document)[:: 1 + len(document) // 50]
        assert found(spark, name, "v", number, "$.", some) == {key: document[key] for key in some}
    headers = exactly_headers()
    assert found(spark, name, "record_metadata", 0, "$.headers.", list(headers)) == headers
    kinds = dict.fromkeys(("percent_17g", "fraction"), "decimal(38,20)") | {"whole": "decimal(38,0)"}
    assert {
        key: read(spark, name, f"variant_get(v, '$.{key}', '{kind}')", len(TEXTS) - 1) for key, kind in kinds.items()
    } == {key: Decimal(NUMBERS[key]) for key in kinds}


def test_other_libraries_find_them_too(connect, topic, spark: SparkSession, broker: KafkaBroker) -> None:
    name = land(connect, topic, spark, broker)

    (file,) = [
        Path(urlsplit(row["file_path"]).path) for row in spark.sql(f"SELECT file_path FROM {name}.files").collect()
    ]
    cells = {row["n"]: row["v"] for row in pq.ParquetFile(file).read(["n", "v"]).to_pylist()}
    assert spark._jvm is not None
    for number, document in enumerate(DOCUMENTS[:2]):
        cell = cells[number]
        assert by_parquet_java(spark._jvm, cell, list(document)) == document
        assert by_iceberg(spark._jvm, cell, list(document)) == document
    texts = duckdb.sql(f"SELECT v::JSON::VARCHAR FROM read_parquet('{file}') ORDER BY n").fetchall()
    assert [exactly(text) for (text,) in texts] == [exactly(text) for text in TEXTS]


def land(connect: Any, topic: str, spark: SparkSession, broker: KafkaBroker) -> str:
    """A table of all documents, by their number."""
    name = f"frazil.public.{topic.upper()}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(
        f"CREATE TABLE {name} (n BIGINT, v VARIANT, record_metadata VARIANT) "
        "USING iceberg TBLPROPERTIES ('format-version'='3')"
    )
    values = [f'{{"n": {number}, "v": {text}}}' for number, text in enumerate(TEXTS)]
    produce(broker.bootstrap_servers, topic, values, headers=HEADERS)
    caught_up(connect(topic, **{"snowflake.feature.structured.headers": "true"}))
    return name


def exactly(text: str) -> Any:
    """A JSON document with the digits of its numbers."""
    return json.loads(text, parse_float=Decimal)


def exactly_headers() -> dict[str, int]:
    return {name: int(value) for name, value in HEADERS}


def found(spark: SparkSession, table: str, column: str, number: int, prefix: str, keys: list[str]) -> dict[str, int]:
    """What paths to keys lead to in one row, those that lead nowhere left out."""
    paths = ", ".join(f"CAST(variant_get({column}, '{prefix}{key}', 'decimal(20,0)') AS STRING)" for key in keys)
    values = read(spark, table, f"array({paths})", number)
    return {key: int(value) for key, value in zip(keys, values, strict=True) if value is not None}


def read(spark: SparkSession, table: str, expression: str, number: int) -> Any:
    """An expression's value in one row."""
    (row,) = spark.sql(f"SELECT {expression} AS value FROM {table} WHERE n = {number}").collect()
    return row["value"]


def by_parquet_java(jvm: JVMView, cell: dict[str, bytes], keys: list[str]) -> dict[str, int]:
    variant = jvm.org.apache.iceberg.shaded.org.apache.parquet.variant.Variant(cell["value"], cell["metadata"])
    members = {key: variant.getFieldByKey(key) for key in keys}
    return {key: member.getLong() for key, member in members.items() if member is not None}


def by_iceberg(jvm: JVMView, cell: dict[str, bytes], keys: list[str]) -> dict[str, int]:
    data = jvm.java.nio.ByteBuffer.wrap(cell["metadata"] + cell["value"])
    data = data.order(jvm.java.nio.ByteOrder.LITTLE_ENDIAN)
    variant = getattr(jvm.org.apache.iceberg.variants.Variant, "from")(data)
    members = {key: variant.value().asObject().get(key) for key in keys}
    return {key: member.asPrimitive().get() for key, member in members.items() if member is not None}
