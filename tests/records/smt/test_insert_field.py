"""InsertField: where a record comes from, as fields."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.records.smt.records import (
    INT32,
    INT64,
    NOTHING,
    STRING,
    WRITTEN,
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

from frazil.records.connect.data import Moment, Schema, Type
from frazil.records.smt.kinds import Int32
from frazil.records.smt.schemas import TIMESTAMP_SCHEMA

INSERT = "InsertField$Value"
ALL = {
    "topic.field": "t",
    "partition.field": "p",
    "offset.field": "o!",
    "timestamp.field": "ts?",
    "static.field": "s",
    "static.value": "x",
}


def test_all_there_is_to_insert_is_inserted_into_a_map():
    done = valued(INSERT, plain({"a": 1}), ALL)

    assert done == plain({"a": 1, "t": "orders", "p": 3, "o": 42, "ts": WRITTEN, "s": "x"})
    assert type(done.value["p"]) is Int32


def test_all_there_is_to_insert_is_inserted_into_a_struct():
    done = valued(INSERT, struct(a=(INT32, 1)), ALL)

    assert done == struct(
        a=(INT32, 1),
        t=(STRING.as_optional(), "orders"),
        p=(INT32.as_optional(), 3),
        o=(INT64, 42),
        ts=(TIMESTAMP_SCHEMA.as_optional(), Moment(WRITTEN)),
        s=(STRING.as_optional(), "x"),
    )


def test_a_record_without_a_timestamp_gets_none():
    options = {"timestamp.field": "ts"}
    optional = TIMESTAMP_SCHEMA.as_optional()

    without_schema = applied(INSERT, record(plain({}), timestamp=None), options)
    with_schema = applied(INSERT, record(struct(a=(INT32, 1)), timestamp=None), options)

    assert without_schema is not None
    assert with_schema is not None
    assert without_schema.value == plain({})
    assert with_schema.value == struct(a=(INT32, 1), ts=(optional, None))


def test_a_field_of_that_name_is_replaced_without_a_schema_and_refused_with_one():
    assert valued(INSERT, plain({"t": 1}), {"topic.field": "t"}) == plain({"t": "orders"})
    assert "would have the field 't' twice" in refused(INSERT, record(struct(t=(INT32, 1))), {"topic.field": "t"})


def test_a_tombstone_stays_one():
    assert valued(INSERT, NOTHING, ALL) == NOTHING


def test_what_else_the_schema_said_stays():
    schema = replace(struct_schema(a=Schema(Type.INT32, default=5)), name="Order", version=2)

    done = valued(INSERT, of_struct(schema), {"topic.field": "t!"})

    expected = replace(struct_schema(a=Schema(Type.INT32, default=5), t=STRING), name="Order", version=2)
    assert done == of_struct(expected, a=5, t="orders")


def test_what_is_no_map_is_refused():
    assert "takes maps only" in refused(INSERT, record(plain(["a"])), ALL)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {},
            [
                "type inserts no field. Write one of topic.field, partition.field, offset.field, timestamp.field, static.field."
            ],
        ),
        (
            {"static.field": "a", "replace.null.with.default": "x"},
            [
                "replace.null.with.default 'x' is neither true nor false. Write one of them.",
                "static.value is missing beside static.field. Write the text to insert.",
            ],
        ),
    ],
)
def test_all_that_is_wrong_with_its_options_is_found(options: dict[str, str], expected: list[str]):
    assert problems(INSERT, options) == expected
