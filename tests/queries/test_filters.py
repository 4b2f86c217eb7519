"""Conditions choose files, and never leave out one that has a row."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.queries.tables import Tables

from frazil.errors import InvalidQuery
from frazil.model import TableName
from frazil.queries.filters import expression
from frazil.queries.lake import CatalogLake
from frazil.queries.planning import plan
from frazil.snowflake.compiled import Filter, Scan
from frazil.snowflake.lake import NOW

COLUMNS = (
    "i INT, l BIGINT, d DECIMAL(9,2), x DOUBLE, f FLOAT, s STRING, b BOOLEAN, day DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, "
    "st STRUCT<a: INT>"
)
ROWS = [
    "1, 1, 1.25, 0.0, 0.0, 'a', true, date'2020-01-01', timestamp'2020-01-01 00:00:00Z', timestamp_ntz'2020-01-01', struct(1)",
    "2, NULL, -1.25, -0.0, -0.0, 'ab', false, NULL, timestamp'2020-01-02 00:00:00Z', NULL, struct(2)",
    "-5, 8589934592, NULL, double('NaN'), float('NaN'), repeat('z', 100), NULL, date'1969-12-31', NULL, timestamp_ntz'2020-01-01 00:00:00.000001', NULL",
    "NULL, -1, 99.99, double('Infinity'), -1.5, 'Ä', true, date'9999-12-31', timestamp'1900-01-01 00:00:00Z', NULL, struct(NULL)",
]
VALUES = {
    "i": ["0", "1", "-5", "2147483648", "1.5"],
    "l": ["-1", "8589934592", "99999999999999999999"],
    "d": ["1.25", "1.250", "1.255", "-1.25", "99.99", "1e1"],
    "x": ["0", "-0.0", "1.5", "NaN", "Infinity", "1e400"],
    "f": ["0.0", "-1.5", "0.1", "nan"],
    "s": ["a", "ab", "z" * 100, "Ä", "", "zz"],
    "b": ["true", "FALSE"],
    "day": ["2020-01-01", "1969-12-31", "9999-12-31", "2020-01-01 12:00:00"],
    "ts": ["2020-01-01", "2020-01-02 00:00:00+00", "1900-01-01T00:00:00", "2020-01-01 00:00:00.0000001"],
    "n": ["2020-01-01 00:00:00.000001", "2020-01-01"],
    "st.a": ["1", "2"],
}


@pytest.fixture(scope="module")
def table(tables: Tables) -> TableName:
    """One file for each row."""
    name = tables.create(COLUMNS)
    for row in ROWS:
        tables.sql(name, f"INSERT INTO {{t}} VALUES ({row})")
    return name


OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "in", "is null", "is not null", "starts with"]


@st.composite
def conditions(draw: st.DrawFn) -> Filter:
    column = draw(st.sampled_from(sorted(VALUES)))
    operator = draw(st.sampled_from(OPERATORS[: 10 if column == "s" else 9]))
    value = st.sampled_from(VALUES[column])
    values = (
        ()
        if operator.startswith("is")
        else tuple(draw(st.lists(value, min_size=1, max_size=3 if operator == "in" else 1)))
    )
    return Filter(tuple(column.split(".")), operator, values)


def sql(condition: Filter) -> str:
    column, texts = ".".join(condition.column), [f"'{text}'" for text in condition.values]
    if condition.operator == "in":
        return f"{column} IN ({', '.join(texts)})"
    if condition.operator == "starts with":
        return f"starts_with({column}, {texts[0]})"
    return f"{column} {condition.operator} {''.join(texts)}"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(condition=conditions())
def test_a_filter_takes_no_row_away(tables: Tables, table: TableName, condition: Filter) -> None:
    select = f"SELECT i, s FROM t WHERE TRY({sql(condition)}) ORDER BY ALL"
    try:
        expected = tables.read(table, select, width=2)
    except InvalidQuery:  # the constant is none of the column's type
        return

    assert tables.read(table, select, width=2, filters=[condition]) == expected


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        (Filter(("i",), "=", ("1",)), 1),
        (Filter(("i",), ">", ("1",)), 1),
        (Filter(("st", "a"), "=", ("2",)), 1),
        (Filter(("d",), "<", ("0",)), 1),
        (Filter(("s",), "starts with", ("a",)), 2),
        (Filter(("ts",), ">=", ("2020-01-01",)), 2),
        (Filter(("day",), "is null"), 1),
        (Filter(("b",), "in", ("true", "false")), 3),
        (Filter(("x",), "=", ("0",)), 2),
        (Filter(("x",), ">", ("5",)), 2),
        (Filter(("i",), "=", ("1.5",)), 4),
    ],
)
def test_files_without_such_rows_are_not_planned(
    tables: Tables, table: TableName, condition: Filter, files: int
) -> None:
    opened = CatalogLake(tables.catalog).opened(table)

    assert len(plan(opened, Scan("t", table, filters=(condition,)), opened.at(NOW)).files) == files


@pytest.mark.parametrize(
    "condition",
    [
        Filter(("a.b",), "=", ("1",)),
        Filter(("i",), "=", ("1 ",)),
        Filter(("i",), "=", ("2147483648",)),
        Filter(("d",), "=", ("1.255",)),
        Filter(("x",), "!=", ("1",)),
        Filter(("x",), "<", ("NaN",)),
        Filter(("v",), "is null"),
        Filter(("u",), "=", ("x",)),
        Filter(("nope",), "=", ("x",)),
    ],
)
def test_what_cannot_be_said_is_left_out(condition: Filter) -> None:
    kinds = {"i": "int", "d": "decimal(9, 2)", "x": "double", "v": "variant", "u": "uuid"}
    fields = [
        {"id": number, "name": name, "type": kind, "required": False}
        for number, (name, kind) in enumerate(kinds.items())
    ]

    assert expression([condition], json.dumps({"type": "struct", "fields": fields})) is None
