"""VARIANT columns: what is read back is what was sent, or it is a reject."""

from __future__ import annotations

import json
from collections.abc import Callable

import duckdb
import pyarrow.parquet as pq
import pytest

from .chunks import Table, columns

MakeTable = Callable[..., Table]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": [true, null, "x"], "c": {"d": {}}}',
        "[]",
        "{}",
        '[[1], {"a": [2]}]',
        '"text"',
        '""',
        '"\\u0000 \\ud83d\\ude00 \\" \\\\"',
        "true",
        "1",
        "-9223372036854775808",
        "9223372036854775807",
        "0.1",
        "0.30000000000000004",
        "-1.5e-7",
        "1e2",
        "1234567890123456",
        '{"": 1, "a.b": 2, "a": {"b": 3}, "A": 4}',
        '"12345678901234567890"',
        '{"text": ", 12345678901234567890.5"}',
    ],
)
@pytest.mark.parametrize("uniform", [True, False])
def test_a_value_is_read_back_equal(
    make_table: MakeTable,
    text: str,
    uniform: bool,
) -> None:
    landed = make_table(*columns(v="variant")).land(f'{{"v": {text}}}', *([] if uniform else ["{}"]))

    assert landed.rejects == {}
    assert landed.rows[0] == json.loads(text)


def test_null_an_absent_key_and_a_tombstone_are_sql_null(make_table: MakeTable) -> None:
    landed = make_table(*columns(v="variant")).land('{"v": null}', "{}", None, '{"v": [null]}')
    assert landed.written

    counted = duckdb.execute(f"SELECT count(*), count(v) FROM read_parquet('{landed.written.path}')").fetchall()

    assert counted == [(4, 1)]
    assert landed.rows == [None, None, None, [None]]


def test_it_is_written_unshredded(make_table: MakeTable) -> None:
    written = make_table(*columns(v="variant")).land(*['{"v": {"a": 1}}'] * 100).written
    assert written

    assert [each.path for each in _leaves(str(written.path))] == ["v.metadata", "v.value"]


def _leaves(path: str) -> list[pq.ColumnSchema]:
    schema = pq.ParquetFile(path).schema
    return [schema.column(number) for number in range(len(schema))]


@pytest.mark.parametrize(
    "text",
    [
        "[1,]",
        '{"a": 1,}',
        "[1 2]",
        "[01]",
        "[.5]",
        "[1.]",
        "[+1]",
        "[tru]",
        "NaN",
        '{"a": [Infinity]}',
        "-",
        '{"a"}',
        "/* c */ 1",
        '"a\nb"',
        '"\\x"',
        '"\\ud800"',
        '{"\\ud800": 1}',
    ],
)
@pytest.mark.parametrize("good", ['{"v": 7}', "{}"])
def test_malformed_json_within_is_a_reject(make_table: MakeTable, text: str, good: str) -> None:
    landed = make_table(*columns(v="variant")).land(good, f'{{"v": {text}}}', good)

    assert list(landed.rejects) == [1]
    assert len(landed.rows) == 2


@pytest.mark.parametrize(
    "number",
    [
        "9223372036854775808",
        "18446744073709551615",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "0.1234567890123456789",
        "12345678.123456789",
        "1e400",
        "-1e400",
        "1e-400",
        "1e99999999999999999999",
    ],
)
@pytest.mark.parametrize("within", ["{}", "[{}]", '{{"k": [1, {}]}}', '{{"k":{}}}', "[\n\t{}]"])
def test_a_number_it_would_round_is_a_reject(make_table: MakeTable, number: str, within: str) -> None:
    landed = make_table(*columns(v="variant")).land('{"v": 7}', f'{{"v": {within.format(number)}}}')

    assert landed.rows == [7]
    assert landed.reasons == {1: ("v", f"the number {number!r} is more than a VARIANT keeps exactly")}
