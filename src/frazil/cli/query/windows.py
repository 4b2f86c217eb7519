"""OVER (…) and WITHIN GROUP (…)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from frazil.cli.query.aggregates import CORES, WHOLE_PARTITION, array_agg, listagg
from frazil.cli.query.dialect import shown
from frazil.cli.query.spark import number, typed
from frazil.cli.query.translator import Translator, direction, whole
from frazil.cli.query.values import as_number, key
from frazil.errors import InvalidQuery

_FRAMES: Final = ("UNBOUNDED", "CURRENT ROW")


def _within_group(x: Translator, node: exp.Expr) -> exp.Expr:
    function, order = node.this, node.expression
    known = function.this.upper() if isinstance(function, exp.Anonymous) else ""
    if known in ("ARRAY_AGG", "LISTAGG"):
        return (array_agg if known == "ARRAY_AGG" else listagg)(x, function.expressions, order)
    if known not in ("PERCENTILE_CONT", "PERCENTILE_DISC"):
        raise InvalidQuery(f"{shown(node)}: only LISTAGG, ARRAY_AGG and PERCENTILE_… take WITHIN GROUP")
    keys = [direction(each, as_number(x.types, x(each.this))) for each in order.expressions]
    return exp.WithinGroup(this=x(function), expression=exp.Order(expressions=keys))


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
    window = exp.Window(
        partition_by=[key(x.types, x(each)) for each in node.args.get("partition_by") or ()],
        order=x.ordered(order) if order else None,
        spec=frame,
        over="OVER",
    )
    core = next((each for each in inner.find_all(exp.Anonymous) if each.this in CORES), inner)
    window.set("this", core.copy())
    return typed(inner.transform(lambda each: window if each is core else each, copy=False), x.types.of(inner))


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
    found = x(node.this)
    return typed(type(node)(this=found), x.types.of(found))


WINDOWS: Final[dict[type[exp.Expr], Callable[[Translator, exp.Expr], exp.Expr]]] = {
    exp.WithinGroup: _within_group,
    exp.Window: _window,
    **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls), _nulls),
}
"""What each of them becomes."""
