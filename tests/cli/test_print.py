"""How rows are printed."""

from __future__ import annotations

import csv
import io
import json

import pytest
from pyspark.sql.types import DecimalType, LongType, StringType, StructType, VariantType

from frazil.cli.query.statement import ResultColumn
from frazil.cli.sql import show

TEXT, NUMBER, DECIMAL, VARIANT, STRUCT = (
    ResultColumn(name, kind)
    for name, kind in (
        ("TEXT", StringType()),
        ("NUMBER", LongType()),
        ("DECIMAL", DecimalType(38, 10)),
        ("VARIANT", VariantType()),
        ("STRUCT", StructType()),
    )
)


def test_json_keeps_every_digit(capsys: pytest.CaptureFixture[str]) -> None:
    show([NUMBER, DECIMAL], [["9223372036854775807", "1234567890123456789012345678.0123456789"]], "json")

    printed = capsys.readouterr().out
    assert '"NUMBER": 9223372036854775807' in printed
    assert '"DECIMAL": 1234567890123456789012345678.0123456789' in printed


def test_json_has_objects_also_of_columns_with_the_same_head(capsys: pytest.CaptureFixture[str]) -> None:
    show([TEXT, TEXT, VARIANT], [['"a\\"b"', None, '{"k":[1]}'], ['"c"', '"d"', "null"]], "json")

    assert json.loads(capsys.readouterr().out) == [
        {"TEXT": 'a"b', "TEXT_2": None, "VARIANT": {"k": [1]}},
        {"TEXT": "c", "TEXT_2": "d", "VARIANT": None},
    ]


def test_json_of_no_rows_is_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    show([TEXT], [], "json")

    assert json.loads(capsys.readouterr().out) == []


def test_csv_has_texts_bare_and_variants_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    show([TEXT, VARIANT, VARIANT, STRUCT], [['"a, b"', '"a"', "null", '{"k":1}'], [None, None, "1.50", None]], "csv")

    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [
        ["TEXT", "VARIANT", "VARIANT", "STRUCT"],
        ["a, b", '"a"', "null", '{"k":1}'],
        ["", "", "1.50", ""],
    ]


def test_a_table_shows_what_looks_like_markup_and_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    head = ResultColumn("V:TAGS[0] [red]", StringType())
    show([head], [['"[/nothing] [bold]x"'], ['"a\\u001b[31mb\\u0007"']], "table")

    printed = capsys.readouterr().out
    assert "V:TAGS[0] [red]" in printed
    assert "[/nothing] [bold]x" in printed
    assert "a\\x1b[31mb\\x07" in printed
    assert "\x1b" not in printed
