"""Operators: what they do with VARIANTs, and where Spark's differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query import texts
from frazil.cli.query.conditions import same
from frazil.cli.query.dialect import shown
from frazil.cli.query.spark import call, grouped, is_null, name, typed
from frazil.cli.query.translator import Translator
from frazil.cli.query.values import as_number, as_text, equal, pair, unified
from frazil.errors import InvalidQuery

_BOOLEAN: Final = t.BooleanType()


def _logical(x: Translator, node: exp.Expr) -> exp.Expr:
    left, right = (grouped(x.condition(side)) for side in (node.this, node.expression))
    return typed(type(node)(this=left, expression=right), _BOOLEAN)


def _not(x: Translator, node: exp.Expr) -> exp.Expr:
    return typed(exp.Not(this=grouped(x.condition(node.this))), _BOOLEAN)


def _comparison(x: Translator, node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.NEQ) and isinstance(node.expression, exp.All):
        # How the parser writes NOT IN (SELECT …).
        return typed(exp.Not(this=exp.paren(_in_query(x, node.this, node.expression.this))), _BOOLEAN)
    left, right = pair(x.types, x(node.this), x(node.expression))
    return typed(type(node)(this=grouped(left), expression=grouped(right)), _BOOLEAN)


def _arithmetic(x: Translator, node: exp.Expr) -> exp.Expr:
    left, right = (grouped(as_number(x.types, x(side))) for side in (node.this, node.expression))
    return type(node)(this=left, expression=right)


def _negative(x: Translator, node: exp.Expr) -> exp.Expr:
    return exp.paren(exp.Neg(this=grouped(as_number(x.types, x(node.this)))))


def _joined_text(x: Translator, node: exp.Expr) -> exp.Expr:
    return call("concat", *(as_text(x.types, x(side)) for side in (node.this, node.expression)), kind=t.StringType())


def _is(x: Translator, node: exp.Expr) -> exp.Expr:
    if isinstance(node.expression, exp.Null):
        return typed(is_null(x(node.this)), _BOOLEAN)
    if isinstance(node.expression, exp.Boolean):
        found = exp.Is(this=grouped(x.condition(node.this)), expression=exp.Boolean(this=node.expression.this))
        return typed(found, _BOOLEAN)
    raise InvalidQuery(f"{shown(node)}: after IS come NULL, TRUE and FALSE")


def _between(x: Translator, node: exp.Expr) -> exp.Expr:
    value, low, high = (x(node.args[part]) for part in ("this", "low", "high"))
    (above, bottom), (below, top) = pair(x.types, value, low), pair(x.types, value.copy(), high)
    at_least = exp.GTE(this=grouped(above), expression=grouped(bottom))
    at_most = exp.LTE(this=grouped(below), expression=grouped(top))
    return typed(exp.And(this=at_least, expression=at_most), _BOOLEAN)


def _in(x: Translator, node: exp.Expr) -> exp.Expr:
    if node.args.get("query"):
        return _in_query(x, node.this, node.args["query"])
    if isinstance(node.this, exp.Tuple):
        raise InvalidQuery(f"{shown(node)}: write one comparison for each of the values, with AND and OR")
    value, items = x(node.this), [x(each) for each in node.expressions]
    if any(x.types.is_variant(each) for each in (value, *items)):
        alternatives = [exp.paren(equal(x.types, value.copy(), each)) for each in items]
        return typed(exp.paren(exp.or_(*alternatives, copy=False)), _BOOLEAN)
    return typed(exp.In(this=grouped(value), expressions=items), _BOOLEAN)


def _in_query(x: Translator, node: exp.Expr, query: exp.Expr) -> exp.Expr:
    value = x(node)
    found, kinds = x.subquery(query)
    if len(kinds) != 1:
        raise InvalidQuery(f"IN takes a query of one column, not of {len(kinds)}")
    inner = typed(exp.column("c0", quoted=True), kinds[0])
    left, right = pair(x.types, value, inner)
    wrapped = exp.select(right).from_(exp.Subquery(this=found, alias=exp.TableAlias(this=name("i"))), copy=False)
    return typed(exp.In(this=grouped(left), query=exp.Subquery(this=wrapped)), _BOOLEAN)


def _like(x: Translator, node: exp.Expr, escape: exp.Expr | None = None) -> exp.Expr:
    value, pattern = grouped(as_text(x.types, x(node.this))), node.expression
    if isinstance(pattern, exp.Any | exp.All):
        listed = pattern.this.expressions if isinstance(pattern.this, exp.Tuple) else [pattern.this.this]
        each = [exp.paren(_one_like(x, node, value.copy(), one, escape)) for one in listed]
        together = exp.or_ if isinstance(pattern, exp.Any) else exp.and_
        return typed(exp.paren(together(*each, copy=False)), _BOOLEAN)
    return _one_like(x, node, value, pattern, escape)


def _one_like(x: Translator, node: exp.Expr, value: exp.Expr, pattern: exp.Expr, escape: exp.Expr | None) -> exp.Expr:
    if escape is None:
        return typed(type(node)(this=value, expression=texts.like_pattern(x, pattern)), _BOOLEAN)
    found = type(node)(this=value, expression=grouped(as_text(x.types, x(pattern))))
    return typed(exp.Escape(this=found, expression=escape), _BOOLEAN)


def _escape(x: Translator, node: exp.Expr) -> exp.Expr:
    sign = node.expression
    if not (isinstance(node.this, exp.Like | exp.ILike) and isinstance(sign, exp.Literal) and len(sign.name) == 1):
        raise InvalidQuery(f"{shown(node)}: ESCAPE takes one character in quotes")
    return _like(x, node.this, x(sign))


def _regexp(x: Translator, node: exp.Expr) -> exp.Expr:
    return texts.matches(x, node.this, node.expression)


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
    ifs = [exp.If(this=condition, true=result) for condition, result in zip(conditions, results, strict=False)]
    return exp.Case(ifs=ifs, default=results[-1] if default else None)


def _same(x: Translator, node: exp.Expr) -> exp.Expr:
    return same(x, x(node.this), x(node.expression))


def _different(x: Translator, node: exp.Expr) -> exp.Expr:
    return typed(exp.Not(this=exp.paren(_same(x, node))), _BOOLEAN)


OPERATORS: Final[dict[type[exp.Expr], Callable[[Translator, exp.Expr], exp.Expr]]] = {
    **dict.fromkeys((exp.And, exp.Or), _logical),
    exp.Not: _not,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), _comparison),
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _different,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), _arithmetic),
    exp.Neg: _negative,
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
