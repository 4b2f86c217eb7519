"""Functions of many rows, and of windows.

Those that are more than one of DuckDB's aggregates have it within; OVER then belongs to that.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Final, TypeAlias

from sqlglot import exp

from frazil.snowflake.building import call, not_null, text, typed, variable
from frazil.snowflake.functions.documents import from_list, from_members
from frazil.snowflake.functions.meanings import (
    Function,
    arity,
    as_condition,
    as_double,
    as_exact,
    as_integer,
    rank,
    read,
    whole,
)
from frazil.snowflake.kinds import BIGINT, BOOLEAN, DOUBLE, JSON, TEXT
from frazil.snowflake.places import Refused
from frazil.snowflake.rendering import rendered
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text, boxed, key

Aggregate: TypeAlias = Callable[[Types, list[exp.Expr], exp.Order | None], exp.Expr]
"""As a Function, with what WITHIN GROUP says."""


def _values(arguments: list[exp.Expr]) -> tuple[list[exp.Expr], bool]:
    """The arguments of an aggregate, and whether DISTINCT stands before them."""
    if arguments and isinstance(arguments[0], exp.Distinct):
        return [*arguments[0].expressions, *arguments[1:]], True
    return arguments, False


def _with_distinct(values: list[exp.Expr], *, distinct: bool) -> list[exp.Expr]:
    return [exp.Distinct(expressions=values)] if distinct else values


def _count(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        return call("count", exp.Star(), kind=BIGINT)
    values, distinct = _values(arguments)
    arity("COUNT", values, 1)
    if len(values) == 1:
        read_value = key(types, values[0]) if distinct else values[0]
        return call("count", *_with_distinct([read_value], distinct=distinct), kind=BIGINT)
    # Rows with a NULL among the values do not count.
    present = not_null(values[0])
    for each in values[1:]:
        present = typed(exp.And(this=present, expression=not_null(each.copy())), BOOLEAN)
    row = call("row", *(key(types, each) for each in values)) if distinct else exp.Literal.number(1)
    counted = exp.Case(ifs=[exp.If(this=present.copy(), true=row)])
    return call("count", *_with_distinct([counted], distinct=distinct), kind=BIGINT)


def _simple(name: str, function: str, ways: str, kind: exp.DataType | None) -> Function:
    """One aggregate of DuckDB's."""

    def simple(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        values, distinct = _values(arguments)
        arity(name, values, len(ways), len(ways))
        return call(function, *_with_distinct(read(types, ways, values), distinct=distinct), kind=kind)

    return simple


def _sum(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    values, distinct = _values(arguments)
    arity("SUM", values, 1, 1)
    return call("sum", *_with_distinct([as_exact(types, values[0])], distinct=distinct))


def _avg(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    values, distinct = _values(arguments)
    arity("AVG", values, 1, 1)
    return call("avg", *_with_distinct([as_exact(types, values[0])], distinct=distinct), kind=DOUBLE)


def _extreme(name: str, function: str) -> Function:
    def extreme(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        values, _ = _values(arguments)
        arity(name, values, 1, 1)
        value = values[0]
        if types.is_variant(value):
            return call(f"arg_{function}", boxed(types, value), rank(types, value.copy()), kind=JSON)
        return call(function, value, kind=types.of(value))

    return extreme


def _extreme_by(name: str, function: str) -> Function:
    def extreme(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 2, 3)
        value, by = arguments[0], rank(types, arguments[1])
        if len(arguments) == 2:
            return call(f"arg_{function}_null", value, by, kind=types.of(value))
        most = whole(name, arguments[2], "the number of values")
        if not 1 <= most <= 1000:
            raise Refused(f"{name}: the number of values is 1 to 1000", arguments[2])
        order = exp.Ordered(this=by, desc=function == "max", nulls_first=False)
        listed = _listed(boxed(types, value), exp.Order(expressions=[order]), present=by.copy())
        return from_list(template(f"coalesce(list_slice(a, 1, {most}), [])", [listed]))

    return extreme


def _listed(value: exp.Expr, order: exp.Order | None, *, present: exp.Expr, distinct: bool = False) -> exp.Expr:
    """A list of the values of rows where `present` is something."""
    inner: exp.Expr = exp.Distinct(expressions=[value]) if distinct else value
    if order is not None:
        inner = exp.Order(this=inner, expressions=order.expressions)
    return exp.Filter(this=call("list", inner), expression=exp.Where(this=not_null(present)))


def _collected(types: Types, value: exp.Expr, order: exp.Order | None, *, distinct: bool) -> tuple[exp.Expr, exp.Expr]:
    """A list, and the value that is in an element x of it."""
    element = variable("x", types.of(value))
    if not distinct or order is None:
        return _listed(value, order, present=value.copy(), distinct=distinct), element
    if len(order.expressions) != 1:
        raise Refused("with DISTINCT, WITHIN GROUP orders by the same value only")
    (only,) = order.expressions
    down, first = (only.args.get(part) for part in ("desc", "nulls_first"))
    present, kept = value.copy(), value
    if types.is_variant(value):
        kept = template("{'k': a, 'v': b}", [rank(types, value), boxed(types, value.copy())])
        element = template("struct_extract(a, 'v')", [variable("x", None)], JSON)
    by = exp.Order(expressions=[exp.Ordered(this=kept.copy(), desc=down, nulls_first=first)])
    return _listed(kept, by, present=present, distinct=True), element


def _listagg(types: Types, arguments: list[exp.Expr], order: exp.Order | None) -> exp.Expr:
    values, distinct = _values(arguments)
    arity("LISTAGG", values, 1, 2)
    separator = as_text(types, values[1]) if len(values) > 1 else text("")
    collected, element = _collected(types, values[0], order, distinct=distinct)
    texts = f"list_transform(a, lambda x: {rendered(as_text(types, element))})"
    return template(f"coalesce(array_to_string({texts}, b), '')", [collected, separator], TEXT)


def _array_agg(types: Types, arguments: list[exp.Expr], order: exp.Order | None) -> exp.Expr:
    values, distinct = _values(arguments)
    arity("ARRAY_AGG", values, 1, 1)
    collected, element = _collected(types, values[0], order, distinct=distinct)
    item = rendered(boxed(types, element))
    return from_list(template(f"coalesce(list_transform(a, lambda x: {item}), [])", [collected]))


def _array_unique_agg(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    return _array_agg(types, [exp.Distinct(expressions=arguments)], None)


def _object_agg(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("OBJECT_AGG", arguments, 2, 2)
    member, value = as_text(types, arguments[0]), boxed(types, arguments[1])
    pair = "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN {'k': a, 'v': CAST(b AS VARCHAR)} END"
    both = template(pair, [member, value])
    return from_members(template("coalesce(a, [])", [_listed(both, None, present=both.copy())]))


def _mode(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("MODE", arguments, 1, 1)
    value = boxed(types, arguments[0]) if types.is_variant(arguments[0]) else arguments[0]
    return call("mode", value, kind=types.of(value))


def _median(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("MEDIAN", arguments, 1, 1)
    return call("median", as_exact(types, arguments[0]))


def _percentile(name: str, function: str) -> Aggregate:
    def percentile(types: Types, arguments: list[exp.Expr], order: exp.Order | None) -> exp.Expr:
        arity(name, arguments, 1, 1)
        if order is None or len(order.expressions) != 1:
            raise Refused(f"{name} needs WITHIN GROUP (ORDER BY one value)")
        share, (by,) = arguments[0], order.expressions
        if not isinstance(share, exp.Literal) or share.is_string or not 0 <= float(share.name) <= 1:
            raise Refused(f"{name} takes a share between 0 and 1 that is written in the query", share)
        # What a VARIANT is ordered by has its number as a field.
        of_variant = types.kind(by.this) == exp.DType.STRUCT
        value = template("struct_extract(a, 'n')", [by.this], DOUBLE) if of_variant else by.this
        if function == "quantile_disc":
            ordered = exp.Ordered(this=value.copy(), desc=by.args.get("desc"), nulls_first=False)
            return call(function, value, exp.Order(this=share, expressions=[ordered]), kind=types.of(value))
        if by.args.get("desc"):
            share = exp.Literal.number(str(1 - decimal.Decimal(share.name)))
        return call(function, value, share)

    return percentile


def _approx_percentile(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("APPROX_PERCENTILE", arguments, 2, 2)
    return call("approx_quantile", as_double(types, arguments[0]), as_exact(types, arguments[1]), kind=DOUBLE)


def _distinct_count(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    values, _ = _values(arguments)
    arity("APPROX_COUNT_DISTINCT", values, 1)
    keys = [key(types, each) for each in values]
    return call("approx_count_distinct", keys[0] if len(keys) == 1 else call("row", *keys), kind=BIGINT)


def _grouping(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    del types
    arity("GROUPING", arguments, 1)
    return call("grouping", *arguments, kind=BIGINT)


def _share(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("RATIO_TO_REPORT", arguments, 1, 1)
    value = as_double(types, arguments[0])
    return template("a / nullif(b, 0)", [value, call("sum", value.copy(), kind=DOUBLE)], DOUBLE)


def _true_events(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("CONDITIONAL_TRUE_EVENT", arguments, 1, 1)
    return call("count_if", template("coalesce(a, false)", [as_condition(types, arguments[0])], BOOLEAN), kind=BIGINT)


def _ranking(name: str, kind: exp.DataType) -> Function:
    def ranking(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        count = 1 if name == "NTILE" else 0
        arity(name, arguments, count, count)
        return call(name.lower(), *(as_integer(types, each) for each in arguments), kind=kind)

    return ranking


def of_rows(node: exp.Expr, types: Types) -> exp.Expr:
    """LAG, LEAD and those that take a row of the partition: they stay what sqlglot reads, for IGNORE NULLS."""
    parts = {part: each for part, each in node.args.items() if each}
    if isinstance(parts.get("offset"), exp.Expr):
        parts["offset"] = as_integer(types, parts["offset"])
    # Without a type: OVER, which it needs, decides.
    return type(node)(**parts)


_DOUBLES: Final = {
    "STDDEV": ("stddev_samp", "d"), "STDDEV_SAMP": ("stddev_samp", "d"), "STDDEV_POP": ("stddev_pop", "d"),
    "VARIANCE": ("var_samp", "d"), "VAR_SAMP": ("var_samp", "d"), "VARIANCE_SAMP": ("var_samp", "d"),
    "VAR_POP": ("var_pop", "d"), "VARIANCE_POP": ("var_pop", "d"), "SKEW": ("skewness", "d"),
    "KURTOSIS": ("kurtosis_pop", "d"), "CORR": ("corr", "dd"), "COVAR_POP": ("covar_pop", "dd"),
    "COVAR_SAMP": ("covar_samp", "dd"), "REGR_AVGX": ("regr_avgx", "dd"), "REGR_AVGY": ("regr_avgy", "dd"),
    "REGR_INTERCEPT": ("regr_intercept", "dd"), "REGR_R2": ("regr_r2", "dd"), "REGR_SLOPE": ("regr_slope", "dd"),
    "REGR_SXX": ("regr_sxx", "dd"), "REGR_SXY": ("regr_sxy", "dd"), "REGR_SYY": ("regr_syy", "dd"),
}  # fmt: skip

ORDERED: Final[dict[str, Aggregate]] = {
    "LISTAGG": _listagg,
    "STRING_AGG": _listagg,
    "ARRAY_AGG": _array_agg,
    "ARRAYAGG": _array_agg,
    "PERCENTILE_CONT": _percentile("PERCENTILE_CONT", "quantile_cont"),
    "PERCENTILE_DISC": _percentile("PERCENTILE_DISC", "quantile_disc"),
}
"""Those that take WITHIN GROUP."""

FUNCTIONS: Final[dict[str, Function]] = {
    **{name: _simple(name, function, ways, DOUBLE) for name, (function, ways) in _DOUBLES.items()},
    "COUNT": _count,
    "COUNT_IF": _simple("COUNT_IF", "count_if", "b", BIGINT),
    "SUM": _sum,
    "AVG": _avg,
    "MIN": _extreme("MIN", "min"),
    "MAX": _extreme("MAX", "max"),
    "MIN_BY": _extreme_by("MIN_BY", "min"),
    "MAX_BY": _extreme_by("MAX_BY", "max"),
    "MEDIAN": _median,
    "MODE": _mode,
    "ANY_VALUE": _simple("ANY_VALUE", "any_value", "a", None),
    "BOOLAND_AGG": _simple("BOOLAND_AGG", "bool_and", "b", BOOLEAN),
    "BOOLOR_AGG": _simple("BOOLOR_AGG", "bool_or", "b", BOOLEAN),
    "BITAND_AGG": _simple("BITAND_AGG", "bit_and", "i", None),
    "BITOR_AGG": _simple("BITOR_AGG", "bit_or", "i", None),
    "BITXOR_AGG": _simple("BITXOR_AGG", "bit_xor", "i", None),
    "REGR_COUNT": _simple("REGR_COUNT", "regr_count", "dd", BIGINT),
    "ARRAY_UNIQUE_AGG": _array_unique_agg,
    "OBJECT_AGG": _object_agg,
    "OBJECTAGG": _object_agg,
    "APPROX_COUNT_DISTINCT": _distinct_count,
    "HLL": _distinct_count,
    "APPROX_PERCENTILE": _approx_percentile,
    "GROUPING": _grouping,
    "GROUPING_ID": _grouping,
    "RATIO_TO_REPORT": _share,
    "CONDITIONAL_TRUE_EVENT": _true_events,
    "NTILE": _ranking("NTILE", BIGINT),
    **{name: _ranking(name, BIGINT) for name in ("ROW_NUMBER", "RANK", "DENSE_RANK")},
    **{name: _ranking(name, DOUBLE) for name in ("PERCENT_RANK", "CUME_DIST")},
}
"""What each becomes."""
