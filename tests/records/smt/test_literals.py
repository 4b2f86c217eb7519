"""What a text stands for, as Connect reads it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.records.connect.data import DECIMAL, Moment, Schema, SchemaAndValue, Type
from frazil.records.smt.literals import literal
from frazil.records.smt.schemas import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA

STRING = Schema(Type.STRING)
INT8, INT16, INT32, INT64 = (Schema(each) for each in (Type.INT8, Type.INT16, Type.INT32, Type.INT64))
FLOAT32, FLOAT64 = Schema(Type.FLOAT32), Schema(Type.FLOAT64)
DAY = 86_400_000


def decimal(scale: int) -> Schema:
    return Schema(Type.BYTES, name=DECIMAL, version=1, parameters={"scale": str(scale)})


def array(value: Schema | None) -> Schema:
    return Schema(Type.ARRAY, value=value)


def map_(key: Schema | None, value: Schema | None) -> Schema:
    return Schema(Type.MAP, key=key, value=value)


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("null", None, None),
        (" null ", None, None),
        ("true", Schema(Type.BOOLEAN), True),
        ("false", Schema(Type.BOOLEAN), False),
        ("127", INT8, 127),
        ("-128", INT8, -128),
        ("+128", INT16, 128),
        ("32768", INT32, 32768),
        ("2147483648", INT64, 2147483648),
        ("-9223372036854775808", INT64, -(2**63)),
        ("9223372036854775808", decimal(0), Decimal(9223372036854775808)),
        ("1.0", INT8, 1),
        ("1e3", INT16, 1000),
        ("0e9", INT8, 0),
        ("-0.0", INT8, 0),
        ("1.5", FLOAT32, 1.5),
        ("0.1", FLOAT32, 0.10000000149011612),
        ("1e39", FLOAT64, 1e39),
        ("1e400", decimal(-400), Decimal("1e400")),
        ("2026-01-02", DATE_SCHEMA, Moment(20_455 * DAY)),
        ("10:15:30.250Z", TIME_SCHEMA, Moment(36_930_250)),
        ("2026-01-02T10:15:30.250Z", TIMESTAMP_SCHEMA, Moment(20_455 * DAY + 36_930_250)),
        (r"10\:15\:30.250Z", TIME_SCHEMA, Moment(36_930_250)),
        ("[]", array(None), []),
        ("[1, 300]", array(INT16), [1, 300]),
        ("[1, 1.5]", array(FLOAT32), [1.0, 1.5]),
        ('["a", "b"]', array(STRING), ["a", "b"]),
        ('["10:15:30.250Z"]', array(TIME_SCHEMA), [Moment(36_930_250)]),
        ('["a", 1]', array(None), ["a", 1]),
        ("[null, null]", array(None), [None, None]),
        ("[1, 2026-01-02]", array(DATE_SCHEMA), [Moment(DAY), Moment(20_455 * DAY)]),
        ("{}", map_(None, None), {}),
        ('{"a": 1, "b": 300}', map_(STRING, INT16), {"a": 1, "b": 300}),
        ('{"a": null}', map_(STRING, None), {"a": None}),
        ("{1: true}", map_(INT8, Schema(Type.BOOLEAN)), [(1, True)]),
        ('{"a": [1], "b": {}}', map_(STRING, None), {"a": [1], "b": {}}),
        ('{"a": {"b": [1]}}', map_(STRING, map_(STRING, array(INT8))), {"a": {"b": [1]}}),
        ('{1: "a", 1: "b"}', map_(INT8, STRING), [(1, "b")]),
        (r'["a\"b"]', array(STRING), [r"a\"b"]),
    ],
)
def test_a_text_stands_for_a_value(text: str, schema: Schema | None, value: Any):
    assert literal(text) == SchemaAndValue(schema, value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "True",
        "NULL",
        '"x"',
        "1x",
        "-",
        "0x10",
        "NaN",
        "[1",
        "[,]",
        "[1 2]",
        "[a]",
        "[1, null]",
        "[5, 10:15:30.250Z, -1]",
        "{1}",
        "{null: 1}",
        "{,}",
        '{"a": 1',
        "true}",
        "2026-01",
        "a:b",
    ],
)
def test_a_text_that_stands_for_nothing_else_is_itself(text: str):
    assert literal(text) == SchemaAndValue(STRING, text)


@pytest.mark.parametrize(("text", "value"), [("1,2", 1), ("[1,]", [1]), ("1:2", 1), ("[1]x", [1]), ("{} {", {})])
def test_what_follows_a_number_or_a_collection_is_ignored_as_in_connect(text: str, value: Any):
    assert literal(text).value == value


def test_blanks_before_a_broken_collection_are_all_that_is_left_as_in_connect():
    assert literal("  [1") == SchemaAndValue(STRING, "  ")


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_is_of_the_smallest_type_that_has_it(number: int):
    found = literal(str(number))

    bits = next(bits for bits in (8, 16, 32, 64) if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1))
    assert found == SchemaAndValue(Schema(Type(f"int{bits}")), number)


@given(st.text())
def test_every_text_stands_for_something(text: str):
    found = literal(text)

    assert found.schema is not None or found.value is None
