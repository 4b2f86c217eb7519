"""Expressions, kind by kind: what `allow` lets through, as Spark SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query import texts, times
from frazil.cli.query.casts import converted
from frazil.cli.query.dialect import shown
from frazil.cli.query.functions import FUNCTIONS
from frazil.cli.query.literals import literal
from frazil.cli.query.nested import step
from frazil.cli.query.objects import constructed
from frazil.cli.query.operators import OPERATORS
from frazil.cli.query.paths import steps, walk
from frazil.cli.query.scope import Scope, matching
from frazil.cli.query.spark import call, grouped, typed
from frazil.cli.query.translator import direction
from frazil.cli.query.types import Types
from frazil.cli.query.values import as_condition, key
from frazil.cli.query.windows import WINDOWS
from frazil.errors import InvalidQuery

Subqueries = Callable[[exp.Expr, Scope], tuple[exp.Expr, list[t.DataType]]]
"""Translates a query within an expression; gives its columns' types as well."""


class Expressions:
    """Translates the expressions of one SELECT."""

    def __init__(self, scope: Scope, types: Types, subqueries: Subqueries) -> None:
        self.types = types
        self._scope = scope
        self._subqueries = subqueries
        self._resolving: list[str] = []

    def __call__(self, node: exp.Expr) -> exp.Expr:
        """The expression in Spark SQL.

        Raises:
            InvalidQuery: it names what does not exist, or stands where it has no meaning.
        """
        translate = _KINDS.get(type(node))
        if translate is None:
            raise InvalidQuery(f"{shown(node)} is not supported here")
        return translate(self, node)

    def condition(self, node: exp.Expr) -> exp.Expr:
        """An expression that says whether."""
        return as_condition(self.types, self(node))

    def ordered(self, order: exp.Expr) -> exp.Order:
        """The keys of an ORDER BY."""
        return exp.Order(expressions=[direction(each, key(self.types, self(each.this))) for each in order.expressions])

    def named(self, node: exp.Expr) -> exp.Expr:
        """What a column's name means: a column, an alias, or a column of the SELECT around this one."""
        assert isinstance(node, exp.Column)  # noqa: S101 (what the table below calls it for)
        if isinstance(node.this, exp.Star):
            raise InvalidQuery(f"{shown(node)} stands for several columns: only a select list takes it")
        found = self._scope.column(node)
        if found is None and len(node.parts) == 1:
            return self._alias(node)
        if found is None:
            raise self._unknown(node)
        field, rest = found
        start = typed(field.sql.copy(), field.type)
        for part in rest:
            start = walk(self.types, start, [self._member(start, part)], node)
        return start

    def _member(self, start: exp.Expr, part: exp.Identifier) -> str:
        """The field that a name after a dot means: as for columns, case counts in quotes only."""
        kind = self.types.of(start)
        names = [each.name for each in kind.fields] if isinstance(kind, t.StructType) else []
        found = [part.name] if part.name in names else matching(((each, each) for each in names), part)
        if len(found) > 1:
            raise InvalidQuery(f"{part.name} can mean {' or '.join(sorted(found))}: write which one, in double quotes")
        return found[0] if found else part.name

    def _alias(self, node: exp.Column) -> exp.Expr:
        meant = matching(self._scope.aliases.get(node.name.lower(), ()), node.this)
        if not meant or node.name.lower() in self._resolving:
            raise self._unknown(node)
        self._resolving.append(node.name.lower())
        try:
            return grouped(self(meant[0]))
        finally:
            self._resolving.pop()

    def _unknown(self, node: exp.Column) -> InvalidQuery:
        known = ", ".join(self._scope.known()[:20]) or "none: the query has no FROM"
        return InvalidQuery(f"there is no column {shown(node)}; there are: {known}")

    def subquery(self, node: exp.Expr) -> tuple[exp.Expr, list[t.DataType]]:
        """A query within an expression."""
        return self._subqueries(node, self._scope)


