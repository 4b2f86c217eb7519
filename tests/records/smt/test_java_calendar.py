"""Dates as Java's calendar counts them."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.records.smt.java_calendar import date_of, day_in_year, day_of

EPOCH = dt.date(1970, 1, 1).toordinal()
FIRST_GREGORIAN = dt.date(1582, 10, 15)


@given(st.dates(min_value=FIRST_GREGORIAN))
def test_since_the_calendars_change_days_are_those_of_python(date: dt.date):
    day = date.toordinal() - EPOCH

    assert date_of(day) == (date.year, date.month, date.day)
    assert day_of(date.year, date.month, date.day) == day


@given(st.integers(-10_000_000, 10_000_000))
def test_every_day_has_one_date(day: int):
    assert day_of(*date_of(day)) == day


@given(st.integers(-10_000_000, 10_000_000))
def test_the_next_day_has_the_next_date(day: int):
    assert date_of(day) < date_of(day + 1)


@given(st.integers(-3000, 3000), st.integers(1, 365))
def test_a_day_of_a_year_is_as_many_days_behind_its_first(year: int, number: int):
    assert day_in_year(year, number) == day_of(year, 1, 1) + number - 1


@pytest.mark.parametrize(
    ("year", "number", "date"), [(1583, -99, (1582, 9, 23)), (1970, 0, (1969, 12, 31)), (1500, 367, (1501, 1, 1))]
)
def test_a_day_beyond_a_year_counts_on(year: int, number: int, date: tuple[int, int, int]):
    assert date_of(day_in_year(year, number)) == date


def test_the_day_before_the_calendars_change_is_the_fourth_of_october():
    day = FIRST_GREGORIAN.toordinal() - EPOCH

    assert date_of(day - 1) == (1582, 10, 4)


@pytest.mark.parametrize(
    ("date", "same"),
    [
        ((2026, 13, 1), (2027, 1, 1)),
        ((2026, 0, 1), (2025, 12, 1)),
        ((2026, 2, 30), (2026, 3, 2)),
        ((1500, 2, 29), (1500, 2, 29)),
    ],
)
def test_what_is_beyond_a_month_or_a_year_counts_on(date: tuple[int, int, int], same: tuple[int, int, int]):
    assert date_of(day_of(*date)) == same
