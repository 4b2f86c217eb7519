from __future__ import annotations

import json

import duckdb
import pyarrow as pa
import pytest

from frazil.model import Column, IcebergType, Primitive
from frazil.pipes.base import Chunk
from frazil.pipes.default.projection import TIME_FORM, Projection, Reading, is_checked
from frazil.pipes.naming import default_pipe
from frazil.pipes.record_metadata import RECORD

LONG = Primitive("long")


def projection(*names: str) -> Projection:
    return Projection(tuple(Column(number, name, LONG) for number, name in enumerate(names)))


def test_a_key_goes_to_the_column_of_its_own_spelling_else_to_the_one_equal_ignoring_case() -> None:
    found = {
        key: column and column.name
        for key in ("a", "A", "B", "ß", "x")
        for column in [projection("A", "a", "b", "ẞ").column_for(key)]
    }

    assert found == {"a": "a", "A": "A", "B": "b", "ß": "ẞ", "x": None}


def test_no_key_goes_to_the_metadata_column() -> None:
    assert projection("record_metadata", "a").column_for("RECORD_METADATA") is None
    assert [column.name for column in projection("Record_Metadata", "a").payload()] == ["a"]
    assert RECORD.is_name("record_Metadata")
    assert not RECORD.is_name("record_metadata2")


def test_the_default_pipe_is_named_after_its_table() -> None:
    assert default_pipe("ORDERS") == "ORDERS-STREAMING"


@pytest.mark.parametrize(
    ("spellings", "documents", "strict"),
    [
        ({}, frozenset(), True),
        ({"a": ("a",), "b": ("B",)}, frozenset(), True),
        ({"a": ("a", "A")}, frozenset(), False),
        ({"a": ("a",)}, frozenset({"a"}), False),
    ],
)
def test_records_are_read_strictly_while_one_reading_gives_every_column(
    spellings: dict[str, tuple[str, ...]], documents: frozenset[str], strict: bool
) -> None:
    assert Reading(spellings, documents).may_be_strict is strict


FORMS = {
    "time": (
        ["12:30:00", "12:30:00.5", "23:59:59.999999"],
        ["12:30", "12:30:00.", "12:30:00.1234567", "12:30:00Z", "12:30:00+01:00"],
    ),
    "timestamp": (
        [
            *("2024-01-01T12:30:00", "2024-01-01T12:30:00.5", "9999-12-31T23:59:59.999999"),
            *("2024-01-01T12:30:00Z", "0001-01-01T00:00:00.000Z"),
        ],
        [
            *("2024-01-01", "2024-01-01T12:30", "2024-01-01 12:30:00", "2024-01-01t12:30:00"),
            *("2024-01-01T12:30:00z", "2024-01-01T12:30:00+00:00"),
        ],
    ),
    "timestamptz": (
        [
            *(
                "2024-01-01T12:30:00",
                "2024-01-01T12:30:00Z",
                "2024-01-01T12:30:00.5+05:30",
                "2024-01-01T12:30:00-23:59",
            ),
            *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
        ],
        [
            *(
                "2024-01-01T12:30:00z",
                "2024-01-01T12:30:00+0530",
                "2024-01-01T12:30:00+05",
                "2024-01-01T12:30:00+05:30:15",
            ),
            # In UTC these may be of the year 0 or 10000, which DuckDB does not mind.
            *("0001-12-31T23:59:59-01:00", "9999-01-01T00:00:00+01:00"),
        ],
    ),
}
"""By type, texts the statement reads as they are meant, and texts it must not read."""


@pytest.mark.parametrize("kind", FORMS)
def test_the_statement_fails_on_times_it_would_not_read_as_they_are_meant_and_tells_which(kind: str) -> None:
    good, bad = FORMS[kind]
    times = Projection((Column(1, "x", Primitive(kind)),))
    reading = Reading({"x": ("x",)})
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")

        assert times.misformed(chunk(connection, good + bad), reading) == set(range(len(good), len(good + bad)))
        read = f"SELECT count(x) FROM ({times.select(reading)})"
        assert chunk(connection, good).query(read) == [(len(good),)]
        for text in bad:
            with pytest.raises(duckdb.InvalidInputException, match=TIME_FORM):
                chunk(connection, [text]).query(read)


def chunk(connection: duckdb.DuckDBPyConnection, texts: list[str]) -> Chunk:
    """A chunk of records whose key `x` has these texts."""
    return Chunk(connection, "orders", pa.table({"value": [json.dumps({"x": text}) for text in texts]}), pa.table({}))


@pytest.mark.parametrize(
    ("kind", "checked"),
    [(Primitive("timestamptz"), True), (Primitive("time"), True), (Primitive("date"), False), (LONG, False)],
)
def test_times_are_checked_by_the_statement(kind: IcebergType, checked: bool) -> None:
    assert is_checked(Column(1, "x", kind)) is checked
