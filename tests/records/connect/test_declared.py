"""What schemas of Avro, Protobuf and JSON Schema declare of columns."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from typing import Any

import pytest
from confluent_kafka.schema_registry.confluent import meta_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from tests.records.connect.test_avro import logical, record
from tests.records.connect.test_protobuf import ORDER, field, file, registered

from frazil.model import ObservedType
from frazil.pipes.evolution import column_type
from frazil.records.connect.avro import avro_reader
from frazil.records.connect.data import Field, Schema, Type
from frazil.records.connect.declared import declared
from frazil.records.connect.json_schema import json_schema_decoder
from frazil.records.connect.protobuf import protobuf_decoder
from frazil.testing.schema_registry import SchemaRegistry


def columns(schema: Schema | None) -> dict[str, str]:
    """The types of columns, structs as such."""
    assert schema is not None
    found = declared(schema, bytes_fit=True)
    return {name: str(column_type(each, "struct")) for name, each in found.items()}


def of_avro(**fields: Any) -> dict[str, str]:
    return columns(avro_reader(json.dumps(record(*fields.items()))).schema)


def test_avro_declares_its_logical_types() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 12}

    found = of_avro(
        money={**logical("bytes", "decimal"), "precision": 12, "scale": 2},
        fixed_money={**fixed, "name": "M", "logicalType": "decimal", "precision": 20},
        day=logical("int", "date"),
        clock=logical("int", "time-millis"),
        fine_clock=logical("long", "time-micros"),
        nano_clock=logical("long", "time-nanos"),
        millis=logical("long", "timestamp-millis"),
        micros=["null", logical("long", "timestamp-micros")],
        nanos=logical("long", "timestamp-nanos"),
        local=logical("long", "local-timestamp-millis"),
        local_nanos=logical("long", "local-timestamp-nanos"),
        key=logical("string", "uuid"),
        raw=fixed,
        lasts={**fixed, "name": "D", "logicalType": "duration"},
        small={"type": "int", "connect.type": "int8"},
        color={"type": "enum", "name": "E", "symbols": ["A"]},
        choice=["null", "int", "string"],
        debezium={"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"},
    )

    assert found == {
        "money": "decimal(12,2)", "fixed_money": "decimal(20,0)", "day": "date", "clock": "time", "fine_clock": "time",
        "nano_clock": "string", "millis": "timestamp", "micros": "timestamp", "nanos": "string", "local": "timestamp",
        "local_nanos": "string", "key": "string", "raw": "binary", "lasts": "string", "small": "int", "color": "string",
        "choice": "struct<int: int, string: string>", "debezium": "timestamp",
    }  # fmt: skip


def test_a_schema_in_itself_is_text_at_the_second_level() -> None:
    tree = record(("n", "int"), ("left", ["null", "R"]), ("all", {"type": "array", "items": "R"}))

    assert columns(avro_reader(json.dumps(tree)).schema) == {
        "n": "int",
        "left": "struct<all: list<string>, left: string, n: int>",
        "all": "list<struct<all: list<string>, left: string, n: int>>",
    }


def test_schemas_that_name_one_another_are_looked_into_within_bounds() -> None:
    """Every order of twelve schemas that name each other would be millions of structs."""
    schemas = [Schema(Type.STRUCT, name=str(number)) for number in range(12)]
    fields = tuple(Field(str(each.name), each) for each in schemas)
    for each in schemas:
        object.__setattr__(each, "fields", (*fields, Field("n", Schema(Type.INT32))))

    found = declared(schemas[0], bytes_fit=True)

    assert found["n"] == ObservedType(frozenset({"int"}))
    assert size(found["1"]) < 10_000


def size(found: ObservedType) -> int:
    return 1 + sum(size(each) for _, each in found.fields or ())


@pytest.mark.parametrize("type_", [each for each in Type if each is not Type.STRUCT])
def test_only_structs_declare_columns(type_: Type) -> None:
    assert declared(Schema(type_), bytes_fit=True) == {}


def test_protobuf_declares_its_types(registry: SchemaRegistry) -> None:
    head = struct.pack(">bI", 0, registered(registry))
    decoder = protobuf_decoder({"schema.registry.url": registry.url})

    _, schema = decoder.text_and_schema(head + b"\x02\x02" + ORDER().SerializeToString())

    found = columns(schema)
    assert found.pop("parent").startswith("struct<at: timestamp, big: decimal(20,0)")
    assert found == {
        "big": "decimal(20,0)", "color": "string", "tags": "list<string>", "counts": "map<string, int>",
        "by": "struct<name: string>", "at": "timestamp", "wrapped": "struct<value: long>", "maybe": "int", "raw": "binary",
        "payment_0": "struct<card: string, cash: double>",
    }  # fmt: skip


def test_a_decimal_of_protobuf_has_the_digits_that_its_field_is_annotated_with(registry: SchemaRegistry) -> None:
    kind = {"typeName": ".confluent.type.Decimal"}
    fields = [field(name, number, "MESSAGE", **kind) for number, name in enumerate(("plain", "money"), 1)]
    described = {
        "name": "money.proto", "package": "shop", "syntax": "proto3", "dependency": ["confluent/type/decimal.proto"],
        "messageType": [{"name": "Money", "field": fields}],
    }  # fmt: skip
    made: FileDescriptorProto = file(described)
    meta = made.message_type[0].field[1].options.Extensions[meta_pb2.field_meta]
    meta.params.update({"precision": "12", "scale": "2"})
    number = registry.register("money-value", b64encode(made.SerializeToString()).decode(), "PROTOBUF")
    decoder = protobuf_decoder({"schema.registry.url": registry.url})

    _, schema = decoder.text_and_schema(struct.pack(">bI", 0, number) + b"\0")

    assert columns(schema) == {"plain": "string", "money": "decimal(12,2)"}


def of_json_schema(registry: SchemaRegistry, properties: dict[str, Any], value: Any) -> dict[str, str]:
    text = json.dumps({"type": "object", "properties": properties})
    number = registry.register("orders-value", text, "JSON")
    decoder = json_schema_decoder({"schema.registry.url": registry.url})
    written, schema = decoder.text_and_schema(struct.pack(">bI", 0, number) + json.dumps(value).encode())
    assert written == decoder.text(struct.pack(">bI", 0, number) + json.dumps(value).encode())
    return {} if schema is None else columns(schema)


CONNECT = "org.apache.kafka.connect.data."
PROPERTIES = {
    "id": {"type": "integer"},
    "small": {"type": "integer", "connect.type": "int16"},
    "ratio": {"type": "number"},
    "day": {"type": "integer", "connect.type": "int32", "title": f"{CONNECT}Date"},
    "price": {
        "type": "number",
        "connect.type": "bytes",
        "title": f"{CONNECT}Decimal",
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
    },
    "place": {"type": "object", "properties": {"city": {"type": "string"}}},
    "tags": {"type": "array", "items": {"type": "string"}},
}
DECLARED = {
    "id": "long", "small": "int", "ratio": "double", "day": "date", "price": "decimal(9,2)",
    "place": "struct<city: string>", "tags": "list<string>",
}  # fmt: skip


def test_json_schema_declares_its_types(registry: SchemaRegistry) -> None:
    assert of_json_schema(registry, PROPERTIES, {}) == DECLARED


@pytest.mark.parametrize(
    ("value", "unknown"),
    [
        ({"other": 1.5, "price": 1.25}, []),
        ({"id": 2**70, "day": 80}, ["id"]),
        ({"place": {"city": "Bonn", "more": 1}}, ["place"]),
    ],
)
def test_a_value_that_says_more_than_its_json_schema_declares_the_rest(
    registry: SchemaRegistry, value: dict[str, Any], unknown: list[str]
) -> None:
    expected = {name: kind for name, kind in DECLARED.items() if name not in unknown}

    assert of_json_schema(registry, PROPERTIES, value) == expected