def _dot(x: Expressions, node: exp.Expr) -> exp.Expr:
    if not isinstance(node.expression, exp.Identifier):
        raise InvalidQuery(f"{shown(node)} is not supported here")
    return walk(x.types, x(node.this), [node.expression.name], node.this)


def _path(x: Expressions, node: exp.Expr) -> exp.Expr:
    return walk(x.types, x(node.this), steps(node.expression), node.this)


def _bracket(x: Expressions, node: exp.Expr) -> exp.Expr:
    if len(node.expressions) != 1:
        raise InvalidQuery(f"{shown(node)}: one key or place stands in brackets")
    return walk(x.types, x(node.this), [step(x, node.expressions[0])], node.this)


def _cast(x: Expressions, node: exp.Expr) -> exp.Expr:
    return converted(x.types, x(node.this), node.args["to"], safe=isinstance(node, exp.TryCast))


def _try_boolean(x: Expressions, node: exp.Expr) -> exp.Expr:
    return converted(x.types, x(node.this), exp.DataType(this=exp.DType.BOOLEAN), safe=bool(node.args.get("safe")))


def _interval(x: Expressions, node: exp.Expr) -> exp.Expr:  # noqa: ARG001 (one of a table of functions)
    if not (isinstance(node.this, exp.Literal) and node.this.name.lstrip("-").isdecimal() and node.args.get("unit")):
        raise InvalidQuery(f"{shown(node)}: write INTERVAL '3 days', one number and one unit")
    return exp.Interval(
        this=exp.Literal.string(str(int(node.this.name))), unit=exp.Var(this=times.unit(node.args["unit"]))
    )


def _position(x: Expressions, node: exp.Expr) -> exp.Expr:
    rest = [node.args["position"]] if node.args.get("position") else []
    return texts.position(x, [node.args["substr"], node.this, *rest])


def _object(x: Expressions, node: exp.Expr) -> exp.Expr:
    if not all(isinstance(each, exp.PropertyEQ) for each in node.expressions):
        raise InvalidQuery(f"{shown(node)}: an object is written {{'key': value}}")
    members = [(exp.Literal.string(each.this.name), each.expression) for each in node.expressions]
    return constructed(x, members)


def _exists(x: Expressions, node: exp.Expr) -> exp.Expr:
    found, _ = x.subquery(node.this)
    return typed(exp.Exists(this=found), t.BooleanType())


def _scalar(x: Expressions, node: exp.Expr) -> exp.Expr:
    found, kinds = x.subquery(node)
    if len(kinds) != 1:
        raise InvalidQuery(f"a query used as a value has one column, not {len(kinds)}")
    return typed(exp.Subquery(this=found), kinds[0])


_KINDS: Final[dict[type[exp.Expr], Callable[..., exp.Expr]]] = {
    exp.Column: Expressions.named,
    **dict.fromkeys((exp.Literal, exp.RawString, exp.Null, exp.Boolean), lambda _, node: literal(node)),
    exp.Paren: lambda x, node: grouped(x(node.this)),
    exp.Dot: _dot,
    exp.JSONExtract: _path,
    exp.Bracket: _bracket,
    **OPERATORS,
    **WINDOWS,
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    exp.ToBoolean: _try_boolean,
    exp.Interval: _interval,
    exp.Extract: lambda x, node: times.part(x, node.this, node.expression),
    exp.StrPosition: _position,
    exp.Anonymous: lambda x, node: FUNCTIONS[node.this.upper()](x, node.expressions),
    exp.Struct: _object,
    exp.Array: lambda x, node: FUNCTIONS["ARRAY_CONSTRUCT"](x, node.expressions),
    exp.CurrentDate: lambda _, __: call("current_date", kind=t.DateType()),
    exp.CurrentTimestamp: lambda x, _: times.now(x, []),
    exp.Exists: _exists,
    **dict.fromkeys((exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect), _scalar),
}
