"""Protobuf with schemas from a registry, as Confluent's ProtobufConverter reads it."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frazil.records.connect.protobuf import protobuf_decoder
from frazil.records.connect.unreadable import Unreadable
from frazil.testing.schema_registry import SchemaRegistry

USED = {
    "name": "used.proto", "package": "shop", "syntax": "proto3",
    "messageType": [{"name": "Customer", "field": [{"name": "name", "number": 1, "type": "TYPE_STRING", "label": "LABEL_OPTIONAL"}]}],
}  # fmt: skip


def field(name: str, number: int, type_: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "number": number, "type": f"TYPE_{type_}", "label": "LABEL_OPTIONAL", **more}


ENTRY = {
    "name": "CountsEntry",
    "options": {"mapEntry": True},
    "field": [field("key", 1, "STRING"), field("value", 2, "INT32")],
}
MAIN = {
    "name": "main.proto", "package": "shop", "syntax": "proto3",
    "dependency": ["used.proto", "google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"],
    "enumType": [{"name": "Color", "value": [{"name": "RED", "number": 0}, {"name": "BLUE", "number": 1}]}],
    "messageType": [
        {"name": "Other", "field": [field("a", 1, "INT32")], "nestedType": [{"name": "Inner", "field": [field("b", 1, "BOOL")]}]},
        {
            "name": "Order",
            "field": [
                field("big", 1, "UINT64"), field("color", 2, "ENUM", typeName=".shop.Color"),
                field("tags", 3, "STRING") | {"label": "LABEL_REPEATED"},
                field("counts", 4, "MESSAGE", typeName=".shop.Order.CountsEntry") | {"label": "LABEL_REPEATED"},
                field("by", 5, "MESSAGE", typeName=".shop.Customer"), field("at", 6, "MESSAGE", typeName=".google.protobuf.Timestamp"),
                field("wrapped", 7, "MESSAGE", typeName=".google.protobuf.Int64Value"),
                field("card", 8, "STRING", oneofIndex=0), field("cash", 9, "DOUBLE", oneofIndex=0),
                field("maybe", 10, "INT32", oneofIndex=1, proto3Optional=True),
                field("parent", 11, "MESSAGE", typeName=".shop.Order"), field("raw", 12, "BYTES"),
            ],
            "oneofDecl": [{"name": "payment"}, {"name": "_maybe"}],
            "nestedType": [ENTRY],
        },
    ],
}  # fmt: skip


def file(described: dict[str, Any]) -> FileDescriptorProto:
    return ParseDict(described, FileDescriptorProto())


def pool() -> DescriptorPool:
    found = DescriptorPool()
    for module in (timestamp_pb2, wrappers_pb2):
        found.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    for described in (USED, MAIN):
        found.AddSerializedFile(file(described).SerializeToString())
    return found


POOL = pool()
ORDER = GetMessageClass(POOL.FindMessageTypeByName("shop.Order"))
INNER = GetMessageClass(POOL.FindMessageTypeByName("shop.Other.Inner"))


def compiled(described: dict[str, Any]) -> str:
    return base64.b64encode(file(described).SerializeToString()).decode()


def registered(registry: SchemaRegistry) -> int:
    registry.register("used", compiled(USED), "PROTOBUF")
    reference = {"name": "used.proto", "subject": "used", "version": 1}
    return registry.register("orders-value", compiled(MAIN), "PROTOBUF", [reference])


def text(registry: SchemaRegistry, body: bytes, **options: str) -> Any:
    head = struct.pack(">bI", 0, registered(registry))
    found = protobuf_decoder({"schema.registry.url": registry.url, **options}).text(head + body)
    return json.loads(found or "null")


EMPTY = {
    "big": 0, "color": "RED", "tags": [], "counts": {}, "by": None, "at": None, "wrapped": None, "maybe": None, "parent": None,
    "raw": "", "payment_0": None,
}  # fmt: skip


def test_all_types_become_those_of_connect(registry: SchemaRegistry) -> None:
    order = ORDER(big=2**64 - 1, color=1, tags=["a", "b"], counts={"x": 1}, cash=1.5, maybe=0, raw=b"\0\xff")
    order.by.name = "Anna"
    order.at.seconds = 1
    order.wrapped.value = 0
    order.parent.color = 7

    assert text(registry, b"\x02\x02" + order.SerializeToString()) == {
        "big": 2**64 - 1, "color": "BLUE", "tags": ["a", "b"], "counts": {"x": 1}, "by": {"name": "Anna"},
        "at": "1970-01-01T00:00:01.000Z", "wrapped": {"value": 0}, "maybe": 0, "raw": "AP8=",
        "payment_0": {"card": None, "cash": 1.5}, "parent": {**EMPTY, "color": "UNKNOWN_ENUM_VALUE_Color_7"},
    }  # fmt: skip


def test_options_flatten_oneofs_and_wrappers(registry: SchemaRegistry) -> None:
    order = ORDER(card="x")
    order.wrapped.value = 5
    found = text(
        registry, b"\x02\x02" + order.SerializeToString(), **{"flatten.unions": "true", "wrapper.for.nullables": "true"}
    )

    assert (found["card"], found["cash"], found["wrapped"]) == ("x", None, 5)


def test_indexes_find_messages_in_messages(registry: SchemaRegistry) -> None:
    assert text(registry, b"\x00\x08\x01") == {"a": 1}
    assert text(registry, b"\x04\x00\x00" + INNER(b=True).SerializeToString()) == {"b": True}
    with pytest.raises(Unreadable, match="indexes"):
        text(registry, b"\x02\x0e")


def test_what_confluents_serialiser_writes_is_read(registry: SchemaRegistry) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    serialise = ProtobufSerializer(ORDER, client, {"use.deprecated.format": False})
    data = serialise(ORDER(tags=["a"]), SerializationContext("orders", MessageField.VALUE))

    assert data is not None
    found = protobuf_decoder({"schema.registry.url": registry.url}).text(data)
    assert json.loads(found or "") == {**EMPTY, "tags": ["a"]}


def test_a_schema_that_is_not_compiled_is_refused_with_what_it_takes(registry: SchemaRegistry) -> None:
    number = registry.register("x", 'syntax = "proto3"; message A {}', "PROTOBUF")
    with pytest.raises(Unreadable, match="format=serialized"):
        protobuf_decoder({"schema.registry.url": registry.url}).text(struct.pack(">bI", 0, number) + b"\0")


@given(st.binary(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(registry: SchemaRegistry, data: bytes) -> None:
    number = registered(registry)
    decoder = protobuf_decoder({"schema.registry.url": registry.url})
    for body in (data, b"\x02\x02" + data):
        try:
            assert decoder.text(struct.pack(">bI", 0, number) + body) is not None
        except Unreadable:
            continue
