"""Flatten: leaves named by the way to them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.records.smt.records import (
    INT32,
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

from frazil.records.connect.data import Moment, Schema, SchemaAndValue, Struct, Type

FLATTEN = "Flatten$Value"
ARRAY = Schema(Type.ARRAY, value=INT32)


def test_nested_maps_become_one():
    given = {"a": {"b": {"c": 1}, "d": None}, "e": [{"f": 2}], "g": {}}

    assert valued(FLATTEN, plain(given)) == plain({"a.b.c": 1, "a.d": None, "e": [{"f": 2}]})


def test_names_are_joined_by_the_delimiter():
    assert valued(FLATTEN, plain({"a": {"b": 1}}), {"delimiter": "_"}) == plain({"a_b": 1})
    assert valued(FLATTEN, plain({"a": {"b": 1}}), {"delimiter": ""}) == plain({"ab": 1})


def test_nested_structs_become_one_that_keeps_the_name_of_the_outer():
    inner = struct(b=(INT32, 1), c=(ARRAY, [1, 2]))
    schema = replace(struct_schema(a=inner.schema, d=STRING), name="Order", version=2)

    done = valued(FLATTEN, of_struct(schema, a=inner.value, d="x"))

    expected = replace(struct_schema(**{"a.b": INT32, "a.c": ARRAY, "d": STRING}), name="Order", version=2)
    assert done == of_struct(expected, **{"a.b": 1, "a.c": [1, 2], "d": "x"})


def test_a_field_of_what_may_be_null_may_be_null():
    inner = struct_schema(b=INT32)
    schema = struct_schema(a=inner.as_optional())

    assert valued(FLATTEN, of_struct(schema)) == struct(**{"a.b": (INT32.as_optional(), None)})


def test_the_default_of_a_struct_becomes_that_of_its_fields():
    inner = struct_schema(b=INT32)
    schema = struct_schema(a=replace(inner, optional=True, default=Struct(inner, {"b": 5})))

    done = valued(FLATTEN, of_struct(schema))

    assert done.schema == struct_schema(**{"a.b": Schema(Type.INT32, optional=True, default=5)})


def test_null_stays_null():
    optional = struct_schema(a=INT32).as_optional()

    assert valued(FLATTEN, NOTHING) == NOTHING
    assert valued(FLATTEN, SchemaAndValue(optional, None)) == SchemaAndValue(optional, None)


def test_two_ways_to_one_name_are_refused():
    inner = struct(b=(INT32, 1))
    given = struct(a=(inner.schema, inner.value), **{"a.b": (INT32, 2)})

    assert "would have the field 'a.b' twice" in refused(FLATTEN, record(given))


@pytest.mark.parametrize(
    ("value", "because"),
    [
        (plain("x"), "takes maps only, and found a value of type string"),
        (plain({"a": Moment(0)}), "a date, which is at 'a', cannot be flattened"),
        (SchemaAndValue(STRING, "x"), "takes structs only, and found a value of type string"),
        (struct(a=(Schema(Type.MAP, key=STRING, value=INT32), {"b": 1})), "a map with a schema, which is at 'a'"),
    ],
)
def test_what_cannot_be_flattened_is_refused(value: SchemaAndValue, because: str):
    assert because in refused(FLATTEN, record(value))


def test_it_needs_no_options():
    assert problems(FLATTEN) == []
