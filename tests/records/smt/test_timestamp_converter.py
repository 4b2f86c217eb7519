"""TimestampConverter: moments as texts, numbers and dates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records.smt.records import (
    FLOAT64,
    INT32,
    INT64,
    NOTHING,
    STRING,
    of_struct,
    plain,
    problems,
    record,
    refused,
    struct,
    struct_schema,
    valued,
)

from frazil.records.connect.data import Moment, Number, Schema, SchemaAndValue, Struct, Type
from frazil.records.smt.kinds import Int32
from frazil.records.smt.schemas import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA

CONVERT = "TimestampConverter$Value"
DAY = 86_400_000
MILLIS = 20_000 * DAY + 3_723_004
"""2024-10-04T01:02:03.004Z."""

PATTERN = "yyyy-MM-dd HH:mm:ss.SSS"


@pytest.mark.parametrize(
    ("target", "schema", "expected"),
    [
        ("string", STRING, "2024-10-04 01:02:03.004"),
        ("unix", INT64, MILLIS),
        ("Date", DATE_SCHEMA, Moment(20_000 * DAY)),
        ("Time", TIME_SCHEMA, Moment(3_723_004)),
        ("Timestamp", TIMESTAMP_SCHEMA, Moment(MILLIS)),
    ],
)
def test_every_source_becomes_every_target(target: str, schema: Schema, expected: Any):
    options = {"target.type": target, "format": PATTERN}
    sources = [
        SchemaAndValue(STRING, "2024-10-04 01:02:03.004"),
        SchemaAndValue(INT64, MILLIS),
        SchemaAndValue(TIMESTAMP_SCHEMA, Moment(MILLIS)),
    ]

    assert [valued(CONVERT, each, options) for each in sources] == [SchemaAndValue(schema, expected)] * 3
    assert [valued(CONVERT, plain(each.value), options) for each in sources] == [plain(expected)] * 3


@pytest.mark.parametrize(
    ("precision", "unix", "again"),
    [
        ("seconds", 1_728_003_723, 1_728_003_723_000),
        ("milliseconds", MILLIS, MILLIS),
        ("microseconds", MILLIS * 1000 + 999, MILLIS),
        ("nanoseconds", MILLIS * 1_000_000 + 999_999, MILLIS),
        ("microseconds", -1, 0),
    ],
)
def test_a_number_counts_what_the_precision_says(precision: str, unix: int, again: int):
    options = {"target.type": "Timestamp", "unix.precision": precision}

    assert valued(CONVERT, plain(unix), options) == plain(Moment(again))


@pytest.mark.parametrize(
    ("precision", "millis", "unix"),
    [
        ("seconds", -1, 0),
        ("seconds", 1999, 1),
        ("microseconds", -1, -1000),
        ("nanoseconds", 2**62, 2**63 - 1),
        ("nanoseconds", -(2**62), -(2**63)),
    ],
)
def test_a_number_is_written_as_the_precision_says(precision: str, millis: int, unix: int):
    options = {"target.type": "unix", "unix.precision": precision}

    assert valued(CONVERT, plain(Moment(millis)), options) == plain(unix)


def test_a_field_is_converted_with_its_schema_and_the_others_stay():
    schema = replace(struct_schema(a=INT64.as_optional(), b=STRING), name="Order", optional=True)
    expected = replace(struct_schema(a=STRING.as_optional(), b=STRING), name="Order", optional=True)
    options = {"field": "a", "target.type": "string", "format": "yyyy"}

    assert valued(CONVERT, of_struct(schema, a=0, b="x"), options) == of_struct(expected, a="1970", b="x")
    assert valued(CONVERT, of_struct(schema, b="x"), options) == of_struct(expected, b="x")
    assert valued(CONVERT, SchemaAndValue(schema, None), options) == SchemaAndValue(expected, None)


def test_a_field_without_a_schema_is_converted():
    options = {"field": "a", "target.type": "string", "format": "yyyy"}

    assert valued(CONVERT, plain({"a": Number("0"), "b": 1}), options) == plain({"a": "1970", "b": 1})
    assert valued(CONVERT, plain({"b": 1}), options) == plain({"a": None, "b": 1})


def test_the_default_of_a_struct_is_converted():
    inner = struct_schema(a=INT64)
    schema = replace(inner, optional=True, default=Struct(inner, {"a": 0}))

    done = valued(CONVERT, of_struct(schema, a=1), {"field": "a", "target.type": "Timestamp"})

    assert done.schema is not None
    assert done.schema.default.values == {"a": Moment(0)}


def test_null_stays_null():
    assert valued(CONVERT, NOTHING, {"target.type": "unix"}) == NOTHING
    assert valued(CONVERT, SchemaAndValue(INT64.as_optional(), None), {"target.type": "Date"}) == SchemaAndValue(
        DATE_SCHEMA.as_optional(), None
    )


@pytest.mark.parametrize(
    ("value", "options", "because"),
    [
        (plain("x"), {"target.type": "unix", "format": "yyyy"}, "'x' does not match the format"),
        (plain("2024"), {"target.type": "unix"}, "without the option format"),
        (plain(True), {"target.type": "unix"}, "a value of type boolean is not a timestamp"),
        (plain(1.5), {"target.type": "unix"}, "a value of type float64 is not a timestamp"),
        (plain(Int32(1)), {"target.type": "unix"}, "a value of type int32 is not a timestamp"),
        (SchemaAndValue(INT32, 1), {"target.type": "unix"}, "a value of type int32 is not a timestamp"),
        (struct(a=(FLOAT64, 1.5)), {"field": "a", "target.type": "unix"}, "a value of type float64 is not a timestamp"),
        (SchemaAndValue(STRING, "x"), {"field": "a", "target.type": "unix"}, "takes structs only"),
        (plain("x"), {"field": "a", "target.type": "unix"}, "takes maps only"),
    ],
)
def test_what_is_no_timestamp_is_refused(value: SchemaAndValue, options: dict[str, str], because: str):
    assert because in refused(CONVERT, record(value), options)


@given(st.integers(-(10**14), 10**14))
def test_a_date_and_a_time_make_a_timestamp(millis: int):
    parts = [valued(CONVERT, plain(Moment(millis)), {"target.type": each}).value for each in ("Date", "Time")]

    assert sum(each.millis for each in parts) == millis
    assert parts[0].millis % DAY == 0
    assert 0 <= parts[1].millis < DAY


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["target.type is missing, and has no default value. Write transforms.it.target.type=<text>."]),
        ({"target.type": "string"}, ["format is missing, and texts need one. Write a pattern such as yyyy-MM-dd."]),
        (
            {"target.type": "date", "unix.precision": "days", "format": "yyyy-WW"},
            [
                "target.type 'date' is none of string, unix, Date, Time, Timestamp. Write one of them.",
                "unix.precision 'days' is none of seconds, milliseconds, microseconds, nanoseconds. Write one of them.",
                "format 'yyyy-WW' has the letter W, which is not supported. Use y M L d D H k K h m s S a E X Z, and write other letters between quotes (').",
            ],
        ),
    ],
)
def test_all_that_is_wrong_with_its_options_is_found(options: dict[str, str], expected: list[str]):
    assert problems(CONVERT, options) == expected


def test_a_schema_of_no_type_that_has_fields_is_refused():
    array = Schema(Type.ARRAY, value=INT64)

    assert "takes structs only" in refused(
        CONVERT, record(SchemaAndValue(array, None)), {"field": "a", "target.type": "unix"}
    )
