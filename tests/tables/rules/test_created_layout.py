"""The layout that a created table gets once it has the columns for it."""

from __future__ import annotations

import json

import pytest

from frazil.model import Column, LayoutTransform, Primitive
from frazil.tables.rules.created_layout import missing_columns, wanted_layout

COLUMNS = [Column(1, "ID", Primitive("long")), Column(2, "Name", Primitive("string")), Column(3, "DOC", Primitive("variant"))]  # fmt: skip


def key(column: str, transform: str = "identity", parameter: int = 0, *, quoted: bool = False) -> dict[str, object]:
    return {"column": column, "quoted": quoted, "transform": transform, "parameter": parameter}


def wanted(partition: list[dict[str, object]], order: list[dict[str, object]]) -> object:
    return wanted_layout(json.dumps({"partition": partition, "order": order}), COLUMNS)


def test_keys_mean_columns_as_names_in_sql_do():
    assert wanted([key("id", "bucket", 4)], [key("Name", quoted=True)]) == (
        (("ID", LayoutTransform("bucket", 4)),),
        (("Name", LayoutTransform("identity")),),
    )


@pytest.mark.parametrize("missing", [key("later"), key("NAME", quoted=True)])
def test_nothing_is_laid_out_before_all_columns_are_there(missing: dict[str, object]):
    assert wanted([key("id"), missing], []) is None
    assert wanted([key("id")], [missing]) is None


@pytest.mark.parametrize("never", [key("name", "day"), key("doc"), key("id", "bucket")])
def test_what_can_never_be_written_is_said(never: dict[str, object]):
    assert isinstance(wanted([never], []), str)


@pytest.mark.parametrize("text", ["", "[]", '{"partition": 3}', '{"order": [{}]}'])  # fmt: skip
def test_what_somebody_else_wrote_there_is_no_layout(text: str):
    assert wanted_layout(text, COLUMNS) == "it cannot be read"


def test_the_columns_that_are_missing_are_named_once_each():
    text = json.dumps({"partition": [key("id"), key("later")], "order": [key("later"), key("NAME", quoted=True)]})

    assert missing_columns(text, COLUMNS) == ["later", "NAME"]
    assert missing_columns("[]", COLUMNS) == []
