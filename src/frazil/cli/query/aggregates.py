"""Aggregates and window functions that Spark has under other rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.spark import call, cast, is_null, name, not_null, number, text, typed
from frazil.cli.query.translator import Function, Translator, arity
from frazil.cli.query.values import VARIANT, as_number, as_text, boxed, key

AGGREGATES: Final = frozenset(
    re.findall(
        r"\w+",
        """
        COUNT COUNT_IF SUM AVG MIN MAX MEDIAN MODE STDDEV STDDEV_SAMP STDDEV_POP VARIANCE VAR_SAMP VAR_POP KURTOSIS SKEW
        CORR COVAR_POP COVAR_SAMP ANY_VALUE LISTAGG ARRAY_AGG ARRAY_UNIQUE_AGG OBJECT_AGG APPROX_COUNT_DISTINCT HLL
        APPROX_PERCENTILE PERCENTILE_CONT PERCENTILE_DISC MAX_BY MIN_BY BOOLAND_AGG BOOLOR_AGG GROUPING GROUPING_ID""",
    )
)
"""Functions of many rows; GROUP BY ALL groups by the expressions that have none of them."""

CORES: Final = frozenset({"collect_list", "collect_set", "mode"})
"""Spark's aggregates that others are made of here: over a window, it is they that go over it."""

WHOLE_PARTITION: Final = frozenset({"FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"})
"""Window functions that look at the whole partition unless a frame is written."""


def _values(arguments: Sequence[exp.Expr]) -> tuple[Sequence[exp.Expr], bool]:
    """The arguments of an aggregate, and whether DISTINCT stands before them."""
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        return arguments[0].expressions, True
    return arguments, False


