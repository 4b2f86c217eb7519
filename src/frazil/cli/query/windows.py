"""OVER (…) and WITHIN GROUP (…)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.aggregates import WHOLE_PARTITION, array_agg
from frazil.cli.query.dialect import shown
from frazil.cli.query.spark import number, typed
from frazil.cli.query.translator import Translator, direction, whole
from frazil.cli.query.values import as_number, key
from frazil.errors import InvalidQuery

_FRAMES: Final = ("UNBOUNDED", "CURRENT ROW")


def _within_group(x: Translator, node: exp.Expr) -> exp.Expr:
    function, order = node.this, node.expression
    known = isinstance(function, exp.Anonymous) and function.this.upper()
    if known == "ARRAY_AGG":
        return array_agg(x, function.expressions, order)
    if known not in ("LISTAGG", "PERCENTILE_CONT", "PERCENTILE_DISC"):
        raise InvalidQuery(f"{shown(node)}: only LISTAGG, ARRAY_AGG and PERCENTILE_… take WITHIN GROUP")
    if known != "LISTAGG":
        keys = [direction(each, as_number(x.types, x(each.this))) for each in order.expressions]
        return exp.WithinGroup(this=x(function), expression=exp.Order(expressions=keys))
    inner = x(function)
    return typed(exp.WithinGroup(this=inner, expression=x.ordered(order)), t.StringType())


def _window(x: Translator, node: exp.Expr) -> exp.Expr:
    function = node.this.this if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls) else node.this
    inner = x(node.this)
    spec = node.args.get("spec")
    by_name = function.this.upper() if isinstance(function, exp.Anonymous) else ""
    if spec is None and by_name in WHOLE_PARTITION:
        frame: exp.Expr | None = exp.WindowSpec(
            kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="UNBOUNDED", end_side="FOLLOWING"
        )
    else:
        frame = _frame(spec) if spec else None
    order = node.args.get("order")
    return exp.Window(
        this=inner,
        partition_by=[key(x.types, x(each)) for each in node.args.get("partition_by") or ()],
        order=x.ordered(order) if order else None,
        spec=frame,
        over="OVER",
    )


def _frame(spec: exp.Expr) -> exp.Expr:
    parts: dict[str, object] = {"kind": str(spec.args["kind"]).upper()}
    for end in ("start", "end"):
        given = spec.args.get(end)
        side = spec.args.get(f"{end}_side")
        if isinstance(given, str):
            parts[end] = next((word for word in _FRAMES if word == given.upper()), None)
        elif given is not None:
            parts[end] = number(whole("a window's frame", given))
        parts[f"{end}_side"] = str(side).upper() if side else None
    return exp.WindowSpec(**parts)


def _nulls(x: Translator, node: exp.Expr) -> exp.Expr:
    return type(node)(this=x(node.this))


WINDOWS: Final[dict[type[exp.Expr], Callable[[Translator, exp.Expr], exp.Expr]]] = {
    exp.WithinGroup: _within_group,
    exp.Window: _window,
    **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls), _nulls),
}
"""What each of them becomes."""
