"""How rows are written."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from rich.console import Console
from tests.cli.answers import answer

from frazil.cli.printing.documents import write_json, write_json_lines
from frazil.cli.printing.parquet import write_parquet
from frazil.cli.printing.sheet import write_csv
from frazil.cli.printing.table import WIDE, Room, print_table
from frazil.cli.visible import visible
from frazil.queries.answer import Answer

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "number": st.none() | st.integers(-(2**63), 2**63 - 1),
            "text": st.none() | st.text(),
            "exact": st.none() | st.decimals(-(10**20), 10**20, places=10),
            "float": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "flag": st.none() | st.booleans(),
            "list": st.none() | st.lists(st.none() | st.text(), max_size=3),
        }
    ),
    max_size=10,
)
SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("text", pa.string()),
        ("exact", pa.decimal128(38, 10)),
        ("float", pa.float64()),
        ("flag", pa.bool_()),
        ("list", pa.list_(pa.string())),
    ]
)


def as_json(found: Answer) -> str:
    out = io.StringIO()
    write_json(found.batches.schema.names, found.columns, found.batches, out)
    return out.getvalue()


def as_csv(found: Answer, **more: Any) -> bytes:
    out = io.BytesIO()
    write_csv(found.columns, found.batches.schema, found.batches, out, **more)
    return out.getvalue()


def as_table(found: Answer, room: Room = WIDE) -> str:
    out = io.StringIO()
    print_table(found.columns, found.batches, Console(file=out, width=room.width), room)
    return out.getvalue()


@given(ROWS)
def test_json_reads_back_equal(rows: list[dict[str, Any]]):
    read = json.loads(as_json(answer(pa.Table.from_pylist(rows, SCHEMA))), parse_float=Decimal)

    for row in read:
        row["float"] = None if row["float"] is None else float(row["float"])
    assert read == rows


@given(ROWS)
def test_csv_reads_back_equal_and_tells_null_from_an_empty_text(rows: list[dict[str, Any]]):
    written = as_csv(answer(pa.Table.from_pylist(rows, SCHEMA)))

    types = {**dict(zip(SCHEMA.names, SCHEMA.types, strict=True)), "list": pa.string()}
    read = arrow_csv.read_csv(
        io.BytesIO(written),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    ).to_pylist()
    for row in read:
        row["list"] = None if row["list"] is None else json.loads(row["list"])
    assert read == rows


@given(ROWS)
def test_json_lines_has_what_json_has(rows: list[dict[str, Any]]):
    table = pa.Table.from_pylist(rows, SCHEMA)
    out, found = io.StringIO(), answer(table)

    write_json_lines(found.batches.schema.names, found.columns, found.batches, out)

    lines = out.getvalue().split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == json.loads(as_json(answer(table)))


def test_parquet_has_the_types_of_the_answer(tmp_path: Path):
    table = pa.Table.from_pylist([{"number": 1, "exact": Decimal("1.5")}, {}], SCHEMA)

    write_parquet(table.schema, table.to_reader(), tmp_path / "rows.parquet")

    assert parquet.read_table(tmp_path / "rows.parquet").equals(table)


def test_json_keeps_every_digit():
    table = pa.table(
        {
            "NUMBER": [2**63 - 1],
            "DECIMAL": [Decimal("1234567890123456789012345678.0123456789")],
            "SMALL": [Decimal("0.0000000001")],
            "SINGLE": pa.array([0.1], pa.float32()),
            "VARIANT": ['{"n": 123456789012345678901234567890.12345}'],
        }
    )

    printed = as_json(answer(table, documents=["VARIANT"]))

    assert '"NUMBER": 9223372036854775807' in printed
    assert '"DECIMAL": 1234567890123456789012345678.0123456789' in printed
    assert '"SMALL": 0.0000000001' in printed
    assert '"SINGLE": 0.1' in printed
    assert '"n": 123456789012345678901234567890.12345' in printed


def test_a_document_is_json_in_json_and_its_text_elsewhere():
    table = pa.table({"V": ['{"k":[1]}', '"a"', "null", None]})

    assert json.loads(as_json(answer(table, documents=["V"]))) == [
        {"V": {"k": [1]}},
        {"V": "a"},
        {"V": None},
        {"V": None},
    ]
    rows = list(csv.reader(io.StringIO(as_csv(answer(table, documents=["V"])).decode())))
    assert rows == [["V"], ['{"k":[1]}'], ['"a"'], ["null"], []]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1_700_000_000_000_000], pa.timestamp("us")), "2023-11-14T22:13:20"),
        (pa.array([datetime(2023, 11, 14, 22, 13, 20, 120, UTC)], pa.timestamp("us", "UTC")), "2023-11-14T22:13:20.00012Z"),
        (pa.array([1], pa.timestamp("ns")), "1970-01-01T00:00:00.000000001"),
        (pa.array([date(1, 2, 3)]), "0001-02-03"),
        (pa.array([time(1, 20)]), "01:20:00"),
        (pa.array([b"\x00\xff"]), "00FF"),
        (pa.array([math.nan]), "NaN"),
        (pa.array([-math.inf], pa.float32()), "-Infinity"),
        (pa.array(["a"]).dictionary_encode(), "a"),
        (pa.array([b"0123456789abcdef"], pa.uuid()), "30313233-3435-3637-3839-616263646566"),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), {"k": 1}),
        (pa.array([{"a": [0], "b": math.inf}], pa.struct([("a", pa.list_(pa.timestamp("us"))), ("b", pa.float64())])), {"a": ["1970-01-01T00:00:00"], "b": "Infinity"}),
        (pa.array([{"a": None, "b": [None]}], pa.struct([("a", pa.date32()), ("b", pa.list_(pa.date32()))])), {"a": None, "b": [None]}),
    ],
)  # fmt: skip
def test_values_of_every_type_have_a_text(array: pa.Array, expected: object):
    table = pa.table({"A": array})

    assert json.loads(as_json(answer(table))) == [{"A": expected}]
    assert (expected if isinstance(expected, str) else '{"') in as_table(answer(table))
    assert as_csv(answer(table)).startswith(b'"A"\n"')


def test_columns_of_one_head_are_told_apart_where_members_need_names_of_their_own():
    table = pa.table({"A": [1], "A_2": [2]})

    assert json.loads(as_json(answer(table, heads=["A", "A"]))) == [{"A": 1, "A_2": 2}]
    assert as_csv(answer(table, heads=["A", "A"])) == b'"A","A"\n1,2\n'


def test_no_rows_are_an_empty_list_heads_and_a_count():
    table = pa.table({"A": pa.array([], pa.int64())})

    assert json.loads(as_json(answer(table))) == []
    assert as_csv(answer(table)) == b'"A"\n'
    assert "0 rows" in as_table(answer(table))


def test_a_table_shows_what_looks_like_markup_and_no_control_characters():
    printed = as_table(answer(pa.table({"V:TAGS[0] [red]": ["[/nothing] [bold]x", "a\x1b[31mb\x07"]})))

    assert "V:TAGS[0] [red]" in printed
    assert "[/nothing] [bold]x" in printed
    assert "a\\x1b[31mb\\x07" in printed
    assert "\x1b" not in printed


def test_csv_for_a_terminal_has_no_control_characters():
    assert as_csv(answer(pa.table({"A\x1b": ["b\x07"]})), shown=visible) == b'"A\\x1b"\n"b\\x07"\n'


def test_a_table_is_cut_to_the_screen_and_tells_how_many_rows_there_are():
    table = pa.table({"LONG": ["x" * 10_000] * 200} | {f"COLUMN{n}": list(range(200)) for n in range(40)})

    printed = as_table(answer(table), Room(rows=10, width=80, value=800))

    lines = printed.splitlines()
    assert len(lines) == 10 + 5
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("10 of 200 rows, without the last ")


@given(st.lists(st.integers(0, 200), min_size=1, max_size=12), st.integers(16, 120))
def test_every_column_that_is_shown_has_what_it_needs_or_some_of_it(lengths: list[int], width: int):
    found = answer(pa.table({f"C{n}": ["x" * length] for n, length in enumerate(lengths)}))

    top, _, _, row, *_ = as_table(found, Room(10, width, 1000)).splitlines()

    assert len(top) <= width
    for shown, length in zip(row.strip("│").split("│"), lengths, strict=False):
        assert len(shown.strip()) >= min(length, 12)
    if sum(max(length, 2) + 3 for length in lengths) < width:
        assert [len(each.strip()) for each in row.strip("│").split("│")] == lengths


def test_very_many_rows_are_not_counted_to_the_end():
    def batches():
        while True:
            yield pa.record_batch({"N": list(range(1000))})

    schema = pa.schema([("N", pa.int64())])
    found = answer(pa.table({"N": pa.array([], pa.int64())}))
    endless = Answer(found.columns, pa.RecordBatchReader.from_batches(schema, batches()))

    assert "10 of more than 100,000 rows" in as_table(endless, Room(10, 80, 800))


def test_null_is_to_be_seen():
    assert "NULL" in as_table(answer(pa.table({"A": pa.array([None], pa.string())})))
