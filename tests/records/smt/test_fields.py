"""ExtractField, HoistField, MaskField and ValueToKey."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.records.smt.records import (
    BOOLEAN,
    FLOAT32,
    INT8,
    INT32,
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

from frazil.records.connect.data import DATE, DECIMAL, Moment, Number, Schema, SchemaAndValue, Type

EXTRACT, HOIST, MASK, TO_KEY = "ExtractField$Value", "HoistField$Value", "MaskField$Value", "ValueToKey"
DECIMAL_SCHEMA = Schema(Type.BYTES, name=DECIMAL, version=1, parameters={"scale": "2"})
DATE_SCHEMA = Schema(Type.INT32, name=DATE, version=1)


def test_a_field_takes_the_place_of_the_value():
    assert valued(EXTRACT, plain({"a": {"b": 1}}), {"field": "a"}) == plain({"b": 1})
    assert valued(EXTRACT, struct(a=(INT32, 1)), {"field": "a"}) == SchemaAndValue(INT32, 1)


def test_a_field_is_found_by_a_path():
    inner = struct(**{"b.c": (INT32, 1)})
    options = {"field": "a.`b.c`", "field.syntax.version": "V2"}

    assert valued(EXTRACT, plain({"a": {"b.c": 1}}), options) == plain(1)
    assert valued(EXTRACT, struct(a=(inner.schema, inner.value)), options) == SchemaAndValue(INT32, 1)


def test_a_field_that_is_not_there_is_null_without_a_schema_and_refused_with_one():
    assert valued(EXTRACT, plain({}), {"field": "a"}) == NOTHING
    assert refused(EXTRACT, record(struct(b=(INT32, 1))), {"field": "a"}) == "the transform it: there is no field 'a'"


def test_the_default_of_a_field_stands_for_null_unless_it_is_told_not_to():
    schema = Schema(Type.INT32, optional=True, default=7)
    options = {"field": "a", "replace.null.with.default": "false"}

    assert valued(EXTRACT, struct(a=(schema, None)), {"field": "a"}).value == 7
    assert valued(EXTRACT, struct(a=(schema, None)), options).value is None


def test_null_stays_null_and_gets_the_schema_of_the_field():
    schema = struct_schema(a=INT32).as_optional()

    assert valued(EXTRACT, NOTHING, {"field": "a"}) == NOTHING
    assert valued(EXTRACT, SchemaAndValue(schema, None), {"field": "a"}) == SchemaAndValue(INT32, None)


def test_a_value_is_wrapped_with_its_schema_or_without():
    assert valued(HOIST, plain("x"), {"field": "line"}) == plain({"line": "x"})
    assert valued(HOIST, SchemaAndValue(STRING, "x"), {"field": "line"}) == struct(line=(STRING, "x"))


def test_a_tombstone_is_wrapped_too():
    assert valued(HOIST, NOTHING, {"field": "line"}) == plain({"line": None})
    assert "is required, and null" in refused(HOIST, record(SchemaAndValue(STRING, None)), {"field": "line"})


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (Number("12"), 0),
        (Number("1.5"), 0.0),
        ("secret", ""),
        (True, False),
        ([1], []),
        ({"a": 1}, {}),
        (None, None),
        (Moment(5), Moment(0)),
        (Decimal("1.50"), Decimal(0)),
    ],
)
def test_a_masked_field_is_nothing_of_its_type(value: Any, masked: Any):
    done = valued(MASK, plain({"a": value, "b": value}), {"fields": "a"}).value

    assert done == {"a": masked, "b": value}
    assert type(done["a"]) is type(masked)


@pytest.mark.parametrize(
    ("schema", "value", "masked"),
    [
        (INT8, 5, 12),
        (FLOAT32, 5.0, 12.699999809265137),
        (STRING, "x", "12.7"),
        (DECIMAL_SCHEMA, Decimal("1.50"), Decimal("12.7")),
    ],
)
def test_a_masked_field_may_get_a_replacement(schema: Schema, value: Any, masked: Any):
    done = valued(MASK, struct(a=(schema, value)), {"fields": "a", "replacement": "12.7"})

    assert done == struct(a=(schema, masked))


@pytest.mark.parametrize(
    ("schema", "value"), [(BOOLEAN, True), (DATE_SCHEMA, Moment(0)), (Schema(Type.ARRAY, value=INT32), [1])]
)
def test_what_takes_no_replacement_is_refused(schema: Schema, value: Any):
    assert "cannot be masked by '5'" in refused(
        MASK, record(struct(a=(schema, value))), {"fields": "a", "replacement": "5"}
    )


def test_a_replacement_that_is_no_number_is_refused_where_a_number_is_masked():
    because = refused(MASK, record(plain({"a": Number("1")})), {"fields": "a", "replacement": "x"})

    assert because == "the transform it: a value of type int64 cannot be masked: 'x' is not a number"


def test_fields_that_are_not_there_are_added_as_null_without_a_schema_and_passed_over_with_one():
    assert valued(MASK, plain({}), {"fields": "a"}) == plain({"a": None})
    assert valued(MASK, struct(b=(INT32, 1)), {"fields": "a"}) == struct(b=(INT32, 1))


def test_the_key_is_made_of_fields_of_the_value():
    given = record(plain({"a": 1, "b": 2}))

    done = applied(TO_KEY, given, {"fields": "b,c"})

    assert done is not None
    assert (done.key, done.value) == (plain({"b": 2, "c": None}), given.value)


def test_the_key_of_a_struct_has_a_schema_of_its_own():
    schema = struct_schema(a=INT32, b=STRING)

    done = applied(TO_KEY, record(of_struct(schema, a=1, b="x")), {"fields": "b"})

    assert done is not None
    assert done.key == struct(b=(STRING, "x"))


def test_a_field_that_a_struct_does_not_have_makes_no_key():
    assert "has no field 'c'" in refused(TO_KEY, record(struct(a=(INT32, 1))), {"fields": "c"})


def test_a_tombstone_makes_no_key():
    assert refused(TO_KEY, record(), {"fields": "a"}) == (
        "the transform it: copying fields from value to key without a schema takes maps only, and found null"
    )


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        (EXTRACT, {}, ["field is missing, and has no default value. Write transforms.it.field=<text>."]),
        (
            EXTRACT,
            {"field": "`a", "field.syntax.version": "V2"},
            [
                "field '`a' has a backtick at position 0 without its pair. Write one before the next dot, or a backslash before it if it belongs to the name."
            ],
        ),
        (
            EXTRACT,
            {"field": "a", "field.syntax.version": "V3"},
            ["field.syntax.version 'V3' is neither V1 nor V2. Write one of them."],
        ),
        (
            MASK,
            {"replacement": " ", "replace.null.with.default": ""},
            [
                "fields is missing, and has no default value. Write transforms.it.fields=<names>.",
                "replacement is empty. Write a text, or remove the key.",
                "replace.null.with.default '' is neither true nor false. Write one of them.",
            ],
        ),
        (TO_KEY, {"fields": "a,,b"}, ["fields 'a,,b' has an empty entry. Remove the comma beside it."]),
        (TO_KEY, {"fields": " "}, ["fields is an empty list. Write at least one name."]),
    ],
)
def test_all_that_is_wrong_with_their_options_is_found(kind: str, options: dict[str, str], expected: list[str]):
    assert problems(kind, options) == expected
