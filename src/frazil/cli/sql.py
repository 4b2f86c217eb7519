"""`frazil sql`: one SELECT over the tables."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import VariantType
from rich.console import Console
from rich.table import Column, Table

from frazil.cli.console import people
from frazil.cli.query.spark import strict
from frazil.cli.query.statement import ResultColumn, Statement
from frazil.cli.query.types import refusal
from frazil.cli.session import open_session_catalog
from frazil.cli.visible import cell, visible, visible_json
from frazil.tables.catalog import Catalog
from frazil.tables.jvm import java_errors

Row = list[str | None]
"""Each value as JSON text, None for NULL."""


def run_query(query: str, home: Path, worker: Path | None, format: Literal["table", "json", "csv"]) -> int:  # noqa: A002 (the option's name)
    """Print the rows of a SELECT.

    Raises:
        InvalidQuery: the text is no SELECT, has something that is not supported, names no table there is, or Spark
            refuses it.
    """
    statement = Statement.parse(query)
    console = people()
    with open_session_catalog(home, worker, console) as (session, catalog), console.status("Running the query …"):
        columns, rows = answer(statement, catalog, session)
    show(columns, rows, format)
    return 0


def answer(statement: Statement, catalog: Catalog, session: SparkSession) -> tuple[tuple[ResultColumn, ...], list[Row]]:
    """The columns and rows of a SELECT.

    Raises:
        InvalidQuery: it names what does not exist, or Spark refuses it.
    """
    with strict(session):
        compiled = statement.compile(catalog, session)
        try:
            return compiled.columns, list(_rows(session.sql(compiled.text), compiled.columns))
        except java_errors() as error:
            raise refusal(error) from error


def _rows(frame: DataFrame, columns: Sequence[ResultColumn]) -> Iterator[Row]:
    """The rows as JSON text, which every type of Iceberg's has, and which rounds no number."""
    documents = [_document(f.col(f"c{n}"), column).alias(f"c{n}") for n, column in enumerate(columns)]
    for row in frame.select(*documents).collect():
        yield [_value(text, column) for text, column in zip(row, columns, strict=True)]


def _document(value: f.Column, column: ResultColumn) -> f.Column:
    if isinstance(column.type, VariantType):
        return f.to_json(value)
    return f.to_json(f.struct(value.alias("v")), {"ignoreNullFields": "false"})


def _value(text: str | None, column: ResultColumn) -> str | None:
    if text is None or isinstance(column.type, VariantType):
        return text
    inner = text.removeprefix('{"v":').removesuffix("}")
    return None if inner == "null" else inner


def show(columns: Sequence[ResultColumn], rows: Sequence[Row], format: str) -> None:  # noqa: A002 (the option's name)
    """Print rows as a table, JSON objects, or CSV."""
    heads = [column.head for column in columns]
    if format == "json":
        sys.stdout.write(visible_json(_json(heads, rows)) + "\n")
        return
    texts = ([_text(value, column) for value, column in zip(row, columns, strict=True)] for row in rows)
    if format == "csv":
        # A file gets what is there; a terminal would act on some of it.
        shown = visible if sys.stdout.isatty() else str
        csv.writer(sys.stdout).writerows([shown(text) for text in row] for row in (heads, *texts))
        return
    table = Table(*(Column(cell(head)) for head in heads), show_lines=False)
    for row in texts:
        table.add_row(*map(cell, row))
    Console(width=None if sys.stdout.isatty() else 10_000).print(table)


def _json(heads: Sequence[str], rows: Sequence[Row]) -> str:
    keys = [orjson.dumps(head).decode() for head in _different(heads)]
    objects = (", ".join(f"{key}: {value or 'null'}" for key, value in zip(keys, row, strict=True)) for row in rows)
    document = "[" + ", ".join(f"{{{members}}}" for members in objects) + "]"
    return msgspec.json.format(document, indent=2)


def _different(heads: Sequence[str]) -> list[str]:
    """The heads, those that were there before with a number, since members of an object need names of their own."""
    found: list[str] = []
    for head in heads:
        name, number = head, 1
        while name in found:
            number += 1
            name = f"{head}_{number}"
        found.append(name)
    return found


def _text(value: str | None, column: ResultColumn) -> str:
    """What a table or a CSV file shows: texts bare, a VARIANT as JSON, quotes and all."""
    if value is None:
        return ""
    is_text = value.startswith('"') and not isinstance(column.type, VariantType)
    return str(orjson.loads(value)) if is_text else value
