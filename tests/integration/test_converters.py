"""Records of every kind land as rows, with their schemas out of a registry."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from tests.records.connect.test_protobuf import ORDER
from tests.records.connect.test_protobuf import registered as protobuf_schema
from tests.support.waiting import caught_up, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.errors import RegistryUnavailable
from frazil.testing.records import produce
from frazil.testing.schema_registry import SchemaRegistry, served
from frazil.testing.topics import create_topic

AVRO = "io.confluent.connect.avro.AvroConverter"


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with served() as found:
        yield found


def order(*more: dict[str, Any]) -> dict[str, Any]:
    fields = [
        {"name": "id", "type": "long"},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ]
    return {"type": "record", "name": "Order", "fields": [*fields, *more]}


def framed(number: int, body: bytes) -> bytes:
    return struct.pack(">bi", 0, number) + body


def avro(number: int, schema: dict[str, Any], value: Any) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), value)
    return framed(number, buffer.getvalue())


def of_registry(registry: SchemaRegistry, converter: str) -> dict[str, str]:
    return {"value.converter": converter, "value.converter.schema.registry.url": registry.url}


def test_avro_of_several_schemas_lands_in_one_chunk_and_an_unknown_schema_is_a_reject(
    connect, topic, rows, broker: KafkaBroker, registry: SchemaRegistry
):
    newer = order({"name": "note", "type": ["null", "string"], "default": None})
    first = registry.register(f"{topic}-value", json.dumps(order()))
    second = registry.register(f"{topic}-value", json.dumps(newer))
    value = {"id": 1, "total": Decimal("10.50"), "at": 1_790_000_000_123, "tags": ["a"]}

    def written(number: int, schema: dict[str, Any], **more: Any) -> bytes:
        return avro(number, schema, {**value, **more})

    produce(
        broker.bootstrap_servers,
        topic,
        [
            written(first, order()),
            written(second, newer, id=2, note="n"),
            framed(99, b"\x02"),
            b"no avro",
            written(first, order(), id=3),
            None,
        ],
    )

    connector = connect(topic, **of_registry(registry, AVRO), **{"errors.tolerance": "all"})
    caught_up(connector)

    found = rows(topic)
    assert [(row["id"], row["total"], row["note"]) for row in found] == [
        (1, 10.5, None),
        (2, 10.5, "n"),
        (3, 10.5, None),
        (None, None, None),
    ]
    assert [row["RECORD_METADATA"]["schema_id"] for row in found] == [first, second, first, None]
    assert found[0]["at"] == "2026-09-21T14:13:20.123"
    (status,) = connector.status()
    assert status.rows_error == 2


def test_a_registry_that_does_not_answer_is_waited_for_and_nothing_is_lost(
    connect, topic, rows, broker: KafkaBroker, registry: SchemaRegistry
):
    number = registry.register(f"{topic}-value", '{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}')
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
    produce(broker.bootstrap_servers, topic, [avro(number, schema, {"id": each}) for each in range(5)])
    registry.failing = 503
    connector = connect(topic, **of_registry(registry, AVRO))
    until_state(connector, "RETRYING")
    assert isinstance(connector.error, RegistryUnavailable)
    assert "503" in str(connector.error)

    registry.failing = None
    caught_up(connector)

    assert [row["id"] for row in rows(topic)] == [0, 1, 2, 3, 4]


def test_another_schema_for_a_known_id_after_a_restart_stops_the_connector_without_a_wrong_row(
    connect, topic, rows, broker: KafkaBroker, registry: SchemaRegistry
):
    fields = [{"name": "id", "type": "int"}]
    before, after = (
        {"type": "record", "name": "R", "fields": [{**each, "name": name} for each in fields]} for name in ("id", "x")
    )
    number = registry.register(f"{topic}-value", json.dumps(before))
    produce(broker.bootstrap_servers, topic, [avro(number, before, {"id": 1})])
    connector = connect(topic, **of_registry(registry, AVRO))
    caught_up(connector)
    connector.stop()

    registry.schemas[number] = {**registry.schemas[number], "schema": json.dumps(after)}
    produce(broker.bootstrap_servers, topic, [avro(number, before, {"id": 2})])
    # Workers keep what they know for a minute, by the converter's settings.
    again = connect(topic, **of_registry(registry, AVRO), **{"value.converter.ignore.default.for.nullables": "false"})
    until_state(again, "FAILED")

    assert again.error is not None
    assert again.error.code == "registry_changed"
    assert [row["id"] for row in rows(topic)] == [1]
    assert "x" not in rows(topic)[0]


def test_a_registry_that_refuses_stops_the_connector_with_what_to_check(
    connect, topic, broker: KafkaBroker, registry: SchemaRegistry
):
    registry.user_info = "me:hush"
    produce(broker.bootstrap_servers, topic, [framed(1, b"\x02")])

    connector = connect(
        topic,
        **of_registry(registry, AVRO),
        **{
            "value.converter.basic.auth.credentials.source": "USER_INFO",
            "value.converter.basic.auth.user.info": "me:wrong",
        },
    )
    until_state(connector, "FAILED")

    assert connector.error is not None
    assert connector.error.code == "registry_refused"
    assert "wrong" not in str(connector.error)


def test_protobuf_lands_with_its_message_and_what_that_imports(
    connect, topic, rows, broker: KafkaBroker, registry: SchemaRegistry
):
    number = protobuf_schema(registry)
    value = ORDER(big=2**64 - 1, color=1, tags=["a", "b"], counts={"x": 1}, cash=2.5, raw=b"\x01\x02")
    value.by.name = "Ann"
    produce(broker.bootstrap_servers, topic, [framed(number, b"\x02\x02" + value.SerializeToString())])

    connector = connect(topic, **of_registry(registry, "io.confluent.connect.protobuf.ProtobufConverter"))
    caught_up(connector)

    (row,) = rows(topic)
    assert (row["big"], row["color"], row["tags"], row["by"]["name"]) == (2**64 - 1, "BLUE", ["a", "b"], "Ann")
    assert row["RECORD_METADATA"]["schema_id"] == number


def test_json_with_schemas_lands_by_its_schemas_and_json_schema_too(
    connect, topic, rows, broker: KafkaBroker, registry: SchemaRegistry
):
    schema = {
        "type": "struct",
        "optional": False,
        "fields": [
            {"field": "id", "type": "int32"},
            {"field": "due", "type": "int32", "name": "org.apache.kafka.connect.data.Date"},
            {"field": "left", "type": "int32", "optional": True, "default": 7},
        ],
    }
    produce(broker.bootstrap_servers, topic, [json.dumps({"schema": schema, "payload": {"id": 1, "due": 80}})])
    caught_up(connect(topic, **{"value.converter.schemas.enable": "true"}))
    other = create_topic(broker.bootstrap_servers, topic + "_schema")
    number = registry.register(f"{other}-value", '{"type":"object","properties":{"id":{"type":"integer"}}}', "JSON")
    produce(broker.bootstrap_servers, other, [framed(number, b'{"id": 2, "more": "x"}')])
    caught_up(connect(other, **of_registry(registry, "io.confluent.connect.json.JsonSchemaConverter")))

    (row,), (second,) = rows(topic), rows(other)
    assert (row["id"], row["left"], row["due"]) == (1, 7, "1970-03-22")
    assert (second["id"], second["more"], second["RECORD_METADATA"]["schema_id"]) == (2, "x", number)


def test_keys_and_headers_have_converters_of_their_own(
    connect, topic, rows, broker: KafkaBroker, registry: SchemaRegistry
):
    number = registry.register(f"{topic}-key", '"long"')
    produce(
        broker.bootstrap_servers,
        topic,
        ['{"id": 1}'],
        keys=[avro(number, "long", 7)],  # type: ignore[arg-type]
        headers=[("n", struct.pack(">i", 5))],
    )

    connector = connect(
        topic,
        **{
            "key.converter": AVRO,
            "key.converter.schema.registry.url": registry.url,
            "header.converter": "org.apache.kafka.connect.converters.IntegerConverter",
        },
    )
    caught_up(connector)

    (row,) = rows(topic)
    assert (row["RECORD_METADATA"]["key"], row["RECORD_METADATA"]["key_schema_id"]) == ("7", number)
    assert row["RECORD_METADATA"]["headers"] == {"n": "5"}
