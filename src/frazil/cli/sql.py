"""`frazil sql`: one SELECT over the tables."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import orjson
import sqlglot
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from rich.console import Console
from rich.table import Table
from sqlglot import exp
from sqlglot.errors import SqlglotError

from frazil.cli.catalogs import open_catalog
from frazil.cli.console import people
from frazil.errors import InvalidQuery
from frazil.model import TableName
from frazil.tables.catalog import Catalog
from frazil.tables.session import DEFAULT_NAMESPACE


def run_query(query: str, home: Path, worker: Path | None, format: Literal["table", "json", "csv"]) -> int:  # noqa: A002 (the option's name)
    """Print the rows of a SELECT.

    Raises:
        InvalidQuery: the text is no SELECT, names no table there is, or Spark refuses it.
    """
    parsed = parse(query)
    console = people()
    with open_catalog(home, worker, console) as (session, catalog):
        text = resolved(parsed, catalog).sql(dialect="spark")
        with console.status("Running the query …"):
            try:
                frame = session.sql(text)
                columns = frame.columns
                rows = _rows(frame)
            except PySparkException as error:
                raise InvalidQuery(f"Spark refuses the query: {str(error).splitlines()[0]}") from error
    _print(columns, rows, format)
    return 0


def parse(query: str) -> exp.Query:
    """The query's syntax tree.

    Raises:
        InvalidQuery: it is not exactly one SELECT.
    """
    try:
        statements = [statement for statement in sqlglot.parse(query, read="snowflake") if statement is not None]
    except SqlglotError as error:
        raise InvalidQuery(f"the query cannot be parsed: {str(error).splitlines()[0]}") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        kind = statements[0].key.upper() if statements else "nothing"
        raise InvalidQuery(f"the query is {kind if len(statements) < 2 else 'several statements'}, not one SELECT")
    return statements[0]


def resolved(query: exp.Query, catalog: Catalog) -> exp.Query:
    """The query with every table by its full name in the catalog, an unquoted name meaning the one equal ignoring case.

    Raises:
        InvalidQuery: a table does not exist.
    """
    defined = {cte.alias_or_name.lower() for cte in query.find_all(exp.CTE)}
    for table in list(query.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier) or (not table.db and table.name.lower() in defined):
            continue
        name = _existing(table, catalog)
        replacement = exp.table_(name.name, db=name.namespace[0], catalog=catalog.name, quoted=True)
        replacement.set(
            "alias", table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
        )
        replacement.set("joins", table.args.get("joins"))
        table.replace(replacement)
    return query


def _existing(table: exp.Table, catalog: Catalog) -> TableName:
    namespace = catalog.namespace(table.db or DEFAULT_NAMESPACE)
    name = catalog.resolve(namespace, table.name, quoted=bool(table.this.quoted))
    tables = catalog.tables(namespace)
    if name not in tables:
        known = ", ".join(each.name for each in tables) or "none"
        raise InvalidQuery(f"there is no table {name}; {'.'.join(namespace)} has: {known}")
    return name


def _rows(frame: DataFrame) -> list[list[Any]]:
    """The rows as JSON values, which every type of Iceberg's has."""
    places = [f"c{number}" for number in range(len(frame.columns))]
    renamed = frame.toDF(*places)
    documents = renamed.select(f.to_json(f.struct(*places), {"ignoreNullFields": "false"}).alias("row")).collect()
    parsed = (orjson.loads(document["row"]) for document in documents)
    return [[row[place] for place in places] for row in parsed]


def _print(columns: Sequence[str], rows: Iterable[Sequence[Any]], format: str) -> None:  # noqa: A002 (the option's name)
    if format == "json":
        objects = [dict(zip(columns, row, strict=True)) for row in rows]
        sys.stdout.write(orjson.dumps(objects, option=orjson.OPT_INDENT_2).decode() + "\n")
        return
    texts = ([_text(value) for value in row] for row in rows)
    if format == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(columns)
        writer.writerows(texts)
        return
    table = Table(*columns, show_lines=False)
    for row in texts:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 10_000).print(table)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
