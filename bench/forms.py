"""Forms that the same orders come in, and what frazil is told to read them."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import fastavro
import orjson
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from frazil.model import Conversion, ConverterSpec
from frazil.records.smt.chain import specs
from frazil.testing.schema_registry import SchemaRegistry

_PACKAGE: Final = "org.apache.kafka.connect.transforms."


def _record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields.items()]}


_AVRO: Final = _record(
    "Order",
    order_id="long",
    customer_name="string",
    order_total="double",
    isPaid="boolean",
    order_date="string",
    status="string",
    items={"type": "array", "items": _record("Item", sku="string", qty="int", price="double")},
    address=_record("Address", city="string", zip="string", geo=_record("Geo", lat="double", lon="double")),
    note=["null", "string"],
)


def _message(name: str, **fields: str) -> dict[str, Any]:
    described = []
    for number, (each, kind) in enumerate(fields.items(), 1):
        field: dict[str, Any] = {"name": each, "number": number, "label": "LABEL_OPTIONAL"}
        plain = kind.removesuffix("[]")
        if plain.startswith("."):
            field |= {"type": "TYPE_MESSAGE", "typeName": plain}
        else:
            field["type"] = f"TYPE_{plain.upper()}"
        if plain != kind:
            field["label"] = "LABEL_REPEATED"
        described.append(field)
    return {"name": name, "field": described}


_PROTOBUF: Final = {
    "name": "order.proto",
    "syntax": "proto3",
    "messageType": [
        _message(
            "Order",
            order_id="int64",
            customer_name="string",
            order_total="double",
            isPaid="bool",
            order_date="string",
            status="string",
            items=".Item[]",
            address=".Address",
            note="string",
        ),
        _message("Item", sku="string", qty="int32", price="double"),
        _message("Address", city="string", zip="string", geo=".Geo"),
        _message("Geo", lat="double", lon="double"),
    ],
}


def _as_json(value: bytes, _: int) -> bytes:
    return value


def _as_avro(value: bytes, schema: int) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, _PARSED, orjson.loads(value))
    return struct.pack(">bi", 0, schema) + buffer.getvalue()


def _as_protobuf(value: bytes, schema: int) -> bytes:
    message: bytes = ParseDict(orjson.loads(value), _ORDER()).SerializeToString()
    return struct.pack(">bi", 0, schema) + b"\0" + message


def _with_rejects(value: bytes, _: int) -> bytes:
    """One of a hundred orders has a total that is no number."""
    order = orjson.loads(value)
    if order["order_id"] % 100 == 7:
        order["order_total"] = "much"
    return orjson.dumps(order)


def _with_id(value: bytes, schema: int) -> bytes:
    return struct.pack(">bi", 0, schema) + value


_PARSED: Final = fastavro.parse_schema(_AVRO)
_SERIALIZED: Final = ParseDict(_PROTOBUF, FileDescriptorProto()).SerializeToString()
_POOL: Final = DescriptorPool()
_POOL.AddSerializedFile(_SERIALIZED)
_ORDER: Final = GetMessageClass(_POOL.FindMessageTypeByName("Order"))


@dataclass(frozen=True, slots=True)
class Form:
    """One form, and how it is read."""

    topic: str = "orders"
    """Where orders of that form are."""

    written: Callable[[bytes, int], bytes] = _as_json
    """Makes it of JSON, given the id of its schema."""

    kind: str = "json"
    """The converter."""

    schema: tuple[str, str] = ("", "")
    """The kind and the text of its schema in the registry, if it has one."""

    transforms: Mapping[str, str] = field(default_factory=dict)
    """Keys of single message transforms."""

    def registered(self, registry: SchemaRegistry) -> int:
        """The id of its schema."""
        kind, text = self.schema
        return registry.register(f"{self.topic}-value", text, kind) if kind else 0

    def conversion(self, url: str) -> Conversion:
        """What a task is told, with the address of the registry."""
        options = {"schema.registry.url": url} if self.schema[0] else {}
        return Conversion(value_converter=ConverterSpec(self.kind, options), transforms=specs(self.transforms))


def _chain(**transforms: Mapping[str, str]) -> dict[str, str]:
    keys = {"transforms": ",".join(transforms)}
    for name, options in transforms.items():
        keys |= {f"transforms.{name}.{key}": text for key, text in options.items()}
        keys[f"transforms.{name}.type"] = _PACKAGE + options["type"]
    return keys


_INSERT: Final = {"type": "InsertField$Value", "topic.field": "source"}
_RENAME: Final = {"type": "ReplaceField$Value", "exclude": "source", "renames": "customer_name:customer_name"}
_ROUTE: Final = {"type": "RegexRouter", "regex": "(.*)s", "replacement": "$1"}
_CAST: Final = {"type": "Cast$Value", "spec": "order_id:int64"}

FORMS: Final = {
    "JSON": Form(),
    "JSON, 1 % rejects": Form("orders_bad", _with_rejects),
    "Avro": Form("orders_avro", _as_avro, "avro", ("AVRO", json.dumps(_AVRO))),
    "Protobuf": Form("orders_protobuf", _as_protobuf, "protobuf", ("PROTOBUF", base64.b64encode(_SERIALIZED).decode())),
    "JSON Schema": Form(
        "orders_schema",
        _with_id,
        "json_schema",
        ("JSON", '{"type": "object", "properties": {"order_id": {"type": "integer"}}}'),
    ),
    "JSON, InsertField": Form(transforms=_chain(add=_INSERT)),
    "JSON, ReplaceField": Form(transforms=_chain(name=_RENAME)),
    "JSON, three on columns": Form(transforms=_chain(add=_INSERT, name=_RENAME, route=_ROUTE)),
    "JSON, Cast": Form(transforms=_chain(cast=_CAST)),
    "JSON, Cast and two": Form(transforms=_chain(cast=_CAST, add=_INSERT, name=_RENAME)),
    "Avro, InsertField": Form("orders_avro", _as_avro, "avro", ("AVRO", json.dumps(_AVRO)), _chain(add=_INSERT)),
}
"""All that are measured; the first is what the others are compared with."""
