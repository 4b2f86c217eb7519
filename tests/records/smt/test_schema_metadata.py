"""SetSchemaMetadata: names and versions of schemas."""

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
    struct_schema,
    valued,
)

from frazil.records.connect.data import SchemaAndValue, Struct

SET = "SetSchemaMetadata$Value"


@pytest.mark.parametrize(
    ("options", "name", "version"),
    [
        ({"schema.name": "New"}, "New", 1),
        ({"schema.version": "7"}, "Old", 7),
        ({"schema.name": "New", "schema.version": "7"}, "New", 7),
    ],
)
def test_a_schema_gets_a_name_a_version_or_both(options: dict[str, str], name: str, version: int):
    before = replace(struct_schema(a=INT32), name="Old", version=1)
    after = replace(before, name=name, version=version)

    assert valued(SET, of_struct(before, a=1), options) == SchemaAndValue(after, Struct(after, {"a": 1}))


def test_what_is_no_struct_gets_them_too():
    assert valued(SET, SchemaAndValue(STRING, "x"), {"schema.name": "N"}) == SchemaAndValue(
        replace(STRING, name="N"), "x"
    )


def test_what_has_no_schema_is_refused_unless_it_is_null():
    assert "needs a schema" in refused(SET, record(plain("x")), {"schema.name": "N"})
    assert valued(SET, NOTHING, {"schema.name": "N"}) == NOTHING


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["type sets neither a name nor a version. Write schema.name or schema.version."]),
        ({"schema.version": "1.5"}, ["schema.version '1.5' is not an integer of 32 bits. Write digits only."]),
    ],
)
def test_all_that_is_wrong_with_its_options_is_found(options: dict[str, str], expected: list[str]):
    assert problems(SET, options) == expected
