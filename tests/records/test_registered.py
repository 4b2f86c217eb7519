"""Values written for a schema registry: their reject says what they seem to be, and what they need."""

from __future__ import annotations

import struct

import pytest

from frazil.model import Conversion

from .batches import batch, convert


def reasons(*values: bytes | None) -> dict[int, str]:
    """The reason of each reject, by offset."""
    converted = convert(batch(value=list(values)), Conversion(), 0)
    return {reject.offset: reject.reason for reject in converted.rejects}


def written(schema: int, body: bytes) -> bytes:
    return struct.pack(">bI", 0, schema) + body


@pytest.mark.parametrize("body", [b"\x06abc", b"\0\x0a\x03abc", b"\xff\xfe", b"{ no end"])
def test_it_names_the_schema_and_the_converters_it_would_need(body: bytes) -> None:
    found = reasons(b'{"a": 1}', written(70_000, body), None, b"")

    assert list(found) == [1]
    assert "schema id '70000'" in found[1]
    assert "Avro or Protobuf" in found[1]
    assert "io.confluent.connect.avro.AvroConverter" in found[1]
    assert "io.confluent.connect.protobuf.ProtobufConverter" in found[1]
    assert "value.converter.schema.registry.url" in found[1]


@pytest.mark.parametrize("body", [b'{"a": 1}', b" [1]\n"])
def test_json_with_a_schema_is_distinguished_from_avro(body: bytes) -> None:
    (reason,) = reasons(written(1, body)).values()

    assert "JSON Schema" in reason
    assert "io.confluent.connect.json.JsonSchemaConverter" in reason
    assert "Avro" not in reason


@pytest.mark.parametrize("value", [b"\0", b"\0\0\0\0\x01", b"\x01\0\0\0\x01{}"])
def test_what_has_no_magic_byte_or_no_body_is_judged_as_any_other_value(value: bytes) -> None:
    assert reasons(value) == {}
