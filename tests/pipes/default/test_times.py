"""Dates and times: the forms each type takes, what it makes of them, and what it refuses (spec 4.3)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from .chunks import REJECTED, column, fates
from .conftest import MakeTable


def utc(*fields: int) -> dt.datetime:
    return dt.datetime(*fields, tzinfo=dt.UTC)  # type: ignore[misc,arg-type]


def local(*fields: int) -> dt.datetime:
    return dt.datetime(*fields)  # type: ignore[misc,arg-type]  # noqa: DTZ001 (the column has no zone)


def quoted(values: Mapping[str, Any]) -> dict[str, Any]:
    """The texts as JSON strings."""
    return {f'"{text}"': found for text, found in values.items()}


DATES = {
    "2024-02-29": dt.date(2024, 2, 29),
    " 2024-02-29\\n": dt.date(2024, 2, 29),
    "0001-01-01": dt.date(1, 1, 1),
    "9999-12-31": dt.date(9999, 12, 31),
    # The time is dropped, the offset ignored.
    "2024-01-01T23:59": dt.date(2024, 1, 1),
    "2024-01-01T23:59:59.999999999": dt.date(2024, 1, 1),
    "2024-01-01T23:59:59-18:00": dt.date(2024, 1, 1),
    "2024-01-01t00:00:00z": dt.date(2024, 1, 1),
    "2024-01-01T00:00:00+02:00[Europe/Paris]": dt.date(2024, 1, 1),
    "9999-12-31T23:59:59-01:00": dt.date(9999, 12, 31),
    "0": dt.date(1970, 1, 1),
    "-1": dt.date(1969, 12, 31),
    "1704067200": dt.date(2024, 1, 1),
    "1704067200000": dt.date(2024, 1, 1),
    "1704067200000000": dt.date(2024, 1, 1),
    "1704067200000000000": dt.date(2024, 1, 1),
}
NO_DATES = [
    *("2023-02-29", "2024-1-1", "24-01-01", "2024-01-01Z", "2024-01-01T", "2024-01-01T24:00:00", "2024-01-01 00:00:00"),
    *("0000-01-01", "10000-01-01", "+10000-01-01", "-0044-03-15", "20240101T000000", "2024-W01-1", "2024-001"),
    *("20:57:01", "1.0", "1.5", "", " ", "infinity", "today", "٢٠٢٤-01-01", "2024-01-01T00:00:00[Europe/Paris]"),
    *("2024-01-01T00:00:00+01:00[Europe/Atlantis]", "2024-01-01T00:00:00Z[]", "2024-01-01T00:00:00Z[../zone]"),
]

TIMES = {
    "13:45": dt.time(13, 45),
    "13:45:30": dt.time(13, 45, 30),
    " 13:45:30.5 ": dt.time(13, 45, 30, 500_000),
    "23:59:59.999999": dt.time(23, 59, 59, 999_999),
    "00:00:00.123456000": dt.time(0, 0, 0, 123_456),
    # The offset is stripped.
    "13:45:30+05:00": dt.time(13, 45, 30),
    "13:45Z": dt.time(13, 45),
    "13:45:30.25-11:30": dt.time(13, 45, 30, 250_000),
    "0": dt.time(0),
    "-1": dt.time(23, 59, 59),
    "49530": dt.time(13, 45, 30),
    "1704116730123": dt.time(13, 45, 30, 123_000),
}
NO_TIMES = [
    *(
        "24:00:00",
        "13:60",
        "13:45:60",
        "1:45",
        "13:",
        "13:45:",
        "13:45:30.",
        "13:45:30.1234567890",
        "-13:45",
        "134530Z",
    ),
    *(
        "2024-01-01",
        "2024-01-01T13:45:30",
        "1.5",
        "",
        "13:45:30+25:00",
        "13:45:30+5",
        "13:45:30[UTC]",
        "1:45 pm",
        "noon",
    ),
    "13:45:30.1234567",
]

MOMENTS = {
    "2024-01-01T00:00:00": (local(2024, 1, 1), utc(2024, 1, 1)),
    "2024-01-01T00:00": (local(2024, 1, 1), utc(2024, 1, 1)),
    "2024-01-01t12:30:00.5": (local(2024, 1, 1, 12, 30, 0, 500_000), utc(2024, 1, 1, 12, 30, 0, 500_000)),
    "2024-01-01": (local(2024, 1, 1), utc(2024, 1, 1)),
    " 2024-01-01T00:00:00Z ": (local(2024, 1, 1), utc(2024, 1, 1)),
    "2024-01-01T00:00:00.123456000z": (local(2024, 1, 1, 0, 0, 0, 123_456), utc(2024, 1, 1, 0, 0, 0, 123_456)),
    "1969-12-31T23:59:59.999999Z": (
        local(1969, 12, 31, 23, 59, 59, 999_999),
        utc(1969, 12, 31, 23, 59, 59, 999_999),
    ),
    # A column without a zone keeps the fields as they are written.
    "2024-01-01T00:00:00+05:30": (local(2024, 1, 1), utc(2023, 12, 31, 18, 30)),
    "2024-01-01T00:00:00-00:00": (local(2024, 1, 1), utc(2024, 1, 1)),
    "2024-01-01T00:00:00-23:59": (local(2024, 1, 1), utc(2024, 1, 1, 23, 59)),
    "2024-01-01T00:00:00+05:00:30": (local(2024, 1, 1), utc(2023, 12, 31, 18, 59, 30)),
    "2024-01-01T00:00:00+01:00[Europe/Paris]": (local(2024, 1, 1), utc(2023, 12, 31, 23)),
    # As in Java, the offset counts where it is not the zone's.
    "2024-01-01T00:00:00-05:00[Europe/Paris]": (local(2024, 1, 1), utc(2024, 1, 1, 5)),
    "0001-01-01T00:00:00": (local(1, 1, 1), utc(1, 1, 1)),
    "9999-12-31T23:59:59.999999Z": (
        local(9999, 12, 31, 23, 59, 59, 999_999),
        utc(9999, 12, 31, 23, 59, 59, 999_999),
    ),
    "0001-01-01T00:00:00+01:00": (local(1, 1, 1), REJECTED),
    "9999-12-31T23:59:59-01:00": (local(9999, 12, 31, 23, 59, 59), REJECTED),
}
NO_MOMENTS = [
    *("2024-01-01 00:00:00", "2024-01-01_00:00:00", "2024-01-01T", "2024-01-01T24:00:00", "2024-01-01T23:59:60"),
    *("2024-02-30T00:00:00", "2024-1-1T00:00:00", "2024-01-01T0:00:00", "2024-01-01T00", "20240101T000000Z"),
    *("2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+01:75", "2024-01-01T00:00:00+5", "2024-01-01T00:00:00+0530"),
    *("2024-01-01T00:00:00 Z", "2024-01-01T00:00:00 UTC", "2024-01-01T00:00:00[UTC]", "2024-01-01T00:00:00Z[No/Where]"),
    *("2024-01-01Z", "2024-01-01+01:00", "0000-01-01T00:00:00", "10000-01-01T00:00:00", "-0044-03-15T00:00:00"),
    *("20:57:01", "1.5", "1e9", "", "infinity", "epoch", "now", "2024-01-01T00:00:00.1234567", "2024-01-01T00:00:00."),
    "9" * 20,
]

EPOCHS = {
    "0": (1970, 1, 1),
    "-1": (1969, 12, 31, 23, 59, 59),
    "31535999999": (2969, 5, 2, 23, 59, 59),
    "31536000000": (1971, 1, 1),
    "31536000001": (1971, 1, 1, 0, 0, 0, 1_000),
    "-31535999999": (970, 8, 31, 0, 0, 1),
    "-31536000000": (1969, 1, 1),
    "31535999999999": (2969, 5, 2, 23, 59, 59, 999_000),
    "31536000000000": (1971, 1, 1),
    "31536000000001": (1971, 1, 1, 0, 0, 0, 1),
    "-31535999999999": (970, 8, 31, 0, 0, 0, 1_000),
    "-31536000000000": (1969, 1, 1),
    "31535999999999999": (2969, 5, 2, 23, 59, 59, 999_999),
    "31536000000000000": (1971, 1, 1),
    "-31535999999999999": (970, 8, 31, 0, 0, 0, 1),
    "-31536000000000000": (1969, 1, 1),
    "1704067200000000000": (2024, 1, 1),
    "-1704067200000001000": (1916, 1, 1, 23, 59, 59, 999_999),
}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("date", DATES, NO_DATES),
        ("time", TIMES, NO_TIMES),
        ("timestamp", {text: found for text, (found, _) in MOMENTS.items()}, NO_MOMENTS),
        ("timestamptz", {text: found for text, (_, found) in MOMENTS.items()}, NO_MOMENTS),
    ],
)
def test_texts_of_every_form_land_and_no_other(
    make_table: MakeTable, kind: str, good: dict[str, Any], bad: list[str]
) -> None:
    values = quoted({**good, **dict.fromkeys(bad, REJECTED)})

    assert fates(make_table(column("x", kind)), values) == values


@pytest.mark.parametrize("kind", ["date", "time"])
def test_days_and_times_of_day_take_no_numbers(make_table: MakeTable, kind: str) -> None:
    values = dict.fromkeys(["0", "19723", "1704067200000", "-1", "1.5", "true", "[]", "{}"], REJECTED)

    assert fates(make_table(column("x", kind)), values) == values


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_numbers_since_the_epoch_are_of_the_scale_they_have_and_in_utc(
    make_table: MakeTable, kind: str, zone: str
) -> None:
    moment = local if kind == "timestamp" else utc
    numbers = {text: moment(*fields) for text, fields in EPOCHS.items()}
    values = {**numbers, **quoted(numbers), '"+7"': moment(1970, 1, 1, 0, 0, 7)}

    assert fates(make_table(column("x", kind), time_zone=zone), values) == values


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_other_numbers_are_no_moments(make_table: MakeTable, kind: str) -> None:
    values = dict.fromkeys(["1.5", "1e9", "1704067200.0", "9" * 25, "1" + "0" * 5000, "true"], REJECTED)

    assert fates(make_table(column("x", kind)), values) == values


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("time", {"13:45:30.1234565": dt.time(13, 45, 30, 123_457), "23:59:59.9999995": REJECTED}),
        (
            "timestamp",
            {
                "2024-01-01T00:00:00.0000004": local(2024, 1, 1),
                "2024-01-01T00:00:00.000000500": local(2024, 1, 1, 0, 0, 0, 1),
                "2023-12-31T23:59:59.9999995": local(2024, 1, 1),
                "1704067200000000499": local(2024, 1, 1),
                "1704067200000000500": local(2024, 1, 1, 0, 0, 0, 1),
                "9999-12-31T23:59:59.9999995": REJECTED,
            },
        ),
        (
            "timestamptz",
            {
                "2023-12-31T23:59:59.9999995+01:00": utc(2023, 12, 31, 23),
                "-31536000000000001": utc(1969, 1, 1),
                "-31536000000000501": utc(1968, 12, 31, 23, 59, 59, 999_999),
                "9999-12-31T23:59:59.9999995Z": REJECTED,
            },
        ),
    ],
)
def test_nanoseconds_are_rejects_or_rounded_half_up(make_table: MakeTable, kind: str, values: dict[str, Any]) -> None:
    given = quoted(values)

    assert fates(make_table(column("x", kind), numbers="round"), given) == given
    assert fates(make_table(column("x", kind)), given) == dict.fromkeys(given, REJECTED)


LAST_NANOSECOND = 2**63 - 2


@pytest.mark.parametrize("kind", ["timestamp_ns", "timestamptz_ns"])
def test_columns_of_nanoseconds_keep_all_of_them(make_table: MakeTable, kind: str) -> None:
    second = 1_704_067_200_000_000_000
    values = {
        "2024-01-01T00:00:00": second,
        "2024-01-01": second,
        "2024-01-01T00:00:00.000000001": second + 1,
        "2024-01-01T00:00:00.123456789": second + 123_456_789,
        "2024-01-01t00:00:00.1234567z" if kind == "timestamptz_ns" else "2024-01-01t00:00:00.1234567": second
        + 123_456_700,
        "1969-12-31T23:59:59.999999999": -1,
        "1677-09-21T00:12:43.145224194": -LAST_NANOSECOND,
        "2262-04-11T23:47:16.854775806": LAST_NANOSECOND,
        "1677-09-21T00:12:43.145224193": REJECTED,
        "2262-04-11T23:47:16.854775807": REJECTED,
        "0001-01-01T00:00:00": REJECTED,
        "9999-12-31T23:59:59": REJECTED,
        "2024-01-01T00:00:00.1234567891": REJECTED,
        "2024-01-01 00:00:00": REJECTED,
    }
    given = quoted(values)

    assert fates(make_table(column("x", kind)), given) == given
    assert fates(make_table(column("x", kind), numbers="round"), given) == given


@pytest.mark.parametrize("kind", ["timestamp_ns", "timestamptz_ns"])
def test_numbers_for_columns_of_nanoseconds_have_the_scale_they_always_have(make_table: MakeTable, kind: str) -> None:
    values: dict[str, Any] = {
        "0": 0,
        "9223372036": 9_223_372_036_000_000_000,
        "9223372037": REJECTED,
        "1704067200123": 1_704_067_200_123_000_000,
        "1704067200123456": 1_704_067_200_123_456_000,
        "1704067200123456789": 1_704_067_200_123_456_789,
        str(LAST_NANOSECOND): LAST_NANOSECOND,
        str(LAST_NANOSECOND + 1): REJECTED,
        str(-LAST_NANOSECOND): -LAST_NANOSECOND,
        str(-LAST_NANOSECOND - 2): REJECTED,
        "1.5": REJECTED,
        "true": REJECTED,
    }
    given = {**values, **quoted({text: found for text, found in values.items() if text != "true"})}

    assert fates(make_table(column("x", kind)), given) == given


def test_a_moment_of_nanoseconds_is_moved_by_its_offset_or_the_zone(make_table: MakeTable) -> None:
    text = "2024-01-01T00:00:00.123456789"
    second = 1_704_067_200_000_000_000 + 123_456_789
    hour = 3_600_000_000_000
    values = quoted({text: second + 5 * hour, text + "+02:00": second - 2 * hour, text + "Z": second})
    stays = dict.fromkeys(values, second)

    assert fates(make_table(column("x", "timestamptz_ns"), time_zone="America/New_York"), values) == values
    assert fates(make_table(column("x", "timestamp_ns"), time_zone="America/New_York"), stays) == stays


def test_a_day_does_not_mind_nanoseconds(make_table: MakeTable) -> None:
    assert make_table(column("x", "date")).land('{"x": "2024-12-31T23:59:59.999999999"}').rows == [
        dt.date(2024, 12, 31)
    ]


NEW_YORK = {
    "2024-01-01T00:00:00": utc(2024, 1, 1, 5),
    "2024-07-01T00:00:00": utc(2024, 7, 1, 4),
    "2024-01-01": utc(2024, 1, 1, 5),
    # The clocks skipped 02:00 to 03:00: as in Java, as much later as they skipped.
    "2024-03-10T01:59:59.999999": utc(2024, 3, 10, 6, 59, 59, 999_999),
    "2024-03-10T02:00:00": utc(2024, 3, 10, 7),
    "2024-03-10T02:30:00": utc(2024, 3, 10, 7, 30),
    "2024-03-10T03:00:00": utc(2024, 3, 10, 7),
    # They showed 01:00 to 02:00 twice: as in Java, the first of the two.
    "2024-11-03T00:59:59": utc(2024, 11, 3, 4, 59, 59),
    "2024-11-03T01:00:00": utc(2024, 11, 3, 5),
    "2024-11-03T01:30:00": utc(2024, 11, 3, 5, 30),
    "2024-11-03T02:00:00": utc(2024, 11, 3, 7),
    # Before 1883, local mean time.
    "1800-01-01T00:00:00": utc(1800, 1, 1, 4, 56, 2),
    "9999-12-31T18:59:59": utc(9999, 12, 31, 23, 59, 59),
    "9999-12-31T19:00:00": REJECTED,
    "2024-01-01T00:00:00Z": utc(2024, 1, 1),
    "2024-01-01T00:00:00+01:00[Europe/Paris]": utc(2023, 12, 31, 23),
}


def test_texts_without_a_zone_are_in_the_one_the_connector_has(make_table: MakeTable) -> None:
    values = quoted(NEW_YORK)

    assert fates(make_table(column("x", "timestamptz"), time_zone="America/New_York"), values) == values


@pytest.mark.parametrize("kind", ["date", "time", "timestamp"])
def test_columns_without_a_zone_do_not_mind_the_connectors(make_table: MakeTable, kind: str) -> None:
    texts = quoted(dict.fromkeys(["2024-03-10T02:30:00", "2024-03-10", "02:30:00", "1704067200"]))

    there = fates(make_table(column("x", kind), time_zone="America/New_York"), texts)

    assert there == fates(make_table(column("x", kind)), texts)


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "time"])
def test_a_chunk_of_mixed_forms_lands_as_one_of_each(make_table: MakeTable, kind: str) -> None:
    """The fast statement reads one form only: the others must not take their neighbours with them."""
    plain = '"12:30:00"' if kind == "time" else '"2024-01-01T12:30:00"'
    others = ['"45000"', '"12:30"' if kind == "time" else '"2024-01-01T12:30"', '"nonsense"', "null"]

    together = make_table(column("x", kind)).land(*(f'{{"x": {each}}}' for each in [plain, *others, plain] * 3))

    alone = fates(make_table(column("x", kind)), [plain, *others])
    rows = [found for each in [plain, *others, plain] * 3 if (found := alone[each]) != REJECTED]
    assert together.rows == rows
    assert list(together.rejects) == [3, 9, 15]
