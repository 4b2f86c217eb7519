"""Confluent's own serialisers and a schema registry that is not ours, from the producer to the table."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession
from tests.integration.test_schemas import AVRO, LOCAL, MONEY, STRUCTS, logical, optional, record_of
from tests.records.connect.test_protobuf import ORDER
from tests.support import apicurio
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce

pytestmark = pytest.mark.long

CONNECT = "org.apache.kafka.connect.data."


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with apicurio.running(tmp_path_factory.mktemp("registry") / "registry.log") as found:
        yield found


@pytest.fixture
def send(address: str, topic: str, broker: KafkaBroker) -> Callable[..., None]:
    """Writes values to the topic with a serialiser, which registers their schema."""

    def write(make: Callable[[SchemaRegistryClient], Any], *values: Any) -> None:
        serialise = make(SchemaRegistryClient({"url": address}))
        context = SerializationContext(topic, MessageField.VALUE)
        produce(broker.bootstrap_servers, topic, [serialise(value, context) for value in values])

    return write


def read_by(converter: str, address: str) -> dict[str, str]:
    return {"value.converter": converter, "value.converter.schema.registry.url": address, **STRUCTS}


def landed(spark: SparkSession, topic: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The columns of a topic's table but that of metadata, and its rows in the order of their offsets."""
    table = spark.table(f"frazil.public.{topic.upper()}")
    rows = [row.asDict(recursive=True) for row in table.orderBy("RECORD_METADATA.offset").collect()]
    kinds = dict(table.dtypes)
    for each in (kinds, *rows):
        del each["RECORD_METADATA"]
    return kinds, rows


def test_avro_lands_in_columns_of_its_types_across_versions(
    connect, topic, send: Callable[..., None], spark: SparkSession, address: str
):
    fields = {"id": "int", "price": optional(MONEY), "day": optional(logical("int", "date"))}
    first = record_of(**fields)
    second = record_of(**{**fields, "id": "long"}, at=logical("long", "timestamp-micros"))
    second["fields"][-1]["default"] = 0
    value = {"id": 1, "price": Decimal("1234567890.12"), "day": dt.date(2026, 2, 28)}
    connector = connect(topic, **read_by(AVRO, address))

    send(lambda client: AvroSerializer(client, json.dumps(first)), {"id": 0, "price": None, "day": None}, value)
    caught_up(connector)
    send(lambda client: AvroSerializer(client, json.dumps(second)), {**value, "at": LOCAL.replace(tzinfo=dt.UTC)})
    caught_up(connector)

    kinds, rows = landed(spark, topic)
    assert kinds == {"id": "bigint", "price": "decimal(12,2)", "day": "date", "at": "timestamp_ntz"}
    assert rows == [
        {"id": 0, "price": None, "day": None, "at": None},
        {**value, "at": None},
        {**value, "at": LOCAL},
    ]


def test_protobuf_lands_in_columns_of_its_types(
    connect, topic, send: Callable[..., None], spark: SparkSession, address: str
):
    order = ORDER(big=2**64 - 1, color=1, tags=["a"], counts={"x": 1}, raw=b"\x00\xff")
    order.at.FromJsonString("2026-09-21T14:13:20.123Z")
    order.by.name = "Ann"

    send(lambda client: ProtobufSerializer(ORDER, client, {"use.deprecated.format": False}), ORDER(), order)
    caught_up(connect(topic, **read_by("io.confluent.connect.protobuf.ProtobufConverter", address)))

    kinds, (_, row) = landed(spark, topic)
    expected = {
        "big": ("decimal(20,0)", Decimal(2**64 - 1)),
        "color": ("string", "BLUE"),
        "tags": ("array<string>", ["a"]),
        "counts": ("map<string,int>", {"x": 1}),
        "by": ("struct<name:string>", {"name": "Ann"}),
        "at": ("timestamp_ntz", LOCAL.replace(microsecond=123000)),
        "wrapped": ("struct<value:bigint>", None),
        "payment_0": ("struct<card:string,cash:double>", None),
        "maybe": ("int", None),
        "raw": ("binary", bytearray(b"\x00\xff")),
    }
    assert {name: (kinds[name], row[name]) for name in expected} == expected


def test_json_schema_lands_in_columns_of_its_types(
    connect, topic, send: Callable[..., None], spark: SparkSession, address: str
):
    schema = {
        "type": "object",
        "title": "Payment",
        "properties": {
            "id": {"type": "integer"},
            "price": {
                "type": "number",
                "title": f"{CONNECT}Decimal",
                "connect.type": "bytes",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "12"},
            },
            "day": {
                "oneOf": [{"type": "null"}, {"type": "integer", "title": f"{CONNECT}Date", "connect.type": "int32"}]
            },
        },
    }

    send(lambda client: JSONSerializer(json.dumps(schema), client), {"id": 1, "day": None}, {"id": 2, "price": 1.25})
    caught_up(connect(topic, **read_by("io.confluent.connect.json.JsonSchemaConverter", address)))

    kinds, rows = landed(spark, topic)
    assert kinds == {"id": "bigint", "price": "decimal(12,2)", "day": "date"}
    assert rows == [{"id": 1, "price": None, "day": None}, {"id": 2, "price": Decimal("1.25"), "day": None}]
