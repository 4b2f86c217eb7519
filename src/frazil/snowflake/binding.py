"""A compiled query held against an empty DuckDB: what it refuses there, it would refuse over any rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import duckdb
from sqlglot import exp

from frazil.snowflake.building import cast, name, null
from frazil.snowflake.kinds import of_table
from frazil.snowflake.places import Refused
from frazil.snowflake.rendering import rendered
from frazil.snowflake.tables import Read, place_names, with_twins
from frazil.snowflake.typed import empty_duckdb, said

_UNGROUPED: Final = re.compile(r'column "?(?P<column>.+?)"? must appear in the GROUP BY clause')


def check_binding(query: exp.Expr, reads: Sequence[Read], written: exp.Expr) -> None:
    """Have DuckDB plan the query over tables without rows.

    Raises:
        Refused: it does not; points into what was `written` where that is known.
    """
    bound = query.copy()
    ctes = [*(_empty(each) for each in reads), *(bound.args["with_"].expressions if bound.args.get("with_") else ())]
    if ctes:
        bound.set("with_", exp.With(expressions=ctes))
    try:
        empty_duckdb().cursor().execute("EXPLAIN " + rendered(bound))
    except duckdb.Error as error:
        raise _refusal(str(error), written) from error


def _empty(read: Read) -> exp.CTE:
    names = [each.name for each in read.columns]
    places = place_names(names)
    needed = with_twins(names, read.reading.columns)
    columns = [
        exp.Alias(this=_nothing(of_table(each.type)), alias=name(place))
        for each, place in zip(read.columns, places, strict=True)
        if each.name in needed
    ]
    return exp.CTE(this=exp.Select(expressions=columns or [exp.null()]), alias=exp.TableAlias(this=name(read.place)))


def _nothing(kind: exp.DataType) -> exp.Expr:
    return cast(null(), kind)


def _refusal(message: str, written: exp.Expr) -> Refused:
    found = _UNGROUPED.search(message)
    if not found:
        return Refused(said(message))
    called = found["column"].split(".")[-1].strip('"')
    node = next((each for each in written.find_all(exp.Column) if each.name.lower() == called.lower()), None)
    return Refused(f"{called} is neither grouped by nor within an aggregate: add it to GROUP BY", node)
