"""SHOW, DESCRIBE and EXPLAIN."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import orjson
import pyarrow as pa
from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.layout.sources import sources
from frazil.model import ChannelStatus, Column, LayoutTransform, TableName
from frazil.queries.answer import Answer
from frazil.queries.information import known_columns, names, totals, type_name
from frazil.queries.lake import CatalogLake
from frazil.queries.planning import Plan
from frazil.snowflake.compiled import Compiled, ResultColumn
from frazil.snowflake.lake import NOW
from frazil.snowflake.places import Refused
from frazil.snowflake.statements import Describe, Name, Show, ShowChannels
from frazil.snowflake.tables import existing
from frazil.tables.iceberg.java import JvmState
from frazil.tables.rules.lengths import LENGTHS, with_lengths
from frazil.tables.rules.schema import columns_from_json


def show(asked: Show, lake: CatalogLake) -> Answer:
    """SHOW TABLES, COLUMNS or SCHEMAS.

    Raises:
        InvalidQuery: what comes after IN does not exist.
    """
    if asked.kind == "schemas":
        heads: Sequence[str] = ("name", "database_name")
        rows: Iterable[Sequence[Any]] = ((".".join(each), lake.name) for each in lake.namespaces())
    elif asked.kind == "tables":
        heads = ("name", "database_name", "schema_name", "rows", "bytes", "created", "last_altered")
        chosen = (each for each in _chosen(asked, lake) if is_like(each.name, asked.like))
        rows = ((each.name, lake.name, ".".join(each.namespace), *_totals(each, lake)) for each in chosen)
    else:
        heads = ("column_name", "table_name", "schema_name", "data_type", "null?", "default")
        rows = (
            (
                column.name,
                each.name,
                ".".join(each.namespace),
                type_name(column.type),
                not column.required,
                column.default,
            )
            for each in _chosen(asked, lake)
            for column in known_columns(each, lake)
        )
    found = [row for row in rows if is_like(str(row[0]), asked.like)]
    return rows_answer(heads, found if asked.rows is None else found[: asked.rows])


def describe(asked: Describe, lake: CatalogLake) -> Answer:
    """DESCRIBE TABLE.

    Raises:
        InvalidQuery: there is no such table.
    """
    opened = lake.opened(_table(asked.table, lake))
    schema = opened.at(NOW).schema
    columns = with_lengths(columns_from_json(schema), opened.java.properties().get(LENGTHS))
    comments = {each["id"]: each.get("doc") for each in orjson.loads(schema)["fields"]}
    layout = JvmState(opened.java.operations().current(), opened.jvm, opened.java).layout
    partition = _by_column([(each.source, each.transform) for each in layout.partition], columns)
    order = _by_column([(each.source, each.transform) for each in layout.order], columns)
    rows = [
        (
            each.name,
            type_name(each.type, each.length),
            "COLUMN",
            "N" if each.required else "Y",
            each.default,
            comments[each.id],
            partition.get(each.id),
            order.get(each.id),
        )
        for each in columns
    ]
    return rows_answer(("name", "type", "kind", "null?", "default", "comment", "partition by", "cluster by"), rows)


def _by_column(keys: Sequence[tuple[int, LayoutTransform]], columns: Sequence[Column]) -> dict[int, str]:
    """What of each column rows are partitioned or sorted by, with its place among the keys."""
    found: dict[int, str] = {}
    for column in columns:
        own = sources([column]).keys()
        told = [f"{number}: {transform}" for number, (source, transform) in enumerate(keys, 1) if source in own]
        if told:
            found[column.id] = ", ".join(told)
    return found


def show_channels(asked: ShowChannels, lake: CatalogLake, look: Callable[[], Sequence[ChannelStatus]] | None) -> Answer:
    """SHOW CHANNELS.

    Raises:
        InvalidQuery: there is no such table, or nobody here knows of channels.
    """
    if look is None:
        raise InvalidQuery("SHOW CHANNELS is not supported here; `frazil sql` and `frazil channels` know of them")
    table = str(_table(asked.table, lake)) if asked.table else None
    found = [each for each in look() if table in (None, each.table) and is_like(each.channel, asked.like)]
    heads = tuple(each.name for each in fields(ChannelStatus))
    return rows_answer(heads, [tuple(getattr(each, head) for head in heads) for each in found])


def explained(compiled: Compiled, plans: Mapping[str, Plan], physical: str) -> Answer:
    """EXPLAIN: what would be read, and how DuckDB would go about it."""
    lines = []
    for scan in compiled.scans:
        if scan.place in plans:
            plan = plans[scan.place]
            deletes = len({each for file in plan.files for each in file.deletes})
            lines.append(
                f"{scan.table}: {len(plan.files)} files, {sum(each.rows for each in plan.files)} rows, "
                f"{sum(each.size for each in plan.files)} bytes, {deletes} delete files"
            )
            lines.append(f"  files chosen by: {plan.filters or 'nothing'}")
    lines += physical.splitlines()
    return rows_answer(("plan",), [(line,) for line in lines])


def _chosen(asked: Show, lake: CatalogLake) -> list[TableName]:
    if not asked.scope:
        return list(names(lake))
    if asked.of_table:
        return [_table(asked.scope, lake)]
    wanted = [each.text.lower() for each in asked.scope]
    if len(wanted) > 1 and wanted[0] == lake.name.lower():
        wanted = wanted[1:]
    elif wanted == [lake.name.lower()]:
        return list(names(lake))
    found = [each for each in lake.namespaces() if [level.lower() for level in each] == wanted]
    if not found:
        known = ", ".join(".".join(each) for each in list(lake.namespaces())[:20])
        raise InvalidQuery(
            f"there is no schema {'.'.join(each.text for each in asked.scope)[:100]}; there are: {known}"
        )
    return [each for namespace in found for each in lake.tables(namespace)]


def _table(parts: Sequence[Name], lake: CatalogLake) -> TableName:
    identifiers = [exp.to_identifier(each.text, quoted=each.quoted) for each in parts]
    keys = ("this", "db", "catalog")
    node = exp.Table(**dict(zip(keys, reversed(identifiers), strict=False)))
    try:
        return existing(node, lake)
    except Refused as refused:
        raise InvalidQuery(refused.reason) from refused


def _totals(table: TableName, lake: CatalogLake) -> tuple[Any, ...]:
    facts = totals(table, lake)
    return tuple(facts.get(each) for each in ("ROW_COUNT", "BYTES", "CREATED", "LAST_ALTERED"))


def is_like(name: str, pattern: str | None) -> bool:
    """Whether a name is like the pattern of a SHOW, ignoring case; without a pattern every name is."""
    if pattern is None:
        return True
    wild = {"%": ".*", "_": "."}
    return bool(
        re.fullmatch("".join(wild.get(each) or re.escape(each) for each in pattern), name, re.IGNORECASE | re.DOTALL)
    )


def rows_answer(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Answer:
    """An answer of rows that are known already."""
    columns = (
        [pa.array(list(column)) for column in zip(*rows, strict=True)]
        if rows
        else [pa.array([], pa.string())] * len(heads)
    )
    batch = pa.RecordBatch.from_arrays(columns, names=list(heads))
    return Answer(tuple(map(ResultColumn, heads)), pa.RecordBatchReader.from_batches(batch.schema, [batch]))
