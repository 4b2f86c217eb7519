"""Whole records in RECORD_CONTENT: every value lands as it is, or is a reject."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from frazil.model import Column, Conversion, ConverterSpec, SchemaChange, TableName, WriteShape
from frazil.pipes.content import ContentPipe, missing, unsupported

from .chunks import Table, Worker, column, exactly
from .generated import anything
from .test_law import LAW, TIMES

VARIANT = (column("RECORD_CONTENT", "variant"),)
TEXT = (column("RECORD_CONTENT", "string"),)


def content(worker: Worker, *shape: Column, **conversion: Any) -> Table:
    settings_ = Conversion(whole_records=True, **conversion)
    return Table(worker, shape, settings_).through(ContentPipe(shape, settings_))


VALUES = [
    '{"ID": 62, "PSI": 451, "etc": ["…", null]}',
    "[1, [2.5], {}]",
    '"text"',
    '"\\u007fmarked"',
    "7",
    "-0.5e3",
    "12345678901234567890.123456789",
    "null",
    "true",
    ' {"b": 1, "a": 2} ',
    "[" * 501 + "]" * 501,
]


@pytest.mark.parametrize("shape", [VARIANT, TEXT])
def test_any_json_lands(worker: Worker, shape: tuple[Column, ...]) -> None:
    landed = content(worker, *shape).land(*VALUES)

    rows = [exactly(row) if isinstance(row, str) and shape == TEXT else row for row in landed.rows]
    assert rows == [exactly(value) for value in VALUES]


def test_json_text_is_as_it_came(worker: Worker) -> None:
    texts = ['{"a":  1.50, "a": 2}', " [1e2]\n"]

    assert content(worker, *TEXT).land(*texts).rows == texts


REJECTED = ['{"a": 1', "nonsense", "NaN", "[1,]", '{"a": Infinity}', "[" * 502 + "]" * 502, b'"\xff"', "1 2"]


@pytest.mark.parametrize("shape", [VARIANT, TEXT])
def test_what_is_no_json_is_a_reject_and_keeps_no_other_record(worker: Worker, shape: tuple[Column, ...]) -> None:
    landed = content(worker, *shape).land("1", *REJECTED, "2")

    assert sorted(landed.rejects) == [*range(1, len(REJECTED) + 1)]
    assert len(landed.rows) == 2


@pytest.mark.parametrize("value", ['{"a": 1, "a": 2}', '[{"k": 1, "k": 1}]', "1e999", '{"n": ' + "1" * 41 + "}"])
def test_what_a_variant_would_change_is_a_reject(worker: Worker, value: str) -> None:
    landed = content(worker, *VARIANT).land(value, "1")

    assert landed.reasons[0][0] == "RECORD_CONTENT"
    assert landed.rows == [1]


def test_a_tombstone_is_a_row_without_content(worker: Worker) -> None:
    assert content(worker, *VARIANT).land(None, "1").rows == [None, 1]


@pytest.mark.parametrize(("kind", "text"), [("string", "plain {"), ("bytes", "cGxhaW4gew==")])
def test_what_other_converters_make_is_a_text(worker: Worker, kind: str, text: str) -> None:
    landed = content(worker, *VARIANT, value_converter=ConverterSpec(kind)).land("plain {")

    assert landed.rows == [text]


def test_other_columns_have_their_defaults_or_nothing(worker: Worker) -> None:
    shape = (
        column("note", "string", default='"none"'),
        column("record_content", "variant"),
        column("id", "long"),
        column("RECORD_METADATA", "string"),
    )

    ((note, value, number, metadata),) = content(worker, *shape).land('{"id": 1, "note": "x"}').rows

    assert (note, value, number) == ("none", {"id": 1, "note": "x"}, None)
    assert json.loads(metadata)["topic"] == "orders"


@given(st.lists(anything, min_size=1, max_size=6))
@example(["1.10", '{"a":1.10}', '{"a":0.1000000000000000055511151231257827}', "-0", "[-0.0]"])
@settings(LAW, max_examples=100 * TIMES)
def test_every_value_lands_as_it_is_or_is_a_reject(worker: Worker, values: list[str]) -> None:
    landed = content(worker, *VARIANT).land(*values)

    left = [value for number, value in enumerate(values) if number not in landed.rejects]
    assert [_numbers(row) for row in landed.rows] == [_numbers(exactly(value)) for value in left]


def _numbers(value: Any) -> Any:
    """A value with all its numbers as decimals: a VARIANT says whether they are doubles or decimals."""
    match value:
        case dict():
            return {key: _numbers(member) for key, member in value.items()}
        case list():
            return [_numbers(item) for item in value]
        case float():
            return Decimal(repr(value))
        case _:
            return value


def shape_of(*columns: Column) -> WriteShape:
    return WriteShape(TableName(("public",), "T"), "", 0, 0, 0, columns, False, False)


def test_a_table_gets_what_it_lacks() -> None:
    there = shape_of(column("record_content", "variant"), column("other", "long"))

    assert [*missing(there, Conversion()).add] == ["RECORD_METADATA"]
    assert missing(shape_of(*TEXT), Conversion(metadata=None)) == SchemaChange()
    assert {name: str(kind) for name, kind in missing(shape_of(), Conversion(metadata=None)).add.items()} == {
        "RECORD_CONTENT": "variant"
    }
    text = missing(shape_of(), Conversion(metadata=None, nested_type="json")).add
    assert {name: str(kind) for name, kind in text.items()} == {"RECORD_CONTENT": "string"}


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        (VARIANT, None),
        ((*VARIANT, column("id", "long", required=True, default="1")), None),
        ((*VARIANT, column("RECORD_METADATA", "variant", required=True)), None),
        (
            (*VARIANT, column("id", "long", required=True)),
            "its column id must not be NULL, and whole records have no value for it",
        ),
        (
            (column("Record_Content", "long"),),
            "its column Record_Content is of type long, not VARIANT or STRING",
        ),
    ],
)
def test_which_tables_cannot_take_whole_records(shape: tuple[Column, ...], reason: str | None) -> None:
    assert unsupported(shape, Conversion()) == reason
