"""What Java makes of texts."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.records.smt.java_text import decimal, floating, integer, split, text_of_float, truncated
from frazil.records.smt.kinds import Float32, single


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("a:b", ["a", "b"]), ("a:", ["a"]), (":a", ["", "a"]), ("a::", ["a"]), ("", [""]), (":", []), ("a", ["a"])],
)
def test_empty_pieces_at_the_end_of_a_text_are_left_out(text: str, pieces: list[str]):
    assert split(text, ":") == pieces


@pytest.mark.parametrize(
    ("text", "bits", "number"), [("-128", 8, -128), ("+007", 8, 7), ("\u0663", 16, 3), ("32767", 16, 32767)]
)
def test_an_integer_is_read(text: str, bits: int, number: int):
    assert integer(text, bits) == number


@pytest.mark.parametrize("text", ["", "+", "1.0", " 1", "1_000", "128", "0x1"])
def test_what_is_no_integer_is_refused(text: str):
    with pytest.raises(ValueError, match=r"is not an integer|more than 8 bits"):
        integer(text, 8)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.5", 1.5),
        ("\x00 1. \t", 1.0),
        (".5e1D", 5.0),
        ("-Infinity", float("-inf")),
        ("1e400", float("inf")),
        ("0x.8p1", 1.0),
        ("-0X1p9999", float("-inf")),
    ],
)
def test_a_double_is_read(text: str, number: float):
    assert floating(text, 64) == number


@pytest.mark.parametrize("text", ["", ".", "infinity", "nan", "1_0", "0x1", "1e", "1.5 f", "\u0663"])
def test_what_is_no_double_is_refused(text: str):
    with pytest.raises(ValueError, match="is not a number"):
        floating(text, 64)


def test_a_float_is_rounded_once():
    # Between two floats, a hair above the middle: as a double it is the middle, and would be rounded to the even one.
    assert floating("1.00000017881393432617187499", 32) == 1.0000001192092896
    assert floating("1.00000017881393432617187501", 32) == 1.000000238418579
    assert floating("340282356779733661637539395458142568447", 32) == 3.4028234663852886e38
    assert floating("340282356779733661637539395458142568448", 32) == float("inf")


@pytest.mark.parametrize(
    ("text", "number"), [("1.50", Decimal("1.50")), ("+.5e-3", Decimal("0.0005")), ("1.E+2", Decimal("1E+2"))]
)
def test_a_decimal_is_read(text: str, number: Decimal):
    assert decimal(text).as_tuple() == number.as_tuple()


@pytest.mark.parametrize("text", ["", "NaN", "1e99999999999", "1e2147483648", " 1", "1f"])
def test_what_is_no_decimal_is_refused(text: str):
    with pytest.raises(ValueError, match=r"is not a number|beyond 32 bits"):
        decimal(text)


@pytest.mark.parametrize(
    ("number", "whole"),
    [("-12.9", -12), ("0.9", 0), ("1e30", 10**30 % 2**64 - 2**64), ("1e99", 0), ("9223372036854775808", -(2**63))],
)
def test_of_a_decimal_the_whole_part_counts_and_of_that_64_bits(number: str, whole: int):
    assert (truncated(Decimal(number)) - whole) % 2**64 == 0
    assert -(2**63) <= truncated(Decimal(number)) < 2**63


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (1.5e300, "1.5E300"),
        (-0.0, "-0.0"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (Float32(0.1), "0.1"),
        (Float32(16777216.0), "1.6777216E7"),
    ],
)
def test_a_number_is_written_as_java_does(number: float, text: str):
    assert text_of_float(number) == text


@given(st.floats(allow_nan=False))
def test_a_double_is_read_as_it_was_written(number: float):
    assert repr(floating(text_of_float(number), 64)) == repr(number)


@given(st.floats(width=32, allow_nan=False))
def test_a_float_is_read_as_it_was_written(number: float):
    assert repr(floating(text_of_float(Float32(number)), 32)) == repr(single(number))
