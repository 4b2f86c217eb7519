"""Single values, as Kafka's own serialisers write them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.records.connect import primitives
from frazil.records.connect.data import Schema, SchemaAndValue, Type
from frazil.records.connect.primitives import PrimitiveDecoder
from frazil.records.connect.unreadable import Unreadable

ALL = [
    primitives.booleans(),
    *(primitives.numbers(type_) for type_ in (Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)),
    primitives.texts({}),
    primitives.plain_bytes(),
]


@pytest.mark.parametrize(
    ("decoder", "data", "expected"),
    [
        (primitives.booleans(), b"\1", "true"),
        (primitives.numbers(Type.INT16), b"\xff\xfe", "-2"),
        (primitives.numbers(Type.INT32), b"\0\0\1\0", "256"),
        (primitives.numbers(Type.INT64), struct.pack(">q", 2**63 - 1), "9223372036854775807"),
        (primitives.numbers(Type.FLOAT32), struct.pack(">f", 0.1), "0.1"),
        (primitives.numbers(Type.FLOAT64), struct.pack(">d", float("inf")), '"Inf"'),
        (primitives.plain_bytes(), b"\0\xff", '"AP8="'),
        (primitives.texts({}), b"a\xff", '"a\ufffd"'),
        (primitives.texts({"converter.encoding": "ISO-8859-1"}), b"\xe9", '"é"'),
        (primitives.texts({"converter.encoding": "UTF-16"}), b"\0a", '"a"'),
        (primitives.texts({"converter.encoding": "UTF-16"}), b"\xff\xfea\0", '"a"'),
    ],
)
def test_a_value_is_its_json(decoder: PrimitiveDecoder, data: bytes, expected: str) -> None:
    assert decoder.text(data) == expected


def test_it_has_an_optional_schema() -> None:
    assert primitives.booleans().decode(b"\0") == SchemaAndValue(Schema(Type.BOOLEAN, optional=True), False)


@pytest.mark.parametrize("decoder", ALL[:6])
@pytest.mark.parametrize("data", [b"", b"\0" * 3, b"\0" * 9])
def test_values_of_another_length_are_refused(decoder: PrimitiveDecoder, data: bytes) -> None:
    with pytest.raises(Unreadable):
        decoder.text(data)


def test_an_encoding_nobody_knows_is_refused() -> None:
    with pytest.raises(LookupError):
        primitives.texts({"converter.encoding": "no-such"})


@given(st.sampled_from(ALL), st.binary(max_size=9))
def test_any_bytes_are_read_or_refused(decoder: PrimitiveDecoder, data: bytes) -> None:
    try:
        assert decoder.text(data) is not None
    except Unreadable:
        assert decoder.type not in (Type.STRING, Type.BYTES)
