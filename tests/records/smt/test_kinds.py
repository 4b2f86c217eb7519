"""What values are without a schema."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.records.connect.data import Moment, Number, Type
from frazil.records.smt.kinds import Float32, Int8, Int32, described, plain, single, type_of, wrapped


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, Type.BOOLEAN),
        (1, Type.INT64),
        (Int8(1), Type.INT8),
        (Int32(1), Type.INT32),
        (1.0, Type.FLOAT64),
        (Float32(1.0), Type.FLOAT32),
        (Number("1"), Type.INT64),
        (Number("1e2"), Type.FLOAT64),
        ("1", Type.STRING),
        (b"1", Type.BYTES),
        ([], Type.ARRAY),
        ({}, Type.MAP),
        (Moment(0), None),
        (Decimal(1), None),
        (None, None),
    ],
)
def test_a_value_is_of_the_type_of_its_class(value: Any, expected: Type | None):
    assert type_of(value) is expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-0", 0),
        ("9223372036854775808", -(2**63)),
        ("1.50", 1.5),
        ("1E2", 100.0),
        ("-0.0", 0.0),
        ("1e999", float("inf")),
    ],
)
def test_a_number_of_a_document_is_calculated_with(text: str, value: Any):
    assert (plain(Number(text)), type(plain(Number(text)))) == (value, type(value))


@given(st.integers(), st.sampled_from([8, 16, 32, 64]))
def test_a_wrapped_number_has_the_same_low_bits(number: int, bits: int):
    assert (wrapped(number, bits) - number) % 2**bits == 0
    assert -(2 ** (bits - 1)) <= wrapped(number, bits) < 2 ** (bits - 1)


@given(st.floats(width=32))
def test_a_float_is_next_to_itself(number: float):
    assert repr(single(number)) == repr(number)


def test_what_is_beyond_floats_is_infinite():
    assert (single(1e300), single(-1e300)) == (float("inf"), float("-inf"))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (Moment(1), "a date"), (Decimal(1), "a decimal"), (Number("1"), "a value of type int64")],
)
def test_a_sentence_says_what_a_value_is_and_not_the_value(value: Any, text: str):
    assert described(value) == text
