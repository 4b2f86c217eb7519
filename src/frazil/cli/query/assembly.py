"""A SELECT put together: its columns in their places, then DISTINCT, QUALIFY, ORDER BY and LIMIT.

Columns are called c0, c1 and so on. Spark can neither compare VARIANTs nor filter by window functions: then the SELECT
goes into another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.dialect import shown
from frazil.cli.query.expressions import Expressions
from frazil.cli.query.grouping import Grouping
from frazil.cli.query.items import Item, ordinal
from frazil.cli.query.scope import matching
from frazil.cli.query.spark import call, column, name, typed
from frazil.cli.query.translator import direction, whole
from frazil.cli.query.values import VARIANT, key
from frazil.errors import InvalidQuery


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a query."""

    name: str
    type: t.DataType


@dataclass(frozen=True, slots=True)
class Query:
    """A query in Spark SQL; its columns are called c0, c1 and so on."""

    sql: exp.Expr
    outputs: list[Output]


class Assembly:
    """One SELECT that has its FROM and WHERE, and gets the rest."""

    def __init__(self, select: exp.Select, items: list[Item], x: Expressions, node: exp.Expr) -> None:
        """Begin with what is there.

        Args:
            select: its FROM and WHERE, in Spark SQL.
            items: its select list.
            x: translates its expressions.
            node: the query as the user wrote it.
        """
        self._select = select
        self._x = x
        self._node = node
        self._grouping = Grouping(x, items, node.args.get("group"))
        self._items = items
        self._outputs = [Output(item.name, x.types.of(item.sql)) for item in items]

    def query(self, inner: str, outer: str) -> Query:
        """The whole SELECT; `inner` and `outer` are names for what has to be put into another SELECT."""
        if self._grouping.clause:
            self._select.set("group", self._grouping.clause)
        if having := self._node.args.get("having"):
            self._select.set("having", exp.Having(this=self._seen(self._x.condition(having.this))))
        columns = [self._seen(item.sql).as_(f"c{n}", quoted=True) for n, item in enumerate(self._items)]
        variants = [isinstance(output.type, t.VariantType) for output in self._outputs]
        distinct = self._distinct()
        if self._node.args.get("qualify") or (distinct and any(variants)):
            found, keys = self._nested(columns, variants, inner, outer, distinct=distinct)
        else:
            found, keys = self._select, self._keys()
            found.set("expressions", columns)
            found.set("distinct", exp.Distinct() if distinct else None)
        if keys:
            found.set("order", exp.Order(expressions=keys))
        for part, clause in limits(self._node).items():
            found.set(part, clause)
        return Query(found, self._outputs)

    def _nested(
        self, columns: list[exp.Expr], variants: list[bool], inner: str, outer: str, *, distinct: bool
    ) -> tuple[exp.Select, list[exp.Expr]]:
        hidden: list[exp.Expr] = []
        keys = self._keys(None if distinct else hidden, inner)
        qualify = self._node.args.get("qualify")
        if qualify:
            hidden.append(self._seen(self._x.condition(qualify.this)).as_("q", quoted=True))
        self._select.set("expressions", [*columns, *hidden])
        found = projected(self._select, inner, self._outputs, variants if distinct else ())
        if qualify:
            found.set("where", exp.Where(this=column(inner, "q", t.BooleanType())))
        if distinct:
            found.set("distinct", exp.Distinct())
            found = restored(found, outer, self._outputs)
        return found, keys

    def _keys(self, hidden: list[exp.Expr] | None = None, place: str = "") -> list[exp.Expr]:
        """The keys of ORDER BY; those that are no columns of the result become hidden ones."""
        order = self._node.args.get("order")
        return [
            direction(each, key(self._x.types, self._key(each.this, hidden, place)))
            for each in (order.expressions if order else ())
        ]

    def _key(self, node: exp.Expr, hidden: list[exp.Expr] | None, place: str) -> exp.Expr:
        found = self._output(node)
        if found is not None:
            return typed(exp.column(f"c{found}", quoted=True), self._outputs[found].type)
        value = self._x(node)
        kind = self._x.types.of(value)
        if not place:
            return typed(self._seen(value), kind)
        if hidden is None:
            raise InvalidQuery(f"ORDER BY {shown(node)}: SELECT DISTINCT is ordered by columns that it selects")
        hidden.append(self._seen(value).as_(f"o{len(hidden)}", quoted=True))
        return column(place, f"o{len(hidden) - 1}", kind)

    def _output(self, node: exp.Expr) -> int | None:
        """The column of the result that a key means: by number, by name, or by being the same expression."""
        place = ordinal(node, len(self._items), "ORDER BY")
        if place is not None:
            return place
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            named = matching(((item.name, n) for n, item in enumerate(self._items)), node.this)
            if len(named) == 1:
                return named[0]
        return next((n for n, item in enumerate(self._items) if item.node == node), None)

    def _seen(self, node: exp.Expr) -> exp.Expr:
        return self._grouping.seen(node)

    def _distinct(self) -> bool:
        return isinstance(self._node, exp.Select) and bool(self._node.args.get("distinct"))


def projected(query: exp.Expr, place: str, outputs: Sequence[Output], as_json: Sequence[bool]) -> exp.Select:
    """SELECT the columns of a query; `as_json` says which VARIANTs as their JSON text, so that they can be compared."""
    columns = []
    for n, output in enumerate(outputs):
        value = column(place, f"c{n}", output.type)
        columns.append((call("to_json", value) if as_json and as_json[n] else value).as_(f"c{n}", quoted=True))
    return from_query(query, place, columns)


def restored(query: exp.Expr, place: str, outputs: Sequence[Output]) -> exp.Select:
    """SELECT the columns of a query, VARIANTs read from their JSON text."""
    columns = []
    for n, output in enumerate(outputs):
        value = column(place, f"c{n}", output.type)
        is_variant = isinstance(output.type, t.VariantType)
        columns.append((call("parse_json", value, kind=VARIANT) if is_variant else value).as_(f"c{n}", quoted=True))
    return from_query(query, place, columns)


def from_query(query: exp.Expr, place: str, columns: Sequence[exp.Expr]) -> exp.Select:
    """SELECT … FROM (query) AS place."""
    inner = exp.Subquery(this=query, alias=exp.TableAlias(this=name(place)))
    return exp.Select(expressions=list(columns), from_=exp.From(this=inner))


def limits(node: exp.Expr) -> dict[str, exp.Expr]:
    """LIMIT and OFFSET.

    Raises:
        InvalidQuery: one is no whole number.
    """
    found: dict[str, exp.Expr] = {}
    for part, kind in (("limit", exp.Limit), ("offset", exp.Offset)):
        clause = node.args.get(part)
        count = clause and (clause.args.get("count") if isinstance(clause, exp.Fetch) else clause.expression)
        if count and not isinstance(count, exp.Null):
            number = whole(part.upper(), count)
            if number < 0:
                raise InvalidQuery(f"{part.upper()} {number} is less than nothing")
            found[part] = kind(expression=exp.Literal.number(number))
    return found
