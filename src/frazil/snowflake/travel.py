"""Moments of a table that a query names: AT, BEFORE and CHANGES."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
from sqlglot import exp

from frazil.snowflake.casts import to_type
from frazil.snowflake.kinds import TIMESTAMPTZ
from frazil.snowflake.lake import NOW, Moment
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.rendering import rendered
from frazil.snowflake.translator import Translator
from frazil.snowflake.typed import empty_duckdb, said

_INFORMATION = ("APPEND_ONLY", "DEFAULT")


def moments(x: Translator, node: exp.Table) -> tuple[Moment, Moment | None]:
    """At which moment a table is read, and for CHANGES since which.

    Raises:
        Refused: the moment is no constant, or of a kind that there is not.
    """
    when, changes = node.args.get("when"), node.args.get("changes")
    if changes is None:
        return (moment(x, when) if when else NOW), None
    information = changes.args["information"].name.upper()
    if information not in _INFORMATION:
        raise Refused(f"CHANGES: INFORMATION is APPEND_ONLY or DEFAULT, not {information[:40]}", changes)
    end = changes.args.get("end")
    return (moment(x, end) if end else NOW), moment(x, changes.args["at_before"])


def moment(x: Translator, node: exp.Expr) -> Moment:
    """The moment of one AT, BEFORE or END."""
    kind, before = str(node.args["kind"]).upper(), str(node.this).upper() == "BEFORE"
    value = node.expression
    if kind == "VERSION":
        if not isinstance(value, exp.Literal) or not value.name.isdecimal():
            raise Refused(f"VERSION is the id of a snapshot, not {shown(value)}", value)
        return Moment(snapshot=int(value.name), before=before)
    if kind == "OFFSET":
        return Moment(timestamp=_now() + round(_number(x, value) * 1000), before=before)
    if kind == "TIMESTAMP":
        return Moment(timestamp=_milliseconds(x, value), before=before)
    raise Refused(f"AT and BEFORE take TIMESTAMP, OFFSET or VERSION (the id of a snapshot), not {kind[:40]}", node)


def _number(x: Translator, node: exp.Expr) -> float:
    found = _constant(node, x(node))
    if isinstance(found, int | float) or hasattr(found, "as_tuple"):
        return float(found)
    raise Refused(f"OFFSET is a number of seconds, like -60*5, not {shown(node)}", node)


def _milliseconds(x: Translator, node: exp.Expr) -> int:
    asked = exp.Anonymous(this="epoch_us", expressions=[to_type(x.types, x(node), TIMESTAMPTZ)])
    found = _constant(node, asked)
    if not isinstance(found, int):
        raise Refused(f"TIMESTAMP is a time, like '2026-01-31 12:00:00'::timestamp, not {shown(node)}", node)
    return found // 1000


def _constant(node: exp.Expr, value: exp.Expr) -> Any:
    """What an expression is that reads no table."""
    if any(each.table for each in value.find_all(exp.Column)) or value.find(exp.Query):
        raise Refused(f"{shown(node)} is no constant: a moment is the same for all rows", node)
    try:
        row = empty_duckdb().cursor().execute(f"SELECT {rendered(value)}").fetchone()
    except duckdb.Error as error:
        raise Refused(f"{shown(node)}: {said(str(error))}", node) from error
    return row[0] if row else None


def _now() -> int:
    return int(dt.datetime.now(dt.UTC).timestamp() * 1000)
