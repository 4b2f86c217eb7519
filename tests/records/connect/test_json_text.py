"""Values of Connect as JSON texts (spec 4.1)."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.records.connect import moments
from frazil.records.connect.data import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    Field,
    Moment,
    Number,
    Schema,
    SchemaAndValue,
    Struct,
    Type,
)
from frazil.records.connect.json_text import json_text
from frazil.records.connect.unreadable import Unreadable

DAY = 86_400_000
TEXT = Schema(Type.STRING)
INT = Schema(Type.INT32)


def text(value: Any, schema: Schema | None = None) -> str | None:
    return json_text(SchemaAndValue(schema, value))


def struct(**fields: Schema) -> Schema:
    return Schema(Type.STRUCT, fields=tuple(Field(name, schema) for name, schema in fields.items()))


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (Schema(Type.INT8), -128, "-128"),
        (Schema(Type.INT64), 2**63 - 1, "9223372036854775807"),
        (Schema(Type.BOOLEAN), True, "true"),
        (Schema(Type.FLOAT64), 0.1, "0.1"),
        (Schema(Type.FLOAT64), math.nan, '"NaN"'),
        (Schema(Type.FLOAT64), math.inf, '"Inf"'),
        (Schema(Type.FLOAT32), -math.inf, '"-Inf"'),
        (Schema(Type.FLOAT32), float(np.float32(0.1)), "0.1"),
        (TEXT, 'a "b" é', '"a \\"b\\" é"'),
        (Schema(Type.BYTES), b"\x00\xff", '"AP8="'),
        (Schema(Type.BYTES, name=DECIMAL), Decimal("123.45"), "123.45"),
        (Schema(Type.BYTES, name=DECIMAL), Decimal("9" * 38), "9" * 38),
        (Schema(Type.BYTES, name=DECIMAL), Decimal("9" * 39), f'"{"9" * 39}"'),
        (Schema(Type.BYTES, name=DECIMAL), Decimal("0." + "1" * 39), f'"0.{"1" * 39}"'),
        (Schema(Type.INT64, name=TIMESTAMP), Moment(80 * DAY), '"1970-03-22T00:00:00.000Z"'),
        (Schema(Type.INT64, name=TIMESTAMP), Moment(-268 * DAY), '"1969-04-08T00:00:00.000Z"'),
        (Schema(Type.INT64, name=TIMESTAMP), Moment(-1), '"1969-12-31T23:59:59.999Z"'),
        (Schema(Type.INT32, name=DATE), Moment(DAY), '"1970-01-02T00:00:00.000Z"'),
        (Schema(Type.INT32, name=TIME), Moment(36_930_250), '"10:15:30.250"'),
        (Schema(Type.INT64), Moment(7), "7"),
        (Schema(Type.ARRAY, value=INT), [1, 2], "[1,2]"),
        (Schema(Type.MAP, key=TEXT, value=INT), {"a": 1}, '{"a":1}'),
        (Schema(Type.MAP, key=INT, value=INT), [(1, 1)], "[[1,1]]"),
        (Schema(Type.MAP, key=INT, value=TEXT), {1: "b"}, '[[1,"b"]]'),
        (Schema(Type.MAP, key=TEXT.as_optional(), value=INT), [(None, 1)], "[[null,1]]"),
    ],
)
def test_a_value_is_written_by_its_schema(schema: Schema, value: Any, expected: str) -> None:
    assert text(value, schema) == expected


def test_maps_have_pairs_under_other_maps_too() -> None:
    inner = Schema(Type.MAP, key=INT, value=TEXT)
    assert text({"a": {1: "b"}}, Schema(Type.MAP, key=TEXT, value=inner)) == '{"a":[[1,"b"]]}'


def test_a_struct_is_an_object_and_a_field_without_value_its_default_or_null() -> None:
    schema = struct(a=INT, b=Schema(Type.INT32, default=123), c=TEXT.as_optional(), d=struct(e=TEXT))
    value = Struct(schema, {"a": 1, "d": Struct(struct(e=TEXT), {"e": "x"})})

    assert text(value, schema) == '{"a":1,"b":123,"c":null,"d":{"e":"x"}}'


def test_a_required_field_without_value_is_named() -> None:
    schema = struct(a=struct(b=INT))
    with pytest.raises(Unreadable, match=r"in field 'a\.b' no value"):
        text(Struct(schema, {"a": Struct(struct(b=INT), {})}), schema)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INT, "1"),
        (INT, True),
        (TEXT, 1),
        (Schema(Type.BOOLEAN), 1),
        (Schema(Type.FLOAT64), False),
        (Schema(Type.BYTES), "a"),
        (Schema(Type.BYTES, name=DECIMAL), b"\x01"),
        (Schema(Type.INT32, name=DATE), 1),
        (Schema(Type.ARRAY, value=INT), 1),
        (Schema(Type.MAP, key=TEXT, value=INT), 1),
        (struct(a=INT), {"a": 1}),
        (INT, None),
        (TEXT, "\ud800"),
    ],
)
def test_a_value_that_does_not_fit_its_schema_is_refused(schema: Schema, value: Any) -> None:
    with pytest.raises(Unreadable):
        text(value, schema)


def test_null_is_no_text() -> None:
    assert text(None) is None
    assert text(None, INT.as_optional()) is None
    assert text(None, Schema(Type.INT32, optional=True, default=3)) == "3"


def test_numbers_without_a_schema_keep_their_digits() -> None:
    value = {"a": Number("1.000000000000000000000000000001"), "b": [Number("18446744073709551616")]}
    assert text(value) == '{"a":1.000000000000000000000000000001,"b":[18446744073709551616]}'


def test_values_that_transforms_put_where_there_is_no_schema_are_written() -> None:
    value = {"t": Moment(0), "b": b"\x01", "d": Decimal("1.50"), "s": Struct(struct(a=INT), {"a": 1}), "f": math.nan}
    assert text(value) == '{"t":"1970-01-01T00:00:00.000Z","b":"AQ==","d":1.50,"s":{"a":1},"f":"NaN"}'


def test_a_map_without_a_schema_whose_keys_are_no_texts_is_pairs() -> None:
    assert text({1: {True: 2}}) == "[[1,[[true,2]]]]"


def test_a_schema_may_be_in_itself() -> None:
    node = struct(value=INT)
    object.__setattr__(node, "fields", (*node.fields, Field("next", Schema(Type.ARRAY, value=node))))
    leaf = Struct(node, {"value": 2, "next": []})

    assert text(Struct(node, {"value": 1, "next": [leaf]}), node) == '{"value":1,"next":[{"value":2,"next":[]}]}'


def test_what_is_nested_too_deep_is_refused() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(Unreadable, match="too deep"):
        text(value)


@given(st.datetimes())
def test_timestamps_are_those_of_python_where_it_has_them(moment: dt.datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=dt.UTC)
    millis = (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
    assert moments.timestamp(millis) == moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_timestamps_beyond_the_years_of_python_have_a_sign() -> None:
    assert moments.timestamp(253_402_300_800_000) == "+10000-01-01T00:00:00.000Z"
    assert moments.timestamp(-62_198_755_200_000) == "-0001-01-01T00:00:00.000Z"


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_32_bit_numbers_are_read_back_as_they_were(value: float) -> None:
    found = json.loads(text(value, Schema(Type.FLOAT32)) or "")
    assert np.float32(found) == np.float32(value)
