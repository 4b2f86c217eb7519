"""CREATE, DROP, SHOW and DESCRIBE PIPE: pipes are properties of their tables."""

from __future__ import annotations

import datetime as dt
import getpass
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog
from sqlglot import exp

from frazil.errors import CatalogUnavailable, InvalidQuery, TableMissing
from frazil.model import Conversion, TableName
from frazil.pipes.forms import form_for
from frazil.pipes.sql.compiling import compile_pipe
from frazil.pipes.stored import PREFIX, StoredPipe, decode, matching
from frazil.queries.answer import Answer
from frazil.queries.lake import CatalogLake
from frazil.queries.listing import is_like, rows_answer
from frazil.snowflake.heads import upper
from frazil.snowflake.pipes import CreatePipe, DescribePipe, DropPipe, PipeStatement, ShowPipes
from frazil.snowflake.places import Refused, invalid, near
from frazil.snowflake.reading import shown
from frazil.snowflake.tables import existing, namespace_of
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.java import mapping
from frazil.tables.rules.error_tables import is_marked

_HEADS: Final = (
    "name",
    "table_name",
    "schema_name",
    "database_name",
    "created_on",
    "owner",
    "definition",
    "comment",
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FoundPipe:
    """A user's pipe, and the table that has it."""

    table: TableName
    pipe: StoredPipe

    @property
    def is_named_as_table(self) -> bool:
        """Whether topics find it by the name of its table."""
        return self.pipe.name.lower() == self.table.name.lower()


def answer(statement: PipeStatement, lake: CatalogLake) -> Answer:
    """Carry out a statement about pipes.

    Raises:
        InvalidQuery: it names what does not exist, or what exists already; or the pipe does not go with its table.
        CatalogUnavailable: the catalog did not answer.
    """
    match statement:
        case CreatePipe():
            return _create(statement, lake)
        case DropPipe():
            return _drop(statement, lake)
        case ShowPipes():
            return _show(statement, lake)
        case DescribePipe():
            return _rows(lake, [_needed(statement.name, lake)])


def pipes_of(catalog: Catalog, namespace: tuple[str, ...]) -> Iterator[FoundPipe]:
    """The users' pipes of a namespace, by table and name; of tables that cannot be read, it is logged."""
    for table in catalog.list_tables(namespace):
        try:
            yield from pipes_of_table(catalog, table)
        except CatalogUnavailable as error:
            _log.error("a table is passed over: it cannot be read", table=str(table), cause=str(error))


def pipes_of_table(catalog: Catalog, table: TableName) -> list[FoundPipe]:
    """The users' pipes of a table, by name; none if it is gone."""
    try:
        properties = mapping(catalog.jvm, catalog.load(table).properties())
    except TableMissing:
        return []
    return [
        FoundPipe(table, decode(key.removeprefix(PREFIX), properties[key]))
        for key in sorted(properties)
        if key.startswith(PREFIX)
    ]


def found_pipe(catalog: Catalog, namespace: tuple[str, ...], name: str, *, quoted: bool = False) -> FoundPipe | None:
    """The user's pipe that a name means in a namespace."""
    tables = [each for each in catalog.list_tables(namespace) if each.name.lower() == name.lower()]
    elsewhere = catalog.pipe_tables(namespace)
    if (pipe := matching(elsewhere, name, quoted=quoted)) is not None:
        tables.append(TableName(namespace, elsewhere[pipe]))
    for table in tables:
        try:
            properties = mapping(catalog.jvm, catalog.load(table).properties())
        except TableMissing:
            continue
        there = {key.removeprefix(PREFIX): value for key, value in properties.items() if key.startswith(PREFIX)}
        if (known := matching(there, name, quoted=quoted)) is not None:
            return FoundPipe(table, decode(known, there[known]))
    return None


def _create(statement: CreatePipe, lake: CatalogLake) -> Answer:
    catalog, name = lake.catalog, upper(statement.name.this)
    try:
        table = existing(statement.target, lake)
        if statement.name.args.get("db") and namespace_of(statement.name, lake) != table.namespace:
            raise Refused(f"a pipe is in the schema of its table, {'.'.join(table.namespace)}", statement.name)
    except Refused as refused:
        raise invalid(refused, statement.text) from refused
    if is_marked(catalog.table(table).state()):
        raise InvalidQuery(f"{table} is an error table, which takes rejected records only: no pipe leads there")
    there = found_pipe(catalog, table.namespace, name, quoted=bool(statement.name.this.args.get("quoted")))
    if there and statement.if_missing:
        return _said(f"{there.pipe.name} already exists, statement succeeded.")
    if there and not statement.replaces:
        raise InvalidQuery(f"there is a pipe {there.pipe.name} already, of the table {there.table}: CREATE OR REPLACE")
    columns = tuple(lake.columns(table))
    spec = compile_pipe(statement, name, columns, Conversion(metadata_column=form_for(columns).column))
    now = time.time_ns() // 1_000_000
    pipe = StoredPipe(name, statement.text.strip(), now, _creator(), statement.comment, spec.targets)
    made = FoundPipe(table, pipe)
    catalog.set_properties(table, {PREFIX + name: pipe.encode()})
    if not made.is_named_as_table:
        catalog.name_pipe(table.namespace, name, table.name)
    if there and (there.table, there.pipe.name) != (table, name):
        _remove(catalog, there, keeps_name=there.pipe.name == name and not made.is_named_as_table)
    return _said(f"Pipe {name} successfully created.", *(f"Note: {warning}." for warning in spec.warnings))


def _drop(statement: DropPipe, lake: CatalogLake) -> Answer:
    there = _found(statement.name, lake)
    if there is None:
        if statement.if_there:
            return _said("Drop statement executed successfully; there was no such pipe.")
        raise _missing(statement.name, lake)
    _remove(lake.catalog, there, keeps_name=False)
    return _said(f"{there.pipe.name} successfully dropped.")


def _show(statement: ShowPipes, lake: CatalogLake) -> Answer:
    namespaces = lake.namespaces()
    if statement.scope is not None:
        parts = [part.name.lower() for part in statement.scope.parts]
        if parts != [lake.name.lower()]:
            namespaces = [each for each in namespaces if [level.lower() for level in each] in (parts, parts[1:])]
            if not namespaces:
                raise InvalidQuery(f"there is no schema {shown(statement.scope)}")
    found = [pipe for namespace in namespaces for pipe in pipes_of(lake.catalog, namespace)]
    return _rows(lake, [each for each in found if is_like(each.pipe.name, statement.like)])


def _needed(name: exp.Table, lake: CatalogLake) -> FoundPipe:
    there = _found(name, lake)
    if there is None:
        raise _missing(name, lake)
    return there


def _found(name: exp.Table, lake: CatalogLake) -> FoundPipe | None:
    quoted = bool(name.this.args.get("quoted"))
    return found_pipe(lake.catalog, _namespace(name, lake), upper(name.this), quoted=quoted)


def _missing(name: exp.Table, lake: CatalogLake) -> InvalidQuery:
    known = [each.pipe.name for each in pipes_of(lake.catalog, _namespace(name, lake))]
    there_are = ", ".join(known[:20]) or "none"
    return InvalidQuery(f"there is no pipe {upper(name.this)}; there are: {there_are}{near(name.name, known)}")


def _namespace(name: exp.Table, lake: CatalogLake) -> tuple[str, ...]:
    try:
        return namespace_of(name, lake)
    except Refused as refused:
        raise InvalidQuery(refused.reason) from refused


def _remove(catalog: Catalog, there: FoundPipe, *, keeps_name: bool) -> None:
    catalog.set_properties(there.table, {PREFIX + there.pipe.name: None})
    if not there.is_named_as_table and not keeps_name:
        catalog.name_pipe(there.table.namespace, there.pipe.name, None)


def _rows(lake: CatalogLake, found: Sequence[FoundPipe]) -> Answer:
    rows: list[tuple[Any, ...]] = [
        (
            each.pipe.name,
            each.table.name,
            ".".join(each.table.namespace),
            lake.name,
            dt.datetime.fromtimestamp(each.pipe.created / 1000, dt.UTC),
            each.pipe.creator,
            each.pipe.sql,
            each.pipe.comment,
        )
        for each in found
    ]
    return rows_answer(_HEADS, rows)


def _said(*sentences: str) -> Answer:
    return rows_answer(("status",), [(sentence,) for sentence in sentences])


def _creator() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"
