"""SHOW, DESCRIBE and EXPLAIN."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.model import TableName
from frazil.queries.answer import Answer
from frazil.queries.information import known_columns, names, totals, type_name
from frazil.queries.lake import CatalogLake
from frazil.queries.planning import Plan
from frazil.snowflake.compiled import Compiled, ResultColumn
from frazil.snowflake.places import Refused
from frazil.snowflake.statements import Describe, Name, Show
from frazil.snowflake.tables import existing


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
    rows = (
        (each.name, type_name(each.type), "COLUMN", "N" if each.required else "Y", each.default)
        for each in lake.columns(_table(asked.table, lake))
    )
    return rows_answer(("name", "type", "kind", "null?", "default"), list(rows))


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
