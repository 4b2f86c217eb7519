"""Protobuf with schemas from a registry, as Confluent's ProtobufConverter reads it."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
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
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.records.connect.json_text import json_text
from frazil.records.connect.protobuf import ProtobufDecoder, protobuf_decoder
from frazil.records.connect.unreadable import Unreadable
from frazil.testing.schema_registry import SchemaRegistry, served

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


KINDS = [
    "DOUBLE",
    "FLOAT",
    "INT64",
    "UINT64",
    "INT32",
    "FIXED64",
    "FIXED32",
    "BOOL",
    "STRING",
    "BYTES",
    "UINT32",
    "SFIXED32",
    "SFIXED64",
    "SINT32",
    "SINT64",
]
NUMBERS_ENTRY = {
    "name": "NumbersEntry",
    "options": {"mapEntry": True},
    "field": [field("key", 1, "INT32"), field("value", 2, "FLOAT")],
}


def everything(syntax: str) -> dict[str, Any]:
    """A message with a field of each type, optional or not, repeated, in a oneof and in itself."""
    repeated = {"label": "LABEL_REPEATED"}
    fields = [field(f"one_{kind}", at, kind) for at, kind in enumerate(KINDS, 1)]
    fields += [field(f"all_{kind}", at, kind) | repeated for at, kind in enumerate(KINDS, 21)]
    fields += [field(f"of_{kind}", at, kind, oneofIndex=0) for at, kind in enumerate(KINDS, 41)]
    fields += [
        field("inner", 61, "MESSAGE", typeName=".All"),
        field("inners", 62, "MESSAGE", typeName=".All") | repeated,
        field("numbers", 63, "MESSAGE", typeName=".All.NumbersEntry") | repeated,
        field("at", 64, "MESSAGE", typeName=".google.protobuf.Timestamp"),
        field("wrapped", 65, "MESSAGE", typeName=".google.protobuf.FloatValue"),
        field("wraps", 66, "MESSAGE", typeName=".google.protobuf.FloatValue") | repeated,
    ]
    message = {"name": "All", "field": fields, "oneofDecl": [{"name": "choice"}], "nestedType": [NUMBERS_ENTRY]}
    needs = ["google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"]
    return {"name": f"{syntax}.proto", "syntax": syntax, "dependency": needs, "messageType": [message]}


@pytest.fixture(scope="module", params=["proto2", "proto3"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[list[tuple[bytes, ProtobufDecoder]]]:
    """Decoders by all options, each with what stands in front of its messages."""
    with served() as registry:
        head = struct.pack(">bI", 0, registry.register("all", compiled(everything(request.param)), "PROTOBUF")) + b"\0"
        flags = [
            {},
            {"flatten.unions": "true"},
            {"wrapper.for.nullables": "true", "generate.index.for.unions": "false"},
        ]
        yield [(head, protobuf_decoder({"schema.registry.url": registry.url, **each})) for each in flags]


WIRE: st.SearchStrategy[bytes] = st.recursive(
    st.one_of(
        st.builds(lambda at, value: tag(at, 0) + varint(value), st.integers(1, 66), st.integers(0, 2**64 - 1)),
        st.builds(lambda at, value: tag(at, 1) + value, st.integers(1, 66), st.binary(min_size=8, max_size=8)),
        st.builds(lambda at, value: tag(at, 5) + value, st.integers(1, 66), st.binary(min_size=4, max_size=4)),
        st.builds(lambda at, value: tag(at, 2) + varint(len(value)) + value, st.integers(1, 66), st.binary(max_size=9)),
    ),
    lambda parts: st.builds(
        lambda at, inner: tag(at, 2) + varint(len(body := b"".join(inner))) + body,
        st.integers(61, 66),
        st.lists(parts, max_size=4),
    ),
    max_leaves=12,
)


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


@given(st.lists(WIRE, max_size=8).map(b"".join))
@settings(max_examples=100, deadline=None)
def test_the_short_way_to_json_says_what_the_long_one_says(
    both_ways: list[tuple[bytes, ProtobufDecoder]], body: bytes
) -> None:
    for head, decoder in both_ways:
        try:
            expected = json_text(decoder.decode(head + body))
        except Unreadable as error:
            with pytest.raises(Unreadable) as refused:
                decoder.text(head + body)
            assert str(refused.value) == str(error)  # noqa: PT017 (the other way has to say the same)
        else:
            assert decoder.text(head + body) == expected


def test_a_text_that_is_not_utf_8_is_refused_where_protobuf_lets_it_pass(registry: SchemaRegistry) -> None:
    number = registry.register("all", compiled(everything("proto2")), "PROTOBUF")
    decoder = protobuf_decoder({"schema.registry.url": registry.url})
    with pytest.raises(Unreadable, match="one_STRING"):
        decoder.text(struct.pack(">bI", 0, number) + b"\0" + tag(1 + KINDS.index("STRING"), 2) + b"\1\xff")
