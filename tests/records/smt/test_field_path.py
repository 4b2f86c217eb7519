"""Paths to fields."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records.smt.records import INT32, STRING, plain, record, refused, struct, valued

from frazil.records.connect.data import SchemaAndValue
from frazil.records.smt.field_path import FieldPath
from frazil.records.smt.options import Options


def steps(text: str, version: str = "V2") -> tuple[str, ...]:
    options = Options({"field": text, "field.syntax.version": version})
    path = FieldPath.of(options, "field")
    assert options.problems == []
    return path.steps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("a..b", ("a", "", "b")),
        (".a", ("", "a")),
        ("a.", ("a", "")),
        ("`a.b`.c", ("a.b", "c")),
        ("c.`a.b`", ("c", "a.b")),
        ("`a`b`.c", ("a`b", "c")),
        (r"`a\`.b`", ("a`.b",)),
        ("a`b.c", ("a`b", "c")),
    ],
)
def test_a_path_has_the_names_between_its_dots(text: str, expected: tuple[str, ...]):
    assert steps(text) == expected


@pytest.mark.parametrize("text", ["a.b", "`a.b`", "a.", "`"])
def test_a_name_of_version_1_is_one_name(text: str):
    assert steps(text, "v1") == (text,)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("`a", "has a backtick at position 0 without its pair"),
        ("b.`a.c", "has a backtick at position 2 without its pair"),
        (r"`a\`", "has a backtick at position 0 without its pair"),
        ("", "is an empty path"),
    ],
)
def test_a_path_that_cannot_be_read_is_refused(text: str, because: str):
    options = Options({"field": text, "field.syntax.version": "V2"})

    FieldPath.of(options, "field")

    assert [each.key for each in options.problems] == ["field"]
    assert because in options.problems[0].text


@given(st.lists(st.text("abc", min_size=1), min_size=1))
def test_names_joined_by_dots_are_those_names(names: list[str]):
    assert steps(".".join(names)) == tuple(names)


@given(st.text("ab. ", min_size=1).filter(lambda text: text.strip() == text))
def test_a_name_in_backticks_is_itself(name: str):
    assert steps(f"`{name}`") == (name,)


INNER = struct(b=(INT32, 1))


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        (plain({"a": {"b": 1}}), "a.b", 1),
        (plain({"a": {}}), "a.b", None),
        (plain({"a": None}), "a.b.c", None),
        (struct(a=(INNER.schema, INNER.value)), "a.b", 1),
        (struct(a=(INNER.schema.as_optional(), None)), "a.b", None),
    ],
)
def test_what_is_at_a_path_is_found(value: SchemaAndValue, path: str, expected: Any):
    assert valued("ExtractField$Value", value, {"field": path, "field.syntax.version": "V2"}).value == expected


@pytest.mark.parametrize(
    ("value", "because"),
    [
        (plain({"a": 1}), "access to a nested field without a schema takes maps only, and found a value of type int64"),
        (struct(a=(STRING, "x")), "only structs have fields, and 'b' is looked for in a value of type string"),
    ],
)
def test_a_path_through_what_has_no_fields_is_refused(value: SchemaAndValue, because: str):
    options = {"field": "a.b", "field.syntax.version": "V2"}

    assert because in refused("ExtractField$Value", record(value), options)
