"""Expressions, kind by kind: what `allow` lets through, as DuckDB SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlglot import exp

from frazil.snowflake import kinds
from frazil.snowflake.building import grouped, text, typed
from frazil.snowflake.casts import converted
from frazil.snowflake.functions import NAMED, OVERRIDES, WORDS
from frazil.snowflake.growth import Growth
from frazil.snowflake.intervals import interval
from frazil.snowflake.kinds import BOOLEAN
from frazil.snowflake.literals import literal
from frazil.snowflake.operators import OPERATORS
from frazil.snowflake.paths import step, steps, walk
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.rendering import rendered
from frazil.snowflake.scope import Scope, matching
from frazil.snowflake.translator import direction
from frazil.snowflake.typed import Types
from frazil.snowflake.values import WHOLE, as_boolean, boxed, is_there, key
from frazil.snowflake.windows import WINDOWS, core

Subqueries = Callable[[exp.Expr, Scope], tuple[exp.Expr, Sequence[exp.DataType]]]
"""Translates a query within an expression; gives its columns' types as well."""


class Expressions:
    """Translates the expressions of one SELECT."""

    def __init__(self, scope: Scope, types: Types, subqueries: Subqueries, growth: Growth) -> None:
        self.types = types
        self.growth = growth
        self._scope = scope
        self.subquery_of = subqueries
        """Translates a query within an expression."""

        self._resolving: list[str] = []
        self._grouped_by: frozenset[str] = frozenset()

    def group_by(self, keys: Sequence[exp.Expr]) -> bool:
        """From now on documents that are grouped by are what GROUP BY leaves of them; whether there are any."""
        self._grouped_by = frozenset(rendered(each) for each in keys if self.types.is_variant(each))
        return bool(self._grouped_by)

    def __call__(self, node: exp.Expr) -> exp.Expr:
        """The expression in DuckDB SQL.

        Raises:
            Refused: it names what does not exist, or stands where it has no meaning.
        """
        translate = _KINDS.get(type(node))
        try:
            if type(node) in OVERRIDES or translate is None:
                if not isinstance(node, exp.Func):
                    raise Refused(f"{shown(node)} is not supported here", node)
                found = self._function(node)
            else:
                found = translate(self, node)
                if isinstance(node, exp.Binary):
                    self.types.of(found)
            self.growth.check(found, node)
        except Refused as refused:
            if refused.node is None or not _has_place(refused.node):
                refused.node = node
            raise
        return self._seen(found) if self._grouped_by and found.type else found

    def _seen(self, found: exp.Expr) -> exp.Expr:
        """A document as GROUP BY leaves it, if it is grouped by."""
        if not self.types.is_variant(found):
            return found
        whole = boxed(self.types, found).copy()
        if rendered(whole) not in self._grouped_by:
            return found
        whole.unnest().meta[WHOLE] = True
        return whole

    def condition(self, node: exp.Expr) -> exp.Expr:
        """An expression that says whether."""
        return as_boolean(self.types, self(node))

    def ordered(self, order: exp.Expr) -> exp.Order:
        """The keys of an ORDER BY."""
        return exp.Order(expressions=[direction(each, key(self.types, self(each.this))) for each in order.expressions])

    def named(self, node: exp.Expr) -> exp.Expr:
        """What a column's name means: a column, an alias, or a column of the SELECT around this one."""
        assert isinstance(node, exp.Column)  # noqa: S101 (what the table below calls it for)
        if isinstance(node.this, exp.Star):
            raise Refused(f"{shown(node)} stands for several columns: only a select list takes it", node)
        found = self._scope.column(node)
        if found is None and len(node.parts) == 1:
            return self._alias(node)
        if found is None:
            raise self._scope.unknown(node)
        field, rest = found
        start = typed(field.used(), field.type)
        for part in rest:
            start = walk(self.types, start, [self._member(start, part)], shown(node))
        return start

    def _member(self, start: exp.Expr, part: exp.Identifier) -> str:
        """The field that a name after a dot means: as for columns, case counts in quotes only."""
        names = [name for name, _ in kinds.fields(self.types.of(start))]
        found = [part.name] if part.name in names else matching(((each, each) for each in names), part)
        if len(found) > 1:
            raise Refused(f"{part.name} can mean {' or '.join(sorted(found))}: write which one, in double quotes", part)
        return found[0] if found else part.name

    def _alias(self, node: exp.Column) -> exp.Expr:
        meant = matching(self._scope.aliases.get(node.name.lower(), ()), node.this)
        if not meant or node.name.lower() in self._resolving:
            raise self._scope.unknown(node)
        self._resolving.append(node.name.lower())
        try:
            return grouped(self(meant[0]))
        finally:
            self._resolving.pop()

    def subquery(self, node: exp.Expr) -> tuple[exp.Expr, Sequence[exp.DataType]]:
        """A query within an expression."""
        return self.subquery_of(node, self._scope)

    def _function(self, node: exp.Expr) -> exp.Expr:
        found = self.bare_function(node)
        if core(found) is not found or not isinstance(node.parent, _OVER):
            # What stands before OVER is known with it only.
            self.types.of(found)
        return found

    def bare_function(self, node: exp.Expr, order: exp.Order | None = None) -> exp.Expr:
        """A function, which may still need its OVER; `order` is what WITHIN GROUP says."""
        if isinstance(node, exp.Anonymous):
            name = str(node.this).upper()
            words = WORDS.get(name, frozenset())
            arguments = [
                _word(each) if place in words else self._argument(each) for place, each in enumerate(node.expressions)
            ]
            named = exp.Anonymous(this=name, expressions=arguments)
            return NAMED[name](exp.WithinGroup(this=named, expression=order) if order else named, self.types)
        arguments_by_part = {part: self._part(value) for part, value in node.args.items()}
        rebuilt = type(node)(**arguments_by_part)
        override = OVERRIDES.get(type(node))
        return override(rebuilt, self.types) if override else rebuilt

    def _part(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._part(each) for each in value]
        return self._argument(value) if isinstance(value, exp.Expr) else value

    def _argument(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Order):
            return self.ordered(node)
        if isinstance(node, exp.Distinct | exp.PropertyEQ | exp.Kwarg | exp.Tuple):
            return type(node)(**{part: self._inner(node, part, value) for part, value in node.args.items()})
        if isinstance(node, exp.Var | exp.Identifier | exp.DataType | exp.Star):
            return node.copy()
        return self(node)

    def _inner(self, node: exp.Expr, part: str, value: Any) -> Any:
        named = isinstance(node, exp.PropertyEQ | exp.Kwarg) and part == "this"
        return value.copy() if named else self._part(value)


