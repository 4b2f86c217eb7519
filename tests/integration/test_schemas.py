"""Tables that are created for records with schemas: their columns and values, as other readers find them."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession
from tests.integration.test_converters import AVRO, avro, of_registry, registry
from tests.support.waiting import caught_up

from frazil import query
from frazil.dev.kafka import KafkaBroker
from frazil.testing import iceberg
from frazil.testing.records import produce
from frazil.testing.schema_registry import SchemaRegistry

__all__ = ["registry"]

MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
STRUCTS = {"frazil.nested.type": "struct"}


def optional(kind: Any) -> list[Any]:
    return ["null", kind]


def record_of(name: str = "Payment", **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields.items()]}


def logical(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "logicalType": name}


AT = dt.datetime(2026, 9, 21, 14, 13, 20, 123456, dt.UTC)
LOCAL = AT.replace(tzinfo=None)
FIELDS: dict[str, tuple[Any, Any, str, Any]] = {
    "id": ("int", 7, "int", 7),
    "number": ("long", 2**60, "bigint", 2**60),
    "ratio": ("float", 1.5, "float", 1.5),
    "price": (MONEY, Decimal("1234567890.12"), "decimal(12,2)", Decimal("1234567890.12")),
    "day": (logical("int", "date"), dt.date(2026, 2, 28), "date", dt.date(2026, 2, 28)),
    "millis": (logical("long", "timestamp-millis"), AT, "timestamp_ntz", LOCAL.replace(microsecond=123000)),
    "micros": (logical("long", "timestamp-micros"), AT, "timestamp_ntz", LOCAL),
    "local": (logical("long", "local-timestamp-micros"), LOCAL, "timestamp_ntz", LOCAL),
    "raw": ("bytes", b"\xff\x00", "binary", b"\xff\x00"),
    "four": ({"type": "fixed", "name": "Four", "size": 4}, b"\x00abc", "binary", b"\x00abc"),
    "color": ({"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}, "BLUE", "string", "BLUE"),
    "key": (logical("string", "uuid"), uuid.UUID(int=5), "string", str(uuid.UUID(int=5))),
    "by_name": ({"type": "map", "values": "long"}, {"a": 1}, "map<string,bigint>", {"a": 1}),
    "amounts": ({"type": "array", "items": MONEY}, [Decimal("0.10")], "array<decimal(12,2)>", [Decimal("0.10")]),
    "place": (
        record_of("Place", city="string", rent=MONEY),
        {"city": "Bonn", "rent": Decimal("999.99")},
        "struct<city:string,rent:decimal(12,2)>",
        {"city": "Bonn", "rent": Decimal("999.99")},
    ),
}
"""Of each field: its Avro, a value, the type of its column in Spark, and the value there."""


def readers(spark: SparkSession, lake: Path, topic: str) -> dict[str, list[dict[str, Any]]]:
    """The rows as Spark, pyiceberg and DuckDB read them, in the order of their offsets."""
    metadata = iceberg.current_metadata(lake / "catalog.db", "public", topic.upper())
    table = f"frazil.public.{topic.upper()}"
    found = {
        "Spark": [row.asDict(recursive=True) for row in spark.sql(f"SELECT * FROM {table}").collect()],
        "pyiceberg": StaticTable.from_metadata(str(metadata)).scan().to_arrow().to_pylist(),
        "DuckDB": query(f"SELECT * FROM {topic}", home=lake).arrow().to_pylist(),
    }
    return {name: sorted(rows, key=lambda row: row["RECORD_METADATA"]["offset"]) for name, rows in found.items()}


def plainly(value: Any) -> Any:
    """A value without the differences that readers make: maps as pairs, bytes as bytes."""
    match value:
        case bytearray():
            return bytes(value)
        case list():
            found = [plainly(each) for each in value]
            return dict(found) if found and all(isinstance(each, tuple) for each in found) else found
        case dict():
            return {key: plainly(each) for key, each in value.items()}
        case _:
            return value


def test_avro_makes_columns_of_its_types_though_the_first_record_is_all_null(
    connect, topic, spark: SparkSession, lake: Path, broker: KafkaBroker, registry: SchemaRegistry
):
    schema = record_of(**{name: optional(each[0]) for name, each in FIELDS.items()})
    number = registry.register(f"{topic}-value", json.dumps(schema))
    nothing, values = dict.fromkeys(FIELDS), {name: each[1] for name, each in FIELDS.items()}
    produce(broker.bootstrap_servers, topic, [avro(number, schema, each) for each in (nothing, values)])

    caught_up(connect(topic, **of_registry(registry, AVRO), **STRUCTS))

    kinds = dict(spark.table(f"frazil.public.{topic.upper()}").dtypes)
    assert {name: kinds[name] for name in FIELDS} == {name: each[2] for name, each in FIELDS.items()}
    for reader, rows in readers(spark, lake, topic).items():
        found = [{name: plainly(row[name]) for name in FIELDS} for row in rows]
        assert found == [nothing, {name: each[3] for name, each in FIELDS.items()}], reader


def test_times_of_avro_make_columns_of_times(connect, topic, lake: Path, broker: KafkaBroker, registry: SchemaRegistry):
    schema = record_of(millis=logical("int", "time-millis"), micros=logical("long", "time-micros"))
    number = registry.register(f"{topic}-value", json.dumps(schema))
    at = dt.time(10, 15, 30, 250001)
    produce(broker.bootstrap_servers, topic, [avro(number, schema, {"millis": at, "micros": at})])

    caught_up(connect(topic, **of_registry(registry, AVRO)))

    metadata = iceberg.current_metadata(lake / "catalog.db", "public", topic.upper())
    (row,) = StaticTable.from_metadata(str(metadata)).scan(selected_fields=("millis", "micros")).to_arrow().to_pylist()
    assert row == {"millis": at.replace(microsecond=250000), "micros": at}
    (found,) = query(f"SELECT millis, micros FROM {topic}", home=lake).arrow().to_pylist()
    assert {name.lower(): value for name, value in found.items()} == row


def test_a_later_version_adds_and_widens_columns_with_a_record_that_would_fit_the_old_ones(
    connect, topic, spark: SparkSession, broker: KafkaBroker, registry: SchemaRegistry
):
    first = record_of(id="int", price=MONEY)
    second = record_of(id="long", price={**MONEY, "precision": 20}, day=optional(logical("int", "date")))
    connector = connect(topic, **of_registry(registry, AVRO))
    for schema, more in ((first, {}), (second, {"day": None}), (first, {})):
        number = registry.register(f"{topic}-value", json.dumps(schema))
        value = {"id": 1, "price": Decimal("1.50"), **more}
        produce(broker.bootstrap_servers, topic, [avro(number, schema, value)])
        caught_up(connector)

    table = spark.table(f"frazil.public.{topic.upper()}")
    kinds = dict(table.dtypes)
    assert [kinds[name] for name in ("id", "price", "day")] == ["bigint", "decimal(20,2)", "date"]
    assert [tuple(row) for row in table.select("id", "price", "day").collect()] == [(1, Decimal("1.50"), None)] * 3


CONNECT = "org.apache.kafka.connect.data."


@pytest.mark.parametrize("nested", ["variant", "struct"])
def test_what_transforms_make_of_schemas_decides_about_columns(
    connect, topic, spark: SparkSession, broker: KafkaBroker, nested: str
):
    fields = [
        {"field": "id", "type": "string"},
        {"field": "at", "type": "string", "optional": True},
        {"field": "place", "type": "struct", "fields": [{"field": "n", "type": "int64", "optional": True}]},
        {"field": "price", "type": "bytes", "name": f"{CONNECT}Decimal", "parameters": {"scale": "2"}},
    ]
    payload = {"id": "7", "at": None, "place": {"n": None}, "price": 1.25}
    produce(
        broker.bootstrap_servers,
        topic,
        [json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": payload})],
    )
    package = "org.apache.kafka.connect.transforms."
    settings = {
        "value.converter.schemas.enable": "true",
        "frazil.nested.type": nested,
        "transforms": "cast,when,insert,rename,flat",
        "transforms.cast.type": f"{package}Cast$Value",
        "transforms.cast.spec": "id:int16",
        "transforms.when.type": f"{package}TimestampConverter$Value",
        "transforms.when.field": "at",
        "transforms.when.target.type": "Timestamp",
        "transforms.when.format": "yyyy-MM-dd",
        "transforms.insert.type": f"{package}InsertField$Value",
        "transforms.insert.timestamp.field": "came",
        "transforms.rename.type": f"{package}ReplaceField$Value",
        "transforms.rename.renames": "price:cost",
        "transforms.flat.type": f"{package}Flatten$Value",
        "transforms.flat.delimiter": "_",
    }

    caught_up(connect(topic, **settings))

    kinds = dict(spark.table(f"frazil.public.{topic.upper()}").dtypes)
    del kinds["RECORD_METADATA"]
    expected = {
        "at": "timestamp_ntz",
        "came": "timestamp_ntz",
        "cost": "decimal(38,2)",
        "id": "int",
        "place_n": "bigint",
    }
    assert kinds == expected
