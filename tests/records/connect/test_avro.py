"""Avro with schemas from a registry, as Confluent's AvroConverter reads it."""

from __future__ import annotations

import io
import json
import struct
import uuid
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import RegistryUnavailable
from frazil.records.connect.avro import avro_decoder, avro_reader
from frazil.records.connect.data import DECIMAL, SchemaAndValue, Type
from frazil.records.connect.json_text import json_text
from frazil.records.connect.unreadable import Unreadable
from frazil.testing.schema_registry import SchemaRegistry


def encoded(schema: Any, value: Any) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), value)
    return buffer.getvalue()


def text(schema: Any, value: Any, raw: bytes | None = None) -> str | None:
    reader = avro_reader(json.dumps(schema))
    body = encoded(schema, value) if raw is None else raw
    found = reader.text(body)
    assert found == json_text(SchemaAndValue(reader.schema, reader.value(body)))
    return found


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": type_} for each, type_ in fields]}


def logical(type_: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": name, **more}


FIXED = {"type": "fixed", "name": "F", "size": 2}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
MICROS = 1_700_000_000_123_456


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ("int", -5, "-5"),
        ("long", 2**63 - 1, "9223372036854775807"),
        ("float", 0.5, "0.5"),
        ("double", float("nan"), '"NaN"'),
        ("boolean", True, "true"),
        ("string", "é", '"é"'),
        (["null", "int"], None, None),
        (["null", "int"], 3, "3"),
        (FIXED, b"\0\xff", '"AP8="'),
        (ENUM, "B", '"B"'),
        ({"type": "array", "items": ["null", "int"]}, [1, None], "[1,null]"),
        ({"type": "map", "values": "long"}, {"a": 1}, '{"a":1}'),
        (record(("a", "int"), ("b", ["null", "string"])), {"a": 1, "b": None}, '{"a":1,"b":null}'),
        (logical("int", "date"), 1, '"1970-01-02T00:00:00.000Z"'),
        (logical("int", "time-millis"), 36_930_250, '"10:15:30.250"'),
        (logical("long", "time-micros"), 36_930_250_001, '"10:15:30.250001"'),
        (logical("long", "timestamp-millis"), 1, '"1970-01-01T00:00:00.001Z"'),
        (logical("long", "timestamp-micros"), MICROS, '"2023-11-14T22:13:20.123456Z"'),
        (logical("long", "timestamp-micros"), -1, '"1969-12-31T23:59:59.999999Z"'),
        (logical("long", "timestamp-nanos"), MICROS * 1000 + 7, '"2023-11-14T22:13:20.123456007Z"'),
        (logical("long", "local-timestamp-millis"), 1, '"1970-01-01T00:00:00.001"'),
        (logical("long", "local-timestamp-micros"), MICROS, '"2023-11-14T22:13:20.123456"'),
        (logical("string", "uuid"), "6f1c", '"6f1c"'),
        (["int", "string"], "x", '{"int":null,"string":"x"}'),
        (["null", "int", "string"], None, None),
        (["null", record(("a", "int"), name="x.A"), record(("a", "int"), name="x.B")], ("x.B", {"a": 1}), '{"A":null,"B":{"a":1}}'),
        ([record(("a", "int"), name="x.A"), record(("a", "int"), name="y.A")], ("y.A", {"a": 1}), '{"A":null,"y.A":{"a":1}}'),
        (["float", "double"], 0.1, '{"float":null,"double":0.1}'),
    ],
)  # fmt: skip
def test_a_value_is_the_json_of_its_connect_value(schema: Any, value: Any, expected: str | None) -> None:
    raw = encoded(_plain(schema), value)
    assert text(schema, value, raw) == expected


def _plain(schema: Any) -> Any:
    """Without the logical type: the tests write the numbers behind it."""
    return schema["type"] if isinstance(schema, dict) and "logicalType" in schema else schema


def test_decimals_are_exact_on_bytes_and_fixed() -> None:
    schema = record(
        ("a", logical("bytes", "decimal", precision=50, scale=2)),
        ("b", {**logical("fixed", "decimal", precision=4, scale=3), "name": "D", "size": 2}),
        ("c", logical("bytes", "decimal", precision=50, scale=0)),
    )
    value = {"a": Decimal("-123.45"), "b": Decimal("1.500"), "c": Decimal("9" * 39)}

    assert text(schema, value) == f'{{"a":-123.45,"b":1.500,"c":"{"9" * 39}"}}'
    found = avro_reader(json.dumps(schema)).schema.fields[0].schema
    assert (found.type, found.name, found.parameters["scale"]) == (Type.BYTES, DECIMAL, "2")


def test_a_uuid_of_16_bytes_and_a_duration_are_texts() -> None:
    number = uuid.UUID("12345678-1234-5678-1234-567812345678")
    fixed = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}
    duration = {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}

    assert text(fixed, None, number.bytes) == f'"{number}"'
    assert text(duration, None, struct.pack("<III", 1, 2, 3004)) == '"P1M2DT3.004S"'


def test_a_record_may_be_in_itself() -> None:
    schema = {
        **record(("v", "int"), ("next", ["null", "n.R"]), ("more", {"type": "array", "items": "R"})),
        "namespace": "n",
    }
    value = {"v": 1, "next": {"v": 2, "next": None, "more": []}, "more": [{"v": 3, "next": None, "more": []}]}

    assert json.loads(text(schema, value) or "") == value


