"""Snowflake's classic converters for Avro."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zlib
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from frazil.errors import RegistryRefused, RegistryUnavailable
from frazil.records.connect.avro_container import MOST_BYTES
from frazil.records.connect.snowflake import snowflake_avro_decoder, snowflake_avro_file_decoder
from frazil.records.connect.unreadable import Unreadable
from frazil.testing.schema_registry import SchemaRegistry

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "raw", "type": "bytes"},
        {"name": "note", "type": ["null", "string", {"type": "map", "values": "long"}], "default": None},
        {"name": "ratio", "type": "float"},
    ],
}
VALUE = {"id": 7, "total": Decimal("12.50"), "raw": b"\xe9\x00", "note": {"a": 1}, "ratio": 0.1}
AS_JSON = {"id": 7, "total": 12.5, "raw": "6QA=", "note": {"a": 1}, "ratio": 0.1}


def encoded(schema: Any, value: Any) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), value)
    return buffer.getvalue()


def framed(number: int, body: bytes) -> bytes:
    return struct.pack(">bI", 0, number) + body


def file_of(schema: Any, *values: Any, codec: str = "null") -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(schema), values, codec=codec)
    return buffer.getvalue()


def test_avro_of_a_registry_becomes_json_with_base64_and_decimals_where_their_points_are(registry: SchemaRegistry):
    number = registry.register("orders-value", json.dumps(ORDER))
    decoder = snowflake_avro_decoder({"schema.registry.url": registry.url})
    data = framed(number, encoded(ORDER, VALUE))

    assert json.loads(decoder.text(data) or "") == AS_JSON
    assert decoder.schema_id(data) == number


def test_a_reader_schema_leaves_fields_out_fills_defaults_and_widens(registry: SchemaRegistry):
    number = registry.register("orders-value", json.dumps(ORDER))
    reader = {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "more", "type": "string", "default": "none"},
        ],
    }
    decoder = snowflake_avro_decoder({"schema.registry.url": registry.url, "reader.schema": json.dumps(reader)})

    found = decoder.text(framed(number, encoded(ORDER, VALUE)))

    assert json.loads(found or "") == {"id": 7, "total": 12.5, "more": "none"}


def test_a_reader_schema_that_is_none_is_found_at_once(registry: SchemaRegistry):
    with pytest.raises(ValueError, match=r"reader\.schema"):
        snowflake_avro_decoder({"schema.registry.url": registry.url, "reader.schema": '{"type": "recrod"}'})


def test_a_schema_that_a_registry_does_not_give_is_a_reject_or_waited_for_or_an_end(registry: SchemaRegistry):
    options = {"schema.registry.url": registry.url}
    data = framed(99, b"\x02")

    with pytest.raises(Unreadable, match="does not know"):
        snowflake_avro_decoder(options).text(data)
    with pytest.raises(RegistryRefused, match=r"break\.on\.schema\.registry\.error"):
        snowflake_avro_decoder({**options, "break.on.schema.registry.error": "TRUE"}).text(data)
    registry.failing = 503
    with pytest.raises(RegistryUnavailable):
        snowflake_avro_decoder(options).text(data)


def file_by_hand(codec: str, body: bytes) -> bytes:
    """A file of one value, compressed by pyarrow: fastavro has not all codecs."""
    meta = encoded({"type": "map", "values": "bytes"}, {"avro.schema": b'"bytes"', "avro.codec": codec.encode()})
    packed = pa.Codec({"zstandard": "zstd"}.get(codec, codec)).compress(body, asbytes=True)
    if codec == "snappy":
        packed += zlib.crc32(body).to_bytes(4, "big")
    return b"Obj\x01" + meta + b"s" * 16 + encoded("long", 1) + encoded("bytes", packed) + b"s" * 16


def file_of_bytes(codec: str, value: bytes) -> bytes:
    if codec in ("snappy", "zstandard"):
        return file_by_hand(codec, encoded("bytes", value))
    return file_of("bytes", value, codec=codec)


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz", "snappy", "zstandard"])
def test_a_file_is_decompressed(codec: str):
    assert snowflake_avro_file_decoder({}).text(file_of_bytes(codec, b"abc" * 9)) == f'"{"YWJj" * 9}"'


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_file_of_one_value_is_that_value(codec: str):
    decoder = snowflake_avro_file_decoder({})

    assert json.loads(decoder.text(file_of(ORDER, VALUE, codec=codec)) or "") == AS_JSON
    assert decoder.schema_id(b"") is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (file_of(ORDER), "0 values"),
        (file_of(ORDER, VALUE, VALUE), "2 values"),
        (b"", "no Avro file"),
        (b"Obj\x01", "no Avro file"),
        (file_of(ORDER, VALUE)[:-20], "no Avro file"),
        (b'{"a": 1}', "no Avro file"),
    ],
)
def test_another_file_is_refused_with_the_reason(data: bytes, reason: str):
    with pytest.raises(Unreadable, match=reason):
        snowflake_avro_file_decoder({}).text(data)


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz", "snappy", "zstandard"])
def test_a_file_that_would_fill_the_memory_is_refused_before_it_does(codec: str):
    data = file_of_bytes(codec, bytes(MOST_BYTES + 1))
    assert len(data) < MOST_BYTES // 20

    tracemalloc.start()
    with pytest.raises(Unreadable, match="when it is decompressed"):
        snowflake_avro_file_decoder({}).text(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 * MOST_BYTES


def test_a_file_whose_compression_nobody_knows_is_refused_with_its_name():
    with pytest.raises(Unreadable, match="lzo"):
        snowflake_avro_file_decoder({}).text(file_of("int", 1).replace(b"\x08null", b"\x06lzo"))


@pytest.mark.parametrize("codec", ["bzip2", "xz", "snappy"])  # the others have no checksums
def test_a_damaged_block_is_refused(codec: str):
    data = file_of_bytes(codec, bytes(range(200)))
    with pytest.raises(Unreadable):
        snowflake_avro_file_decoder({}).text(data[:-60] + bytes(40) + data[-20:])
