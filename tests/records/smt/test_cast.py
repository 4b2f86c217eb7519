"""Cast: fields and whole values of other types."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records.smt.records import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    NOTHING,
    STRING,
    applied,
    of_struct,
    plain,
    problems,
    record,
    refused,
    struct,
    struct_schema,
    valued,
)

from frazil.records.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Moment, Number, Schema, SchemaAndValue, Type
from frazil.records.smt.kinds import Float32, Int8, Int32

CAST = "Cast$Value"
DAY = 86_400_000


def whole(value: SchemaAndValue, to: str) -> SchemaAndValue:
    return valued(CAST, value, {"spec": to})


def test_fields_are_cast_and_the_others_stay():
    done = valued(CAST, plain({"a": "12", "b": "x", "c": Number("1.5")}), {"spec": "a:int8,c:string"})

    assert done == plain({"a": 12, "b": "x", "c": "1.5"})
    assert type(done.value["a"]) is Int8


def test_a_field_that_is_not_there_becomes_null():
    assert valued(CAST, plain({}), {"spec": "a:int8"}) == plain({"a": None})


def test_the_schema_says_the_new_types_and_keeps_what_else_it_said():
    schema = replace(struct_schema(a=STRING.as_optional(), b=INT32), name="Order", version=3, doc="An order.")

    done = valued(CAST, of_struct(schema, a="7", b=1), {"spec": "a:int64"})

    expected = replace(struct_schema(a=INT64.as_optional(), b=INT32), name="Order", version=3, doc="An order.")
    assert done == of_struct(expected, a=7, b=1)


def test_a_default_is_cast_too_and_stands_for_null():
    schema = struct_schema(a=Schema(Type.STRING, default="7"))
    expected = struct_schema(a=Schema(Type.INT64, default=7))

    assert valued(CAST, of_struct(schema), {"spec": "a:int64"}) == of_struct(expected, a=7)


def test_a_default_stays_away_where_null_is_to_stay():
    schema = struct_schema(a=Schema(Type.STRING, optional=True, default="7"))

    done = valued(CAST, of_struct(schema), {"spec": "a:int64", "replace.null.with.default": "false"})

    assert done.value.values == {}


def test_a_whole_value_is_cast():
    assert whole(SchemaAndValue(INT32, 1), "string") == SchemaAndValue(STRING, "1")


def test_null_stays_null():
    assert whole(NOTHING, "int8") == NOTHING


@pytest.mark.parametrize(
    ("schema", "value", "to", "expected"),
    [
        (INT32, 300, "int8", 44),
        (INT64, 2**31, "int32", -(2**31)),
        (FLOAT64, 2.9, "int32", 2),
        (FLOAT64, -2.9, "int64", -2),
        (FLOAT64, 1e10, "int32", 2**31 - 1),
        (FLOAT64, 1e10, "int8", -1),
        (FLOAT64, float("nan"), "int64", 0),
        (FLOAT64, float("-inf"), "int64", -(2**63)),
        (BOOLEAN, True, "int8", 1),
        (BOOLEAN, False, "float32", 0.0),
        (STRING, "+7", "int16", 7),
        (STRING, " 1.5f ", "float64", 1.5),
        (STRING, "0x1p3", "float32", 8.0),
        (STRING, "NaN", "string", "NaN"),
        (STRING, "TRUE", "boolean", True),
        (STRING, "yes", "boolean", False),
        (FLOAT64, 0.5, "boolean", False),
        (FLOAT64, 0.1, "float32", 0.10000000149011612),
        (INT64, 2**53 + 1, "float64", 2.0**53),
        (FLOAT64, 1e7, "string", "1.0E7"),
        (FLOAT64, 0.001, "string", "0.001"),
        (FLOAT64, 0.0001, "string", "1.0E-4"),
        (FLOAT32, 0.10000000149011612, "string", "0.1"),
        (FLOAT64, -0.0, "string", "-0.0"),
        (BOOLEAN, True, "string", "true"),
        (BYTES, b"\x00\xff", "string", "AP8="),
        (Schema(Type.INT32, name=DATE), Moment(2 * DAY), "int32", 2),
        (Schema(Type.INT32, name=TIME), Moment(1500), "int64", 1500),
        (Schema(Type.INT64, name=TIMESTAMP), Moment(-1), "int64", -1),
        (Schema(Type.INT32, name=DATE), Moment(20_000 * DAY), "string", "2024-10-04"),
        (Schema(Type.INT32, name=TIME), Moment(1500), "string", "00:00:01.500Z"),
        (Schema(Type.INT64, name=TIMESTAMP), Moment(20_000 * DAY + 1), "string", "2024-10-04T00:00:00.001Z"),
        (Schema(Type.BYTES, name=DECIMAL), Decimal("-12.9"), "int8", -12),
        (Schema(Type.BYTES, name=DECIMAL), Decimal("12.50"), "string", "12.50"),
    ],
)
def test_values_are_cast_as_java_casts_them(schema: Schema, value: Any, to: str, expected: Any):
    done = whole(SchemaAndValue(schema, value), to)

    assert (done.value, type(done.value)) == (expected, type(expected))
    assert done.schema is not None
    assert done.schema.type == to


@pytest.mark.parametrize(
    ("value", "to", "expected"),
    [
        (Number("12"), "string", "12"),
        (Number("1e2"), "string", "100.0"),
        (Number("9223372036854775808"), "int64", -(2**63)),
        (Number("1.9"), "int32", 1),
        (Float32(0.1), "string", "0.1"),
        (Int32(5), "float64", 5.0),
    ],
)
def test_numbers_without_a_schema_are_longs_and_doubles(value: Any, to: str, expected: Any):
    assert whole(plain(value), to) == plain(expected)


@pytest.mark.parametrize(
    ("value", "to", "because"),
    [
        (SchemaAndValue(STRING, "128"), "int8", "'128' has more than 8 bits"),
        (SchemaAndValue(STRING, " 1"), "int32", "' 1' is not an integer"),
        (SchemaAndValue(STRING, "one"), "float64", "'one' is not a number"),
        (SchemaAndValue(BYTES, b"1"), "int8", "a value of type bytes cannot be cast to int8"),
        (plain([1]), "string", "a value of type array cannot be cast"),
        (plain({}), "string", "a value of type map cannot be cast"),
        (plain(Moment(0)), "string", "a date cannot be cast"),
        (SchemaAndValue(Schema(Type.INT32, name=DATE), Moment(1)), "int32", "a date has a time of day"),
        (SchemaAndValue(Schema(Type.INT32, name=TIME), Moment(-1)), "int32", "a time of day is negative"),
    ],
)
def test_what_cannot_be_cast_is_refused(value: SchemaAndValue, to: str, because: str):
    assert because in refused(CAST, record(value), {"spec": to})


def test_fields_of_what_is_no_map_or_struct_are_refused():
    assert "takes maps only" in refused(CAST, record(plain("a")), {"spec": "a:int8"})
    assert "takes structs only" in refused(CAST, record(SchemaAndValue(STRING, "a")), {"spec": "a:int8"})


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_keeps_its_lowest_bits(number: int):
    for to, bits in (("int8", 8), ("int16", 16), ("int32", 32), ("int64", 64)):
        done = whole(SchemaAndValue(INT64, number), to).value

        assert (done - number) % 2**bits == 0
        assert -(2 ** (bits - 1)) <= done < 2 ** (bits - 1)


@given(st.floats())
def test_a_number_written_as_a_text_is_read_as_itself(number: float):
    text = whole(SchemaAndValue(FLOAT64, number), "string").value

    assert repr(whole(SchemaAndValue(STRING, text), "float64").value) == repr(number)


def test_a_key_is_cast_where_the_key_is_meant():
    done = applied("Cast$Key", record(plain("1"), key=plain("2")), {"spec": "int8"})

    assert done == record(plain("1"), key=plain(Int8(2)))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["spec is missing, and has no default value. Write transforms.it.spec=<names>."]),
        ({"spec": ""}, ["spec is an empty list. Write at least one name."]),
        ({"spec": "a:b:c"}, ["spec 'a:b:c' is no cast. Write <field>:<type>."]),
        ({"spec": "int8,a:int8"}, ["spec has a type for the whole value beside others. Write that type alone."]),
        (
            {"spec": "a:bytes", "replace.null.with.default": "no"},
            [
                "spec 'bytes' is no type that can be cast to. Write one of int8, int16, int32, int64, float32, float64, boolean, string.",
                "replace.null.with.default 'no' is neither true nor false. Write one of them.",
            ],
        ),
    ],
)
def test_all_that_is_wrong_with_its_options_is_found(options: dict[str, str], expected: list[str]):
    assert problems(CAST, options) == expected


def test_a_struct_within_is_none_of_its_fields():
    inner = struct(b=(INT32, 1))
    given = struct(a=(inner.schema, inner.value))

    assert "cannot be cast" in refused(CAST, record(given), {"spec": "a:string"})