def test_entries_of_a_map_are_pairs() -> None:
    entry = {
        **record(("key", "int"), ("value", ["null", "string"]), name="MapEntry"),
        "namespace": "io.confluent.connect.avro",
    }
    assert text({"type": "array", "items": entry}, [{"key": 1, "value": "a"}]) == '[[1,"a"]]'


def test_connects_own_properties_are_read() -> None:
    schema = record(
        (
            "a",
            {
                "type": "int",
                "connect.type": "int8",
                "connect.name": "n",
                "connect.version": 2,
                "connect.doc": "d",
                "connect.parameters": {"p": "q"},
            },
        )
    )
    found = avro_reader(json.dumps({**schema, "connect.name": "My"})).schema
    field = found.fields[0].schema

    assert found.name == "My"
    assert (field.type, field.name, field.version, field.doc, dict(field.parameters)) == (
        Type.INT8,
        "n",
        2,
        "d",
        {"p": "q"},
    )


DEFAULT = {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["int", "null"], "default": 5}]}


def test_a_null_is_its_fields_default_unless_nulls_are_to_stay() -> None:
    raw = encoded(DEFAULT, {"a": None})
    kept = avro_reader(json.dumps(DEFAULT), nulls_stay=True)

    assert text(DEFAULT, None, raw) == '{"a":5}'
    assert kept.text(raw) == '{"a":null}'


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "record"}',
        '"no"',
        "{",
        "[1]",
        '{"type": "fixed", "name": "F"}',
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "no"}]}',
    ],
)
def test_what_is_no_schema_is_refused(schema: str) -> None:
    with pytest.raises(Unreadable, match="Avro schema"):
        avro_reader(schema)


def test_what_confluents_serialiser_writes_is_read(registry: SchemaRegistry) -> None:
    schema = record(("a", "int"), ("b", ["null", "string"]))
    serialise = AvroSerializer(SchemaRegistryClient({"url": registry.url}), json.dumps(schema))
    decoder = avro_decoder({"schema.registry.url": registry.url})
    data = [serialise({"a": n, "b": None}, SerializationContext("orders", MessageField.VALUE)) for n in range(3)]
    asked = len(registry.requests)

    assert [decoder.text(each) for each in data] == [f'{{"a":{n},"b":null}}' for n in range(3)]
    assert [decoder.schema_id(each) for each in data] == [1, 1, 1]
    assert len(registry.requests) == asked + 1


def test_types_of_other_schemas_are_found_by_reference(registry: SchemaRegistry) -> None:
    registry.register("customer", json.dumps(record(("name", "string"), name="shop.Customer")))
    reference = {"name": "shop.Customer", "subject": "customer", "version": 1}
    number = registry.register("order", json.dumps(record(("by", "shop.Customer"))), references=[reference])
    decoder = avro_decoder({"schema.registry.url": registry.url})

    assert decoder.text(struct.pack(">bI", 0, number) + b"\x08Anna") == '{"by":{"name":"Anna"}}'


def test_bytes_alone_have_no_length(registry: SchemaRegistry) -> None:
    number = registry.register("raw", '"bytes"')
    assert (
        avro_decoder({"schema.registry.url": registry.url}).text(struct.pack(">bI", 0, number) + b"\0\xff") == '"AP8="'
    )


def test_a_registry_that_fails_is_no_fault_of_the_record(registry: SchemaRegistry) -> None:
    registry.failing = 500
    decoder = avro_decoder({"schema.registry.url": registry.url})
    with pytest.raises(RegistryUnavailable):
        decoder.text(struct.pack(">bI", 0, 1))
    registry.failing = None
    with pytest.raises(Unreadable, match="does not know"):
        decoder.text(struct.pack(">bI", 0, 1))


def test_a_schema_of_another_kind_is_refused(registry: SchemaRegistry) -> None:
    number = registry.register("x", "{}", "JSON")
    with pytest.raises(Unreadable, match="JSON"):
        avro_decoder({"schema.registry.url": registry.url}).text(struct.pack(">bI", 0, number))


ALL = record(
    ("i", "int"), ("s", ["null", "string"]), ("u", ["null", "long", "bytes", ENUM]), ("m", {"type": "map", "values": "double"}),
    ("t", logical("long", "timestamp-millis")), ("d", logical("bytes", "decimal", precision=9, scale=2)),
    ("r", ["null", "R"]),
)  # fmt: skip
READER = avro_reader(json.dumps(ALL))


@given(st.binary(max_size=100))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        assert READER.text(data) is not None
    except Unreadable:
        return


@given(
    st.integers(-(2**31), 2**31 - 1),
    st.none() | st.text(),
    st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)),
)
def test_values_come_out_as_they_went_in(number: int, string: str | None, doubles: dict[str, float]) -> None:
    schema = record(("i", "int"), ("s", ["null", "string"]), ("m", {"type": "map", "values": "double"}))
    value = {"i": number, "s": string, "m": doubles}
    assert json.loads(text(schema, value) or "") == value


@pytest.mark.parametrize(("schema", "value"), [("int", 1), (record(("a", "string")), {"a": "x"})])
def test_a_body_that_is_longer_than_its_value_was_written_by_another_schema(schema: Any, value: Any) -> None:
    with pytest.raises(Unreadable, match="has 1 bytes more"):
        text(schema, None, encoded(schema, value) + b"\0")
