"""JSON in envelopes and without, as Kafka Connect's JsonConverter writes it."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.records.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Moment, Number, Schema, Struct, Type
from frazil.records.connect.decoding import DecodingConverter
from frazil.records.connect.json_converter import EnvelopeDecoder, JsonDecoder, envelope_decoder
from frazil.records.connect.unreadable import Unreadable


def envelope(schema: Any, payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}).encode()


def text(schema: Any, payload: Any) -> str | None:
    return EnvelopeDecoder().text(envelope(schema, payload))


def typed(type_: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "optional": False, **more}


def decimal(scale: int) -> dict[str, Any]:
    return typed("bytes", name=DECIMAL, version=1, parameters={"scale": str(scale)})


UNSCALED = base64.b64encode((12345).to_bytes(2, "big")).decode()


@pytest.mark.parametrize(
    ("schema", "payload", "expected"),
    [
        (typed("boolean"), True, "true"),
        (typed("int8"), -128, "-128"),
        (typed("int16"), 32767, "32767"),
        (typed("int32"), 1.0, "1"),
        (typed("int64"), 2**63 - 1, "9223372036854775807"),
        (typed("float"), 0.1, "0.1"),
        (typed("double"), 1e300, "1e300"),
        (typed("double"), "NaN", '"NaN"'),
        (typed("double"), "-Infinity", '"-Inf"'),
        (typed("string"), "é", '"é"'),
        (typed("bytes"), "AP8=", '"AP8="'),
        (typed("array", items=typed("int32")), [1, 2], "[1,2]"),
        (typed("map", keys=typed("string"), values=typed("int32")), {"a": 1}, '{"a":1}'),
        (typed("map", keys=typed("int32"), values=typed("int32")), [[1, 1]], "[[1,1]]"),
        (decimal(2), UNSCALED, "123.45"),
        (decimal(2), 123.45, "123.45"),
        (decimal(-3), base64.b64encode(b"\xff").decode(), "-1E+3"),
        (typed("int32", name=DATE, version=1), 1, '"1970-01-02T00:00:00.000Z"'),
        (typed("int32", name=TIME, version=1), 36_930_250, '"10:15:30.250"'),
        (typed("int64", name=TIMESTAMP, version=1), 1, '"1970-01-01T00:00:00.001Z"'),
        (typed("int32", optional=True), None, None),
        (typed("int32", default=5), None, "5"),
        (None, {"a": [1.10, None]}, '{"a":[1.1,null]}'),
        (None, None, None),
        (
            typed("struct", fields=[{**typed("int32", default=7), "field": "a"}, {**typed("string"), "field": "b"}]),
            {"b": "x", "more": 1},
            '{"a":7,"b":"x"}',
        ),
    ],
)
def test_a_payload_is_read_by_its_schema(schema: Any, payload: Any, expected: str | None) -> None:
    assert text(schema, payload) == expected


def test_the_values_are_those_of_connect() -> None:
    schema = typed(
        "struct", name="Order", fields=[{**decimal(2), "field": "a"}, {**typed("int64", name=TIMESTAMP), "field": "t"}]
    )
    content = EnvelopeDecoder().decode(envelope(schema, {"a": UNSCALED, "t": 5}))

    assert isinstance(content.value, Struct)
    assert content.schema is not None
    assert content.schema.name == "Order"
    assert dict(content.value.values) == {"a": Decimal("123.45"), "t": Moment(5)}


def test_a_default_is_a_value_of_its_schema() -> None:
    content = EnvelopeDecoder().decode(envelope({**decimal(2), "default": UNSCALED}, None))
    assert content.value == Decimal("123.45")
    assert content.schema == Schema(
        Type.BYTES, default=Decimal("123.45"), name=DECIMAL, version=1, parameters={"scale": "2"}
    )


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (typed("int32"), None),
        (typed("int8"), 128),
        (typed("int32"), 1.5),
        (typed("int32"), "1"),
        (typed("string"), 1),
        (typed("boolean"), 0),
        (typed("bytes"), "no base64!"),
        (typed("array", items=typed("int32")), {}),
        (typed("map", keys=typed("int32"), values=typed("int32")), [[1]]),
        (typed("struct", fields=[]), 1),
        (typed("int32", name=TIME), -1),
        (typed("bytes", name=DECIMAL), UNSCALED),
        (typed("float32"), 1),
        (typed("array"), []),
        (typed("struct", fields=[{"type": "int32"}]), {}),
        ("int32", 1),
        ({}, 1),
    ],
)
def test_what_is_no_value_of_its_schema_is_refused(schema: Any, payload: Any) -> None:
    with pytest.raises(Unreadable):
        text(schema, payload)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e99999999999999999999"])
@pytest.mark.parametrize("type_", ["int64", "double"])
def test_a_number_beyond_its_type_is_refused_at_once(number: str, type_: str) -> None:
    with pytest.raises(Unreadable):
        EnvelopeDecoder().text(f'{{"schema": {{"type": "{type_}"}}, "payload": {number}}}'.encode())


@pytest.mark.parametrize(
    "data", [b"{}", b"1", b'{"schema": null}', b'{"schema": null, "payload": 1, "more": 1}', b"{", b"\xff"]
)
def test_what_is_no_envelope_is_refused_with_what_to_do(data: bytes) -> None:
    with pytest.raises(Unreadable, match="schemas"):
        EnvelopeDecoder().text(data)


def test_an_empty_body_is_null() -> None:
    assert EnvelopeDecoder().decode(b"").value is None
    assert JsonDecoder().text(b"") is None


def test_json_without_a_schema_keeps_the_digits_of_its_numbers() -> None:
    decoder = JsonDecoder()
    assert decoder.decode(b'\xef\xbb\xbf{"a": 1.10}').value == {"a": Number("1.10")}
    assert decoder.text(b'{"a": 1.1000000000000000000001}') == '{"a":1.1000000000000000000001}'


@pytest.mark.parametrize("data", [b"{", b"NaN", b'"\\ud800"', b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        JsonDecoder().text(data)


def test_a_column_has_texts_and_reasons() -> None:
    column = pa.array([b'{"a": 1}', None, b"{", b"null"], pa.binary())
    converted = DecodingConverter(JsonDecoder()).convert(column, pa.array([""] * 4).dictionary_encode())

    assert converted.texts.to_pylist() == ['{"a":1}', None, None, None]
    assert list(converted.bad) == [2]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON)
def test_json_without_a_schema_comes_out_as_it_went_in(value: Any) -> None:
    written = JsonDecoder().text(json.dumps(value).encode())
    assert json.loads("null" if written is None else written) == value


@given(
    st.binary()
    | st.builds(envelope, JSON, JSON)
    | st.builds(
        lambda a, b: envelope({"type": a}, b), st.sampled_from(["int8", "int64", "float", "bytes", "string"]), JSON
    )
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for decoder in (EnvelopeDecoder(), JsonDecoder()):
        try:
            decoder.text(data)
        except Unreadable:
            continue


def test_nulls_stay_where_they_are_not_to_become_defaults() -> None:
    optional = typed("struct", fields=[{**typed("int32", default=7, optional=True), "field": "a"}])

    assert EnvelopeDecoder().text(envelope(optional, {"a": None})) == '{"a":7}'
    assert (
        envelope_decoder({"replace.null.with.default": "False"}).text(envelope(optional, {"a": None})) == '{"a":null}'
    )