def _count(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        return call("count", exp.Star(), kind=t.LongType())
    values, distinct = _values(arguments)
    arity("COUNT", values, 1)
    read = [key(x.types, x(node)) if distinct else x(node) for node in values]
    inner = [exp.Distinct(expressions=read)] if distinct else read
    return call("count", *inner, kind=t.LongType())


def _extreme(spark: str) -> Function:
    def extreme(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        values, _ = _values(arguments)
        arity(spark.upper(), values, 1, 2)
        value = x(values[0])
        if x.types.is_variant(value):
            return call(f"{spark}_by", value, key(x.types, value.copy()), kind=VARIANT)
        return call(spark, value, kind=x.types.of(value))

    return extreme


def _extreme_by(spark: str) -> Function:
    def extreme(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(spark.upper(), arguments, 2, 2)
        value, by = x(arguments[0]), x(arguments[1])
        return call(spark, value, key(x.types, by), kind=x.types.of(value))

    return extreme


def _mode(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("MODE", arguments, 1, 1)
    value = x(arguments[0])
    if not x.types.is_variant(value):
        return call("mode", value, kind=x.types.of(value))
    return call("parse_json", call("mode", call("to_json", value)), kind=VARIANT)


def listagg(x: Translator, arguments: Sequence[exp.Expr], order: exp.Order | None = None) -> exp.Expr:
    """LISTAGG, with its WITHIN GROUP (ORDER BY …) if it has one: Spark's own fails beside some other aggregates."""
    values, distinct = _values(arguments)
    arity("LISTAGG", values, 1, 2)
    separator = as_text(x.types, x(values[1])) if len(values) > 1 else text("")
    value = as_text(x.types, x(values[0]))
    written = value if isinstance(x.types.of(value), t.StringType) else cast(value, t.StringType())
    return call("array_join", _collected(x, written, order, distinct=distinct), separator, kind=t.StringType())


def array_agg(x: Translator, arguments: Sequence[exp.Expr], order: exp.Order | None = None) -> exp.Expr:
    """ARRAY_AGG, with its WITHIN GROUP (ORDER BY …) if it has one."""
    values, distinct = _values(arguments)
    arity("ARRAY_AGG", values, 1, 1)
    return _collected(x, x(values[0]), order, distinct=distinct)


def _collected(x: Translator, value: exp.Expr, order: exp.Order | None, *, distinct: bool) -> exp.Expr:
    if distinct:
        return _distinct_values(x, value, order)
    kind = t.ArrayType(x.types.of(value))
    if order is None:
        return call("collect_list", value, kind=kind)
    keys = x.ordered(order).expressions
    by = [part for place, each in enumerate(keys) for part in (text(f"k{place}"), each.this)]
    row = call("named_struct", *by, text("value"), value)
    rows = call("collect_list", exp.Case(ifs=[exp.If(this=not_null(value.copy()), true=row)]))
    return call("transform", call("array_sort", rows, _comparison(keys)), _each(_member("x", "value")), kind=kind)


def _comparison(keys: Sequence[exp.Expr]) -> exp.Expr:
    """A comparator of rows by their keys, for array_sort: negative, zero or positive."""
    ifs = []
    for place, each in enumerate(keys):
        left, right = (_member(row, f"k{place}") for row in ("x", "y"))
        null_left = exp.And(this=is_null(left), expression=not_null(right))
        null_right = exp.And(this=not_null(left), expression=is_null(right))
        less, more = exp.LT(this=left, expression=right), exp.GT(this=left, expression=right)
        sign = -1 if each.args.get("desc") else 1
        before = -1 if each.args.get("nulls_first") else 1
        outcomes: list[tuple[exp.Expr, int]] = [(null_left, before), (null_right, -before), (less, -sign), (more, sign)]
        ifs += [exp.If(this=condition.copy(), true=number(outcome)) for condition, outcome in outcomes]
    return exp.Lambda(this=exp.Case(ifs=ifs, default=number(0)), expressions=[name("x"), name("y")])


def _member(row: str, of_it: str) -> exp.Expr:
    return exp.Dot(this=exp.Column(this=name(row)), expression=name(of_it))


def _distinct_values(x: Translator, value: exp.Expr, order: exp.Order | None) -> exp.Expr:
    kind = t.ArrayType(x.types.of(value))
    if x.types.is_variant(value):
        found = call("collect_set", call("to_json", value))
        read = call("parse_json", exp.Column(this=name("x")))
        return call("transform", call("sort_array", found), _each(read), kind=kind)
    found = call("collect_set", value)
    if order is None:
        return typed(found, kind)
    # Snowflake orders distinct values by themselves only.
    (by, *_) = x.ordered(order).expressions
    return call("sort_array", found, exp.Boolean(this=not by.args.get("desc")), kind=kind)


def _each(body: exp.Expr) -> exp.Expr:
    return exp.Lambda(this=body, expressions=[name("x")])


def _object_agg(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("OBJECT_AGG", arguments, 2, 2)
    member = as_text(x.types, x(arguments[0]))
    value = x(arguments[1])
    both = call("struct", cast(member, t.StringType()), boxed(x.types, value))
    there = exp.And(this=not_null(member.copy()), expression=not_null(value.copy()))
    kept = call("collect_list", exp.Case(ifs=[exp.If(this=there, true=both)]))
    return call("to_variant_object", call("map_from_entries", kept), kind=VARIANT)


def _distinct_count(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("APPROX_COUNT_DISTINCT", arguments, 1, 1)
    return call("approx_count_distinct", key(x.types, x(arguments[0])), kind=t.LongType())


def _percentile(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("APPROX_PERCENTILE", arguments, 2, 2)
    return call("percentile_approx", as_number(x.types, x(arguments[0])), x(arguments[1]))


def _one_of(spark: str, at_least: int, at_most: int) -> Function:
    """A window function that gives the value of one row."""

    def one_of(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(spark.upper(), arguments, at_least, at_most)
        value, *rest = (x(node) for node in arguments)
        return call(spark, value, *rest, kind=x.types.of(value))

    return one_of


FUNCTIONS: Final[dict[str, Function]] = {
    "COUNT": _count,
    "MIN": _extreme("min"),
    "MAX": _extreme("max"),
    "MIN_BY": _extreme_by("min_by"),
    "MAX_BY": _extreme_by("max_by"),
    "MODE": _mode,
    "LISTAGG": listagg,
    "ARRAY_AGG": array_agg,
    "ARRAY_UNIQUE_AGG": lambda x, arguments: array_agg(x, [exp.Distinct(expressions=list(arguments))]),
    "OBJECT_AGG": _object_agg,
    "APPROX_COUNT_DISTINCT": _distinct_count,
    "HLL": _distinct_count,
    "APPROX_PERCENTILE": _percentile,
    "LAG": _one_of("lag", 1, 3),
    "LEAD": _one_of("lead", 1, 3),
    "FIRST_VALUE": _one_of("first_value", 1, 1),
    "LAST_VALUE": _one_of("last_value", 1, 1),
    "NTH_VALUE": _one_of("nth_value", 2, 2),
}
