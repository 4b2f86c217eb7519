"""Debezium's semantic types land as what they stand for, from JSON with schemas and from Avro."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import fastavro
import pytest

from frazil.records.connect.avro import avro_reader
from frazil.records.connect.data import SchemaAndValue
from frazil.records.connect.json_converter import EnvelopeDecoder
from frazil.records.connect.json_text import json_text
from frazil.records.connect.unreadable import Unreadable

MOMENT = 1_700_000_000_123_456_789
TYPES: list[tuple[str, str, str, Any, Any]] = [
    ("time.Date", "int32", "int", 80, "1970-03-22T00:00:00.000Z"),
    ("time.Date", "int32", "int", -268, "1969-04-08T00:00:00.000Z"),
    ("time.Time", "int32", "int", 36_000_250, "10:00:00.250"),
    ("time.MicroTime", "int64", "long", 36_000_250_001, "10:00:00.250001"),
    ("time.NanoTime", "int64", "long", 36_000_250_001_002, "10:00:00.250001002"),
    ("time.Timestamp", "int64", "long", MOMENT // 10**6, "2023-11-14T22:13:20.123"),
    ("time.MicroTimestamp", "int64", "long", MOMENT // 10**3, "2023-11-14T22:13:20.123456"),
    ("time.NanoTimestamp", "int64", "long", MOMENT, "2023-11-14T22:13:20.123456789"),
    ("time.ZonedTimestamp", "string", "string", "2023-11-14T22:13:20.1+01:00", "2023-11-14T22:13:20.1+01:00"),
    ("time.Year", "int32", "int", 2026, 2026),
    ("data.Json", "string", "string", '{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
    ("data.Uuid", "string", "string", "0f8fad5b-d9cb-469f-a165-70867728950e", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    ("data.Enum", "string", "string", "new", "new"),
]


def from_envelope(schema: dict[str, Any], value: Any) -> Any:
    return json.loads(EnvelopeDecoder().text(json.dumps({"schema": schema, "payload": value}).encode()) or "null")


def from_avro(schema: Any, value: Any) -> Any:
    written = {"type": "record", "name": "Row", "fields": [{"name": "v", "type": ["null", schema]}]}
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(written), {"v": value})
    reader = avro_reader(json.dumps(written))
    text = reader.text(buffer.getvalue())
    assert text == json_text(SchemaAndValue(reader.schema, reader.value(buffer.getvalue())))
    return json.loads(text or "null")["v"]


@pytest.mark.parametrize(("name", "connect", "avro", "value", "expected"), TYPES)
def test_a_value_is_what_its_semantic_type_says(name: str, connect: str, avro: str, value: Any, expected: Any) -> None:
    full = f"io.debezium.{name}"

    assert from_envelope({"type": connect, "name": full}, value) == expected
    assert from_avro({"type": avro, "connect.name": full}, value) == expected
    assert from_avro({"type": avro, "connect.name": full}, None) is None


def test_a_decimal_of_any_scale_is_a_number_with_its_digits() -> None:
    name = "io.debezium.data.VariableScaleDecimal"
    fields = [{"field": "scale", "type": "int32"}, {"field": "value", "type": "bytes"}]
    unscaled = (12_345).to_bytes(2, "big")

    encoded = base64.b64encode(unscaled).decode()
    assert from_envelope({"type": "struct", "name": name, "fields": fields}, {"scale": 2, "value": encoded}) == 123.45
    avro = {
        "type": "record",
        "name": name,
        "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
    }
    assert from_avro(avro, {"scale": -1, "value": unscaled}) == 123_450


def test_a_text_that_is_no_json_is_refused_where_its_type_says_so() -> None:
    with pytest.raises(Unreadable, match="not valid JSON"):
        from_envelope({"type": "string", "name": "io.debezium.data.Json"}, "{")


def test_a_name_on_another_type_than_its_own_means_nothing() -> None:
    assert from_envelope({"type": "string", "name": "io.debezium.time.Date"}, "80") == "80"
