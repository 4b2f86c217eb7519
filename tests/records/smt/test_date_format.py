"""Patterns of Java's SimpleDateFormat."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.records.smt.date_format import DateFormat, iso

MILLIS = 1_728_003_723_004
"""Friday, 2024-10-04T01:02:03.004Z."""

AFTERNOON = MILLIS + 12 * 3_600_000


@pytest.mark.parametrize(
    ("pattern", "millis", "text"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", MILLIS, "2024-10-04T01:02:03.004Z"),
        ("yy/M/d", MILLIS, "24/10/4"),
        ("yyyyy y yyy", MILLIS, "02024 2024 2024"),
        ("EEE EEEE MMM MMMM", MILLIS, "Fri Friday Oct October"),
        ("D DDDD", MILLIS, "278 0278"),
        ("H k K h a", MILLIS, "1 1 1 1 AM"),
        ("H k K h a", AFTERNOON, "13 13 1 1 PM"),
        ("H k K h a", 0, "0 24 0 12 AM"),
        ("S SS SSSS", MILLIS, "4 04 0004"),
        ("Z X XX XXX", MILLIS, "+0000 Z Z Z"),
        ("'o''clock' ''", MILLIS, "o'clock '"),
        ("yyyy-MM-dd", -62_135_769_600_001, "0001-12-31"),
        ("yyyy-MM-dd", -12_219_292_800_000 - 1, "1582-10-04"),
        ("''''", MILLIS, "''"),
        ("", MILLIS, ""),
    ],
)
def test_a_moment_is_written(pattern: str, millis: int, text: str):
    assert DateFormat.read(pattern).text(millis) == text


@pytest.mark.parametrize(
    ("pattern", "text", "millis"),
    [
        ("yyyy-MM-dd", "1970-01-02 and more", 86_400_000),
        ("yyyy-MM-dd", "1970-01-32", 31 * 86_400_000),
        ("yyyy-MM-dd", "1970-1-2", 86_400_000),
        ("yyyyMMdd", "19700102", 86_400_000),
        ("yyyy-MM-dd'T'HH:mm:ssX", "1970-01-01T01:00:00+01", 0),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "1970-01-01T01:00:00-01:30", 9_000_000),
        ("HH:mm Z", "01:00 +0100", 0),
        ("hh:mm a", "12:30 AM", 1_800_000),
        ("hh:mm a", "01:30 pm", 48_600_000),
        ("d MMM yyyy", "2 jan 1970", 86_400_000),
        ("d MMMM yyyy", "2 January 1970", 86_400_000),
        ("EEEE d M yyyy", "Monday 2 1 1970", 86_400_000),
        ("EEE", "Mon", 4 * 86_400_000),
        ("D yyyy", "32 1970", 31 * 86_400_000),
        ("ss.S", "01.5", 1005),
        ("kk", "24", 0),
    ],
)
def test_a_text_is_read_as_leniently_as_java_reads_it(pattern: str, text: str, millis: int):
    assert DateFormat.read(pattern).millis(text) == millis


def test_a_year_of_two_digits_lies_within_eighty_years_back_and_twenty_ahead():
    this = dt.datetime.now(dt.UTC).year
    for years in (-79, 0, 19):
        read = DateFormat.read("yy-MM-dd").millis(f"{(this + years) % 100:02}-01-01")

        assert dt.datetime.fromtimestamp(read / 1000, dt.UTC).year == this + years


@pytest.mark.parametrize(
    ("pattern", "text", "because"),
    [
        ("yyyy-MM-dd", "1970/01/01", "'-' is missing at position 4"),
        ("yyyy", "x", "a number is missing at position 0"),
        ("yyyyMMdd", "1970", "it ends too early"),
        ("MMM", "Foo", "a name is missing at position 0"),
        ("HH Z", "01 UTX", "the offset of a time zone is missing"),
        ("", "x", "it is empty"),
    ],
)
def test_a_text_that_does_not_match_is_refused(pattern: str, text: str, because: str):
    with pytest.raises(ValueError, match=because):
        DateFormat.read(pattern).millis(text)


@pytest.mark.parametrize(
    ("pattern", "because"),
    [
        ("yyyy'", "has a quote that nothing closes"),
        ("YYYY", "has the letter Y, which is not supported"),
        ("q", "has the letter q, which is not supported"),
        ("XXXX", "has more than three X"),
    ],
)
def test_a_pattern_that_cannot_be_read_is_refused(pattern: str, because: str):
    with pytest.raises(ValueError, match=because):
        DateFormat.read(pattern)


@given(st.integers(-(10**15), 10**15))
def test_what_was_written_is_read_as_the_same_moment_in_years_of_our_era(millis: int):
    pattern = DateFormat.read("yyyy-MM-dd'T'HH:mm:ss.SSSZ")
    if millis >= -62_135_769_600_000:
        assert pattern.millis(pattern.text(millis)) == millis


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "00:00:00.000Z"),
        (86_399_999, "23:59:59.999Z"),
        (86_400_000, "1970-01-02"),
        (86_400_001, "1970-01-02T00:00:00.001Z"),
    ],
)
def test_dates_are_written_as_connect_does(millis: int, text: str):
    assert iso(millis) == text
