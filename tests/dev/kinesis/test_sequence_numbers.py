"""Sequence numbers have 56 digits, grow, and say which shard gave them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from frazil.dev.kinesis.numbers import Number, parse

MOMENTS = st.integers(0, 2**48 - 1)
NUMBERS = st.builds(
    Number, MOMENTS, st.integers(0, 2**32 - 1), MOMENTS, st.integers(0, 2**41 - 1), st.integers(0, 2**16 - 1)
)


@given(NUMBERS)
def test_a_number_is_read_as_it_was_written(number: Number) -> None:
    assert parse(str(number)) == number


@given(NUMBERS)
def test_a_number_has_56_digits(number: Number) -> None:
    assert len(str(number)) == 56


@given(NUMBERS, NUMBERS)
def test_numbers_are_in_the_order_of_what_they_say(one: Number, other: Number) -> None:
    assert (int(str(one)) < int(str(other))) == (one < other)


@given(st.integers(0, 10**54))
def test_other_digits_are_no_number(number: int) -> None:
    assert parse(str(number)) is None