_OVER = (exp.Window, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def _has_place(node: exp.Expr) -> bool:
    return any("start" in each.meta for each in node.walk())


def _word(node: exp.Expr) -> exp.Expr:
    """An argument that is a word, whether it is written bare or as a text."""
    if isinstance(node, exp.Var) or (isinstance(node, exp.Column) and len(node.parts) == 1):
        return text(node.name)
    if isinstance(node, exp.Literal) and node.is_string:
        return text(node.name)
    raise Refused(f"a word is expected there, not {shown(node)}", node)


def _dot(x: Expressions, node: exp.Expr) -> exp.Expr:
    if not isinstance(node.expression, exp.Identifier):
        raise Refused(f"{shown(node)} is not supported here", node)
    return walk(x.types, x(node.this), [node.expression.name], shown(node.this))


def _path(x: Expressions, node: exp.Expr) -> exp.Expr:
    return walk(x.types, x(node.this), steps(node.expression), shown(node.this))


def _bracket(x: Expressions, node: exp.Expr) -> exp.Expr:
    if len(node.expressions) != 1:
        raise Refused(f"{shown(node)}: one key or place stands in brackets", node)
    return walk(x.types, x(node.this), [step(x(node.expressions[0]))], shown(node.this))


def _cast(x: Expressions, node: exp.Expr) -> exp.Expr:
    return converted(x.types, x(node.this), node.args["to"], safe=isinstance(node, exp.TryCast))


def _interval(x: Expressions, node: exp.Interval) -> exp.Expr:  # noqa: ARG001 (one of a table of functions)
    return interval(node)


def _paren(x: Expressions, node: exp.Expr) -> exp.Expr:
    found = x(node.this)
    return found if is_there(found) else grouped(found)


def _exists(x: Expressions, node: exp.Expr) -> exp.Expr:
    found, _ = x.subquery(node.this)
    return typed(exp.Exists(this=found), BOOLEAN)


def _scalar(x: Expressions, node: exp.Expr) -> exp.Expr:
    found, types = x.subquery(node)
    if len(types) != 1:
        raise Refused(f"a query used as a value has one column, not {len(types)}", node)
    return typed(exp.Subquery(this=found), types[0])


_KINDS: Final[dict[type[exp.Expr], Callable[..., exp.Expr]]] = {
    exp.Column: Expressions.named,
    **dict.fromkeys((exp.Literal, exp.RawString, exp.Null, exp.Boolean), lambda _, node: literal(node)),
    exp.Paren: _paren,
    exp.Dot: _dot,
    exp.JSONExtract: _path,
    exp.Bracket: _bracket,
    **OPERATORS,
    **WINDOWS,
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    exp.Interval: _interval,
    exp.Exists: _exists,
    **dict.fromkeys((exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect), _scalar),
}
