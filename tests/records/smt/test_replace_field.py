"""ReplaceField: fields left out, and fields with new names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.records.smt.records import INT32, NOTHING, STRING, of_struct, plain, problems, struct, struct_schema, valued

from frazil.records.connect.data import Schema, Type

REPLACE = "ReplaceField$Value"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"include": "a,b"}, {"a": 1, "b": 2}),
        ({"exclude": "a"}, {"b": 2, "c": 3}),
        ({"include": "a,b", "exclude": "b"}, {"a": 1}),
        ({"renames": "a:x,c:y"}, {"x": 1, "b": 2, "y": 3}),
        ({"include": "a", "renames": "a:x,b:y"}, {"x": 1}),
        ({"include": ""}, {"a": 1, "b": 2, "c": 3}),
        ({}, {"a": 1, "b": 2, "c": 3}),
    ],
)
def test_fields_are_left_out_and_renamed(options: dict[str, str], expected: dict[str, int]):
    schema = struct_schema(a=INT32, b=INT32, c=INT32)

    assert valued(REPLACE, plain({"a": 1, "b": 2, "c": 3}), options) == plain(expected)
    assert valued(REPLACE, of_struct(schema, a=1, b=2, c=3), options) == struct(
        **{name: (INT32, value) for name, value in expected.items()}
    )


def test_the_schema_keeps_its_name_and_is_required():
    schema = replace(struct_schema(a=INT32, b=STRING), name="Order", optional=True)

    done = valued(REPLACE, of_struct(schema, a=1, b="x"), {"exclude": "b"})

    assert done.schema == replace(struct_schema(a=INT32), name="Order")


def test_a_default_stands_for_null_unless_null_is_to_stay():
    schema = struct_schema(a=Schema(Type.INT32, optional=True, default=5))

    assert valued(REPLACE, of_struct(schema), {"renames": "a:b"}).value.values == {"b": 5}
    assert (
        valued(REPLACE, of_struct(schema), {"renames": "a:b", "replace.null.with.default": "false"}).value.values == {}
    )


def test_null_stays_null():
    assert valued(REPLACE, NOTHING, {"exclude": "a"}) == NOTHING


def test_all_that_is_wrong_with_its_options_is_found():
    found = problems(REPLACE, {"renames": "a,b:c:d,e:f"})

    assert found == [
        "renames 'a' is no rename mapping. Write <old name>:<new name>.",
        "renames 'b:c:d' is no rename mapping. Write <old name>:<new name>.",
    ]
