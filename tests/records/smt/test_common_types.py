"""What elements of arrays and entries of maps have in common."""

from __future__ import annotations

from typing import Any

import pytest
from tests.records.smt.records import BOOLEAN, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, STRING

from frazil.records.connect.data import Moment, Schema
from frazil.records.smt.common_types import Common, NothingInCommon, TypedMap, aligned
from frazil.records.smt.kinds import Float32, Int8, Int16
from frazil.records.smt.schemas import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA


@pytest.mark.parametrize(
    ("schemas", "common"),
    [
        ([], None),
        ([None, None], None),
        ([INT8, None, INT32, INT16], INT32),
        ([FLOAT64, INT64, FLOAT32], FLOAT64),
        ([STRING, STRING], STRING),
        ([STRING, INT8, STRING], None),
        ([BOOLEAN, INT8], None),
        ([DATE_SCHEMA, INT32], INT32),
        ([INT32, DATE_SCHEMA], DATE_SCHEMA),
        ([TIMESTAMP_SCHEMA, INT8], TIMESTAMP_SCHEMA),
    ],
)
def test_numbers_widen_and_of_one_type_the_later_decides(schemas: list[Schema | None], common: Schema | None):
    found = Common()
    for each in schemas:
        found.add(each)

    assert found.schema == common


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INT16, Int8(1), Int16(1)),
        (FLOAT32, 2**24 + 1, Float32(2**24)),
        (FLOAT64, Float32(0.1), 0.10000000149011612),
        (DATE_SCHEMA, Int8(2), Moment(172_800_000)),
        (TIMESTAMP_SCHEMA, Int8(2), Moment(2)),
        (TIME_SCHEMA, Moment(-5), Moment(-5)),
        (STRING, "x", "x"),
    ],
)
def test_a_value_becomes_one_of_the_common_type(schema: Schema, value: Any, expected: Any):
    assert (aligned(schema, value), type(aligned(schema, value))) == (expected, type(expected))


@pytest.mark.parametrize(
    ("schema", "value"), [(INT8, None), (INT32, Moment(0)), (TIME_SCHEMA, -1), (TIME_SCHEMA, 86_400_001)]
)
def test_a_value_that_cannot_become_one_has_nothing_in_common(schema: Schema, value: Any):
    with pytest.raises(NothingInCommon):
        aligned(schema, value)


def test_keys_of_different_types_are_different():
    entries = TypedMap()
    for key, value in ((Int8(1), "a"), (Int16(1), "b"), (Int8(1), "c"), ([1], "d"), ([1], "e"), ({"x": 1}, "f")):
        entries.put(key, value)

    assert entries.content() == [(1, "c"), (1, "b"), ([1], "e"), ({"x": 1}, "f")]
