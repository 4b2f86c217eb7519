"""JSON with JSON Schemas from a registry, as Confluent's JsonSchemaConverter reads it."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from frazil.records.connect.data import DATE, DECIMAL
from frazil.records.connect.json_schema import json_schema_decoder
from frazil.records.connect.json_text import json_text
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


OPEN = {
    "type": "object", "required": ["id"],
    "properties": {
        "id": {"type": "integer"},
        "on": {"type": "integer", "connect.type": "int32", "title": DATE},
        "price": {"type": "number", "connect.type": "bytes", "title": DECIMAL, "connect.parameters": {"scale": "2"}},
        "state": {"enum": ["new", "old"], "default": "new"},
    },
}  # fmt: skip
AS_PLAIN = '{"id":1,"on":"1970-01-02T00:00:00.000Z","price":1.10,"state":"new"}'


def test_a_field_that_the_schema_does_not_name_is_kept_and_the_others_read_as_ever(registry: SchemaRegistry) -> None:
    number = registry.register("orders-value", json.dumps(OPEN), "JSON")
    decoder = json_schema_decoder({"schema.registry.url": registry.url})
    head = struct.pack(">bI", 0, number)
    known = decoder.decode(head + b'{"id": 1, "on": 1, "price": 1.10}')
    more = decoder.decode(head + b'{"id": 1, "on": 1, "price": 1.10, "x": {"y": [1e400]}}')

    assert known.schema is not None
    assert json_text(known) == AS_PLAIN
    assert more.schema is None
    texts = json_text(more)
    assert texts is not None
    assert (
        texts.replace(',"x":{"y":[1e400]}', "") == '{"state":"new","id":1,"on":"1970-01-02T00:00:00.000Z","price":1.10}'
    )


def test_an_integer_of_any_size_is_kept_unless_the_schema_says_its_bits(registry: SchemaRegistry) -> None:
    assert decoded(registry, OPEN, b'{"id": 18446744073709551616}') == '{"state":"new","id":18446744073709551616}'


@pytest.mark.parametrize(
    "body", [b'{"id": 1.5, "x": 1}', b'{"x": 1}', b'{"id": 1, "on": 3000000000, "x": 1}', b'{"id": "1", "x": 1}', b"1"]
)
def test_a_value_with_more_fields_is_still_one_of_its_schema(registry: SchemaRegistry, body: bytes) -> None:
    with pytest.raises(Unreadable):
        decoded(registry, OPEN, body)


def test_maps_whose_keys_are_no_texts_are_arrays_of_entries(registry: SchemaRegistry) -> None:
    entry = {"type": "object", "properties": {"key": {"type": "integer"}, "value": {"type": "boolean"}}}
    schema = {"type": "array", "connect.type": "map", "items": entry}
    assert decoded(registry, schema, b'[{"key": 1, "value": true}]') == "[[1,true]]"


def test_references_are_followed_in_the_document_and_through_the_registry(registry: SchemaRegistry) -> None:
    used = {"definitions": {"day": {"type": "integer", "connect.type": "int32", "title": DATE}}}
    registry.register("days", json.dumps(used), "JSON")
    schema = {
        "type": "object", "properties": {"on": {"$ref": "#/$defs/when"}},
        "$defs": {"when": {"oneOf": [{"type": "null"}, {"$ref": "days.json#/definitions/day"}]}},
    }  # fmt: skip
    references = [{"name": "days.json", "subject": "days", "version": 1}]
    number = registry.register("orders-value", json.dumps(schema), "JSON", references)
    decoder = json_schema_decoder({"schema.registry.url": registry.url})

    assert decoder.decode(struct.pack(">bI", 0, number) + b'{"on": 1}').schema is not None
    assert decoder.text(struct.pack(">bI", 0, number) + b'{"on": 1}') == '{"on":"1970-01-02T00:00:00.000Z"}'
    assert decoder.text(struct.pack(">bI", 0, number) + b'{"on": null, "x": 1}') == '{"on":null,"x":1}'


def test_values_of_a_schema_that_is_in_itself_are_read_at_every_level(registry: SchemaRegistry) -> None:
    when = {"type": "integer", "connect.type": "int32", "title": DATE}
    schema = {"type": "object", "properties": {"on": when, "next": {"$ref": "#"}}}
    assert decoded(registry, schema, b'{"on": 0, "next": {"on": 1, "next": null}}') == (
        '{"on":"1970-01-01T00:00:00.000Z","next":{"on":"1970-01-02T00:00:00.000Z","next":null}}'
    )


@pytest.mark.parametrize("reference", ["#/nowhere", "other.json", "#anchor", 1])
def test_a_reference_to_nothing_is_refused(registry: SchemaRegistry, reference: Any) -> None:
    with pytest.raises(Unreadable, match="JSON Schema"):
        decoded(registry, {"$ref": reference}, b"1")


def test_a_schema_that_refers_to_itself_alone_says_nothing(registry: SchemaRegistry) -> None:
    assert decoded(registry, {"$ref": "#"}, b"[1.10]") == "[1.10]"
    loop = {"$ref": "#/a", "a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}}
    with pytest.raises(Unreadable):
        decoded(registry, loop, b"1")


@pytest.mark.parametrize("schema", [{"type": "object"}, {"anyOf": [{"type": "string"}, {"type": "object"}]}, True, {}])
def test_values_of_other_schemas_lose_nothing(registry: SchemaRegistry, schema: Any) -> None:
    assert decoded(registry, schema, b'{"a": 1.10}') == '{"a":1.10}'


def test_what_confluents_serialiser_writes_is_read(registry: SchemaRegistry) -> None:
    schema = {"type": "object", "title": "T", "properties": {"a": {"type": "integer"}}}
    serialise = JSONSerializer(json.dumps(schema), SchemaRegistryClient({"url": registry.url}))
    data = serialise({"a": 1}, SerializationContext("orders", MessageField.VALUE))

    assert data is not None
    assert json_schema_decoder({"schema.registry.url": registry.url}).text(data) == '{"a":1}'
