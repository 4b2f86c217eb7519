"""OVER (…) and WITHIN GROUP (…)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import duckdb
from sqlglot import exp

from frazil.snowflake.building import number
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.translator import Translator, whole
from frazil.snowflake.values import key

_FRAMES: Final = ("UNBOUNDED", "CURRENT ROW")
_ONLY_OVER: Final = frozenset(
    {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value",
     "last_value", "nth_value"}
)  # fmt: skip
_KINDS: Final = (
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue,
    exp.LastValue, exp.NthValue,
)  # fmt: skip
WHOLE_PARTITION: Final = (exp.FirstValue, exp.LastValue, exp.NthValue, exp.GroupConcat, exp.ArrayAgg)
"""Functions that see the whole partition in Snowflake, where others see what came until now."""


@functools.cache
def aggregates() -> frozenset[str]:
    """The names of DuckDB's aggregates."""
    rows = duckdb.connect(":memory:").execute(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type = 'aggregate'"
    )
    return frozenset(name for (name,) in rows.fetchall())


def is_aggregate(node: exp.Expr) -> bool:
    """Whether the node itself makes one value of many rows."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in aggregates()
    return isinstance(node, exp.AggFunc | exp.WithinGroup | exp.Filter) and not isinstance(node, _KINDS)


def aggregated(node: exp.Expr) -> bool:
    """Whether an expression in DuckDB SQL makes one value of many rows."""
    if isinstance(node, exp.Window | exp.Query):
        inside = node.this.iter_expressions() if isinstance(node, exp.Window) else ()
        return any(aggregated(each) for each in inside)
    return is_aggregate(node) or any(aggregated(each) for each in node.iter_expressions())


def core(node: exp.Expr) -> exp.Expr:
    """The function within an expression that OVER belongs to."""
    for each in node.walk():
        if isinstance(each, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup | exp.Filter):
            return each
        if isinstance(each, _KINDS) or is_aggregate(each):
            return each
        if isinstance(each, exp.Anonymous) and str(each.this).lower() in _ONLY_OVER:
            return each
    return node


def _window(x: Translator, node: exp.Expr) -> exp.Expr:
    inner = x(node.this)
    spec = node.args.get("spec")
    function = node.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        function = function.this
    order = node.args.get("order")
    window = exp.Window(
        partition_by=[key(x.types, x(each)) for each in node.args.get("partition_by") or ()],
        order=x.ordered(order) if order else None,
        spec=_frame(spec) if spec else _whole() if isinstance(function, WHOLE_PARTITION) else None,
        over="OVER",
    )
    found = core(inner)
    bare = found.copy()
    bare.type = None
    window.set("this", bare)
    if found is inner:
        x.types.of(window)
        return window
    for each in _ancestors(found, inner):
        each.type = None
    found.replace(window)
    x.types.of(inner)
    return inner


def _ancestors(node: exp.Expr, top: exp.Expr) -> list[exp.Expr]:
    chain = []
    current = node.parent
    while current is not None:
        chain.append(current)
        if current is top:
            break
        current = current.parent
    return [each for each in chain if not isinstance(each, exp.Cast)]


def _whole() -> exp.Expr:
    return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="UNBOUNDED", end_side="FOLLOWING")


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


def _within_group(x: Translator, node: exp.Expr) -> exp.Expr:
    if not isinstance(node.this, exp.Anonymous):
        raise Refused(f"{shown(node)}: this function does not take WITHIN GROUP", node)
    return x.bare_function(node.this, x.ordered(node.expression))


def _nulls(x: Translator, node: exp.Expr) -> exp.Expr:
    return type(node)(this=x(node.this))


WINDOWS: Final[dict[type[exp.Expr], Callable[[Translator, exp.Expr], exp.Expr]]] = {
    exp.WithinGroup: _within_group,
    exp.Window: _window,
    **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls), _nulls),
}
"""What each of them becomes."""
