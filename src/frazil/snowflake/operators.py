"""Operators: what they do with VARIANTs, and where DuckDB's differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from frazil.snowflake.arithmetic import computed, negative
from frazil.snowflake.building import call, choice, compare, grouped, is_null, name, negation, text, together, typed
from frazil.snowflake.kinds import BOOLEAN, TEXT
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.translator import Translator
from frazil.snowflake.values import as_text, equal, is_there, pair, same, unified


def _logical(x: Translator, node: exp.Expr) -> exp.Expr:
    assert isinstance(node, exp.Binary)  # noqa: S101 (what the table below calls it for)
    return compare(type(node), x.condition(node.this), x.condition(node.expression))


def _comparison(x: Translator, node: exp.Expr) -> exp.Expr:
    assert isinstance(node, exp.Binary)  # noqa: S101
    if isinstance(node, exp.NEQ) and isinstance(node.expression, exp.All):
        # How the parser writes NOT IN (SELECT …).
        return negation(_in_query(x, node.this, node.expression.this))
    left, right = pair(x.types, x(node.this), x(node.expression))
    return compare(type(node), left, right)


def _arithmetic(x: Translator, node: exp.Expr) -> exp.Expr:
    assert isinstance(node, exp.Binary)  # noqa: S101
    return computed(x.types, type(node), x(node.this), x(node.expression))


def _joined_text(x: Translator, node: exp.Expr) -> exp.Expr:
    left, right = (grouped(as_text(x.types, x(side))) for side in (node.this, node.expression))
    return typed(exp.DPipe(this=left, expression=right), TEXT)


def _is(x: Translator, node: exp.Expr) -> exp.Expr:
    if isinstance(node.expression, exp.Null):
        value = x(node.this)
        there = is_there(value)
        # A null within a VARIANT is no NULL.
        return negation(call("coalesce", there, exp.false(), kind=BOOLEAN)) if there else is_null(value)
    if isinstance(node.expression, exp.Boolean):
        wanted = exp.Boolean(this=node.expression.this)
        return typed(exp.Is(this=grouped(x.condition(node.this)), expression=wanted), BOOLEAN)
    raise Refused(f"{shown(node)}: after IS come NULL, TRUE and FALSE", node)


def _between(x: Translator, node: exp.Expr) -> exp.Expr:
    value, low, high = (x(node.args[part]) for part in ("this", "low", "high"))
    (above, bottom), (below, top) = pair(x.types, value, low), pair(x.types, value.copy(), high)
    return together(exp.And, [compare(exp.GTE, above, bottom), compare(exp.LTE, below, top)])


def _in(x: Translator, node: exp.Expr) -> exp.Expr:
    if node.args.get("query"):
        return _in_query(x, node.this, node.args["query"])
    if isinstance(node.this, exp.Tuple):
        raise Refused(f"{shown(node)}: write one comparison for each of the values, with AND and OR", node)
    value, items = x(node.this), [x(each) for each in node.expressions]
    plain = {x.types.kind(each) for each in (value, *items) if not x.types.is_null(each)}
    if len(plain) > 1 or x.types.is_variant(value):
        return typed(exp.paren(together(exp.Or, [equal(x.types, value.copy(), each) for each in items])), BOOLEAN)
    return typed(exp.In(this=grouped(value), expressions=items), BOOLEAN)


def _in_query(x: Translator, node: exp.Expr, query: exp.Expr) -> exp.Expr:
    value = x(node)
    found, types = x.subquery(query)
    if len(types) != 1:
        raise Refused(f"IN takes a query of one column, not of {len(types)}", query)
    inner = typed(exp.column("c0", table="i", quoted=True), types[0])
    left, right = pair(x.types, value, inner)
    wrapped = exp.Select(expressions=[right], from_=exp.From(this=_called(found, "i")))
    return typed(exp.In(this=grouped(left), query=exp.Subquery(this=wrapped)), BOOLEAN)


def _called(query: exp.Expr, alias: str) -> exp.Expr:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=name(alias)))


def _like(x: Translator, node: exp.Expr, escape: exp.Expr | None = None) -> exp.Expr:
    value, pattern = as_text(x.types, x(node.this)), node.expression
    if isinstance(pattern, exp.Any | exp.All):
        listed = pattern.this.expressions if isinstance(pattern.this, exp.Tuple) else [pattern.this.unnest()]
        each = [_one_like(x, node, value.copy(), one, escape) for one in listed]
        return typed(exp.paren(together(exp.Or if isinstance(pattern, exp.Any) else exp.And, each)), BOOLEAN)
    return _one_like(x, node, value, pattern, escape)


def _one_like(x: Translator, node: exp.Expr, value: exp.Expr, pattern: exp.Expr, escape: exp.Expr | None) -> exp.Expr:
    wanted = grouped(as_text(x.types, x(pattern)))
    found = typed(type(node)(this=grouped(value), expression=wanted), BOOLEAN)
    return typed(exp.Escape(this=found, expression=escape.copy()), BOOLEAN) if escape else found


def _escape(x: Translator, node: exp.Expr) -> exp.Expr:
    sign = node.expression
    if not (isinstance(node.this, exp.Like | exp.ILike) and isinstance(sign, exp.Literal) and len(sign.name) == 1):
        raise Refused(f"{shown(node)}: ESCAPE takes one character in quotes", node)
    return _like(x, node.this, text(sign.name))


def _case(x: Translator, node: exp.Expr) -> exp.Expr:
    branches = node.args["ifs"]
    default = node.args.get("default")
    results = [x(each.args["true"]) for each in branches] + ([x(default)] if default else [])
    results = unified(x.types, results)
    if node.this:
        subject = x(node.this)
        conditions = [equal(x.types, subject.copy(), x(each.this)) for each in branches]
    else:
        conditions = [x.condition(each.this) for each in branches]
    pairs = list(zip(conditions, results, strict=False))
    return typed(choice(pairs, results[-1] if default else None), _type(x, results))


def _type(x: Translator, results: list[exp.Expr]) -> exp.DataType:
    found = x.types.of(results[0])
    for each in results[1:]:
        found = x.types.common(found, x.types.of(each))
    return found


def _same(x: Translator, node: exp.Expr) -> exp.Expr:
    return same(x.types, x(node.this), x(node.expression))


def _regexp(x: Translator, node: exp.Expr) -> exp.Expr:
    value, pattern = (as_text(x.types, x(side)) for side in (node.this, node.expression))
    return call("regexp_full_match", value, pattern, kind=BOOLEAN)


OPERATORS: Final[dict[type[exp.Expr], Callable[[Translator, exp.Expr], exp.Expr]]] = {
    **dict.fromkeys((exp.And, exp.Or), _logical),
    exp.Not: lambda x, node: negation(x.condition(node.this)),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), _comparison),
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: lambda x, node: negation(_same(x, node)),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), _arithmetic),
    exp.Neg: lambda x, node: negative(x.types, x(node.this)),
    exp.DPipe: _joined_text,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    **dict.fromkeys((exp.Like, exp.ILike), _like),
    exp.Escape: _escape,
    exp.RegexpLike: _regexp,
    exp.Case: _case,
}
"""What each operator becomes."""
