"""JSON with JSON Schemas from a registry, as Confluent's JsonSchemaConverter reads it."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frazil.records.connect.data import DATE, Number
from frazil.records.connect.json_schema import json_schema_decoder
from frazil.records.connect.unreadable import Unreadable
from frazil.testing.schema_registry import SchemaRegistry

CLOSED = {
    "type": "object", "title": "Order", "additionalProperties": False, "required": ["id"],
    "properties": {
        "on": {"type": "integer", "connect.type": "int32", "title": DATE, "connect.index": 2},
        "id": {"type": "integer", "connect.type": "int16", "connect.index": 0},
        "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
        "map": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "number"}, "connect.index": 3},
        "list": {"type": "array", "items": {"type": ["string", "null"]}, "connect.index": 4},
    },
}  # fmt: skip


def decoded(registry: SchemaRegistry, schema: Any, body: bytes) -> Any:
    number = registry.register("orders-value", json.dumps(schema), "JSON")
    return json_schema_decoder({"schema.registry.url": registry.url}).text(struct.pack(">bI", 0, number) + body)


def test_an_object_that_names_all_of_its_fields_is_a_struct(registry: SchemaRegistry) -> None:
    body = b'{"list": ["a", null], "on": 1, "map": {"x": 1}, "id": 7}'
    assert decoded(registry, CLOSED, body) == (
        '{"id":7,"note":null,"on":"1970-01-02T00:00:00.000Z","map":{"x":1.0},"list":["a",null]}'
    )


@pytest.mark.parametrize("body", [b'{"id": 70000}', b'{"note": "x"}', b"{", b"[]"])
def test_a_value_that_does_not_fit_is_refused(registry: SchemaRegistry, body: bytes) -> None:
    with pytest.raises(Unreadable):
        decoded(registry, CLOSED, body)


@pytest.mark.parametrize("schema", [{"type": "object"}, {"anyOf": [{"type": "string"}, {"type": "object"}]}, True, {}])
def test_values_of_other_schemas_lose_nothing(registry: SchemaRegistry, schema: Any) -> None:
    assert decoded(registry, schema, b'{"a": 1.10}') == '{"a":1.10}'


def test_what_confluents_serialiser_writes_is_read(registry: SchemaRegistry) -> None:
    schema = {"type": "object", "title": "T", "properties": {"a": {"type": "integer"}}}
    serialise = JSONSerializer(json.dumps(schema), SchemaRegistryClient({"url": registry.url}))
    data = serialise({"a": 1}, SerializationContext("orders", MessageField.VALUE))

    assert data is not None
    assert json_schema_decoder({"schema.registry.url": registry.url}).decode(data).value == {"a": Number("1")}


@given(st.binary(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_bytes_are_read_or_refused(registry: SchemaRegistry, body: bytes) -> None:
    try:
        decoded(registry, CLOSED, body)
    except Unreadable:
        return
