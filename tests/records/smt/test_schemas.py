"""Schemas and structs with the checks of Connect's builders."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.records.smt.records import BOOLEAN, BYTES, FLOAT32, INT32, STRING, struct, struct_schema

from frazil.records.connect.data import DATE, DECIMAL, Moment, Number, Schema, Struct, Type
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import Remembered, require_fit
from frazil.records.smt.schemas import struct as made_struct
from frazil.records.smt.schemas import struct_schema as made

ARRAY = Schema(Type.ARRAY, value=INT32)
MAP = Schema(Type.MAP, key=STRING, value=INT32.as_optional())
INNER = struct_schema(b=INT32)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INT32, 1),
        (FLOAT32, 1.5),
        (BOOLEAN, True),
        (STRING, "x"),
        (BYTES, b"x"),
        (Schema(Type.BYTES, name=DECIMAL), Decimal(1)),
        (Schema(Type.INT32, name=DATE), Moment(0)),
        (ARRAY, [1, 2]),
        (MAP, {"a": None}),
        (MAP, [("a", 1)]),
        (INNER, Struct(INNER, {"b": 1})),
        (INT32.as_optional(), None),
        (struct_schema(b=Schema(Type.INT32, default=1)), Struct(struct_schema(b=Schema(Type.INT32, default=1)), {})),
    ],
)
def test_what_fits_a_schema_is_let_through(schema: Schema, value: Any):
    require_fit(schema, value, "the value")


@pytest.mark.parametrize(
    ("schema", "value", "because"),
    [
        (INT32, None, "the value is required, and null"),
        (INT32, True, "the value is of type int32, and cannot be a value of type boolean"),
        (INT32, "1", "the value is of type int32, and cannot be a value of type string"),
        (STRING, Number("1"), "the value is of type string, and cannot be a value of type int64"),
        (Schema(Type.INT32, name=DATE), 1, f"the value is of type {DATE}, and cannot be a value of type int64"),
        (ARRAY, [1, None], "an element of the value is required, and null"),
        (MAP, {"a": "x"}, "a value of the value is of type int32"),
        (Schema(Type.MAP, key=INT32, value=INT32), {"a": 1}, "a key of the value is of type int32"),
        (INNER, Struct(struct_schema(c=INT32), {"c": 1}), "the value is a struct of another schema"),
        (INNER, Struct(INNER, {}), "the field 'b' of the value is required, and null"),
    ],
)
def test_what_does_not_fit_a_schema_is_refused(schema: Schema, value: Any, because: str):
    with pytest.raises(CannotTransform, match=because):
        require_fit(schema, value, "the value")


@pytest.mark.parametrize(
    ("fields", "because"),
    [([("a", INT32), ("a", STRING)], "the field 'a' twice"), ([("", INT32)], "a field without a name")],
)
def test_a_field_has_a_name_of_its_own(fields: list[tuple[str, Schema]], because: str):
    with pytest.raises(CannotTransform, match=because):
        made(fields)


def test_a_struct_has_the_fields_of_its_schema_and_no_others():
    assert made_struct(INNER, [("b", 1)]) == struct(b=(INT32, 1)).value
    with pytest.raises(CannotTransform, match="the schema has no field 'c'"):
        made_struct(INNER, [("c", 1)])


def test_what_is_made_of_a_schema_is_made_once():
    calls: list[Schema] = []
    remembered = Remembered(lambda schema: calls.append(schema) or schema.as_optional())

    assert [remembered.of(INNER), remembered.of(INNER), remembered.of(ARRAY)] == [
        INNER.as_optional(),
        INNER.as_optional(),
        ARRAY.as_optional(),
    ]
    assert calls == [INNER, ARRAY]


def test_schemas_of_many_records_do_not_pile_up():
    remembered = Remembered(lambda schema: schema)
    for _ in range(1000):
        remembered.of(struct_schema(a=INT32))

    assert len(remembered._known) <= 64
