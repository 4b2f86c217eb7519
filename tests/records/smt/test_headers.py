"""DropHeaders, HeaderFrom and InsertHeader."""

from __future__ import annotations

import pytest
from tests.records.smt.records import (
    INT8,
    INT32,
    STRING,
    applied,
    header,
    plain,
    problems,
    record,
    refused,
    struct,
)

from frazil.records.connect.data import Header, Schema, SchemaAndValue, Type

DROP, INSERT, FROM, FROM_KEY = "DropHeaders", "InsertHeader", "HeaderFrom$Value", "HeaderFrom$Key"


def test_headers_are_dropped_by_their_names_every_one_of_them():
    given = record(headers=(header("a", 1), header("b", 2), header("a", 3), header("A", 4)))

    done = applied(DROP, given, {"headers": "a,c"})

    assert done is not None
    assert done.headers == (header("b", 2), header("A", 4))


def test_a_header_is_added_behind_the_others_with_what_its_literal_says():
    done = applied(INSERT, record(headers=(header("a", 1),)), {"header": "a", "value.literal": "7"})

    assert done is not None
    assert done.headers == (header("a", 1), header("a", 7, INT8))


def test_fields_move_to_headers():
    done = applied(FROM, record(plain({"a": 1, "b": 2})), {"fields": "a,c", "headers": "x,y", "operation": "move"})

    assert done is not None
    assert done.value == plain({"b": 2})
    assert done.headers == (header("x", 1), header("y"))


def test_fields_are_copied_to_headers_with_their_schemas():
    value = struct(a=(INT32, 1), b=(STRING, "x"))

    done = applied(FROM, record(value), {"fields": "b", "headers": "x", "operation": "copy"})

    assert done is not None
    assert done.value == value
    assert done.headers == (header("x", "x", STRING),)


def test_fields_move_out_of_a_key_and_its_schema():
    done = applied(
        FROM_KEY,
        record(key=struct(a=(INT32, 1), b=(STRING, "x"))),
        {"fields": "b", "headers": "x", "operation": "move"},
    )

    assert done is not None
    assert done.key == struct(a=(INT32, 1))
    assert done.headers == (Header("x", SchemaAndValue(STRING, "x")),)


def test_a_default_moves_with_its_field_unless_null_is_to_stay():
    schema = Schema(Type.INT32, optional=True, default=5)
    options = {"fields": "a", "headers": "x", "operation": "copy"}

    with_default = applied(FROM, record(struct(a=(schema, None))), options)
    without = applied(FROM, record(struct(a=(schema, None))), {**options, "replace.null.with.default": "false"})

    assert with_default is not None
    assert without is not None
    assert with_default.headers == (header("x", 5, schema),)
    assert without.headers == (header("x", None, schema),)


def test_a_field_that_a_struct_does_not_have_is_refused():
    options = {"fields": "b", "headers": "x", "operation": "copy"}

    assert "has no field 'b'" in refused(FROM, record(struct(a=(INT32, 1))), options)


def test_a_tombstone_has_no_fields():
    options = {"fields": "b", "headers": "x", "operation": "move"}

    assert refused(FROM, record(), options) == (
        "the transform it: a move to headers without a schema takes maps only, and found null"
    )


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        (DROP, {}, ["headers is missing, and has no default value. Write transforms.it.headers=<names>."]),
        (
            INSERT,
            {},
            [
                "value.literal is missing, and has no default value. Write transforms.it.value.literal=<text>.",
                "header is missing, and has no default value. Write transforms.it.header=<text>.",
            ],
        ),
        (
            INSERT,
            {"header": "a", "value.literal": "[" * 5000},
            ["value.literal is nested too deep. Take out some of its brackets."],
        ),
        (
            FROM,
            {"fields": "a", "headers": "x,y", "operation": "take"},
            [
                "operation 'take' is none of move, copy. Write one of them.",
                "headers has not as many names as fields. Write one header for each field.",
            ],
        ),
    ],
)
def test_all_that_is_wrong_with_their_options_is_found(kind: str, options: dict[str, str], expected: list[str]):
    assert problems(kind, options) == expected
