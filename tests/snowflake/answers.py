"""Queries without tables, answered by a DuckDB that has nothing."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import json
from collections.abc import Sequence
from typing import Any

import duckdb

from frazil.model import Column, TableName
from frazil.snowflake.lake import NOW, Moment
from frazil.snowflake.statements import Select, read


class Nothing:
    """A catalog without tables."""

    name = "lake"

    def namespaces(self) -> Sequence[tuple[str, ...]]:
        return []

    def tables(self, namespace: tuple[str, ...]) -> Sequence[TableName]:  # noqa: ARG002
        return []

    def columns(self, table: TableName, moment: Moment = NOW) -> Sequence[Column]:  # noqa: ARG002
        raise AssertionError("there is no table")


@functools.cache
def _database() -> Any:
    connection = duckdb.connect(":memory:", config={"enable_external_access": "false", "threads": "1"})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def text_of(query: str) -> str:
    """The query as DuckDB gets it."""
    statement = read(query)
    assert isinstance(statement, Select)
    return statement.compile(Nothing()).text


def rows(query: str) -> list[list[Any]]:
    """What the query gives: moments as ISO texts, documents as what they say."""
    statement = read(query)
    assert isinstance(statement, Select)
    compiled = statement.compile(Nothing())
    found = _database().cursor().sql(compiled.text).to_arrow_table().to_pylist()
    return [
        [_plain(value, column.is_document) for value, column in zip(row.values(), compiled.columns, strict=True)]
        for row in found
    ]


def value(expression: str) -> Any:
    """What one expression gives."""
    ((found,),) = rows(f"select {expression}")
    return found


def _plain(value: Any, is_document: bool) -> Any:
    match value:
        case str() if is_document:
            return json.loads(value)
        case dt.datetime(tzinfo=None):
            return value.isoformat(timespec="milliseconds")
        case dt.datetime():
            return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
        case dt.date() | dt.time():
            return value.isoformat()
        case decimal.Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
    return value
