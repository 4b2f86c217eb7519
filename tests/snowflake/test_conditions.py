"""A condition by itself: one that is none becomes no query."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from frazil.errors import InvalidQuery
from frazil.model import Column, Primitive
from frazil.queries.information import create
from frazil.snowflake.conditions import keys_where

COLUMNS = (Column(1, "offset", Primitive("long")), Column(2, "code", Primitive("string")))
ROWS = pa.table({"offset": [1, 2, 3], "code": ["5015", "5030", None]})


def met(condition: str) -> list[int]:
    compiled = keys_where("rejects", COLUMNS, ["offset"], condition)
    connection = duckdb.connect()
    for scan in compiled.scans:
        create(connection, scan, ROWS)
    return sorted(offset for (offset,) in connection.execute(compiled.text).fetchall())


@pytest.mark.parametrize(
    ("condition", "offsets"),
    [
        ("code = '5030'", [2]),
        ("code IS NULL OR offset < 2 -- the rest", [1, 3]),
        ('rejects."offset" IN (1, 3)', [1, 3]),
        ("code ILIKE '50%' AND NOT (offset = 2)", [1]),
    ],
)
def test_rows_that_meet_a_condition_are_found(condition: str, offsets: list[int]) -> None:
    assert met(condition) == offsets


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "true) OR (true",
        "true) LIMIT (1",
        "true) ORDER BY (offset",
        "true) UNION ALL (SELECT 1",
        "true; DROP TABLE rejects",
        "true) QUALIFY (true",
        "EXISTS (SELECT 1 FROM others)",
        "other = 1",
        "'",
    ],
)
def test_what_is_no_condition_on_these_columns_is_refused(condition: str) -> None:
    with pytest.raises(InvalidQuery):
        keys_where("rejects", COLUMNS, ["offset"], condition)
