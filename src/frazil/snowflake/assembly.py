"""A SELECT put together: its columns in their places, then GROUP BY, HAVING, QUALIFY, DISTINCT, ORDER BY and LIMIT.

Columns are called c0, c1 and so on. Of the outermost SELECT they are what leaves DuckDB: documents as JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot import exp

from frazil.snowflake import kinds
from frazil.snowflake.building import cast, column, name
from frazil.snowflake.expressions import Expressions
from frazil.snowflake.items import Item, ordinal
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.scope import matching
from frazil.snowflake.sources import Output, Query
from frazil.snowflake.translator import constant, direction, whole
from frazil.snowflake.typed import Types
from frazil.snowflake.values import boxed, is_there, key
from frazil.snowflake.windows import aggregated

_SETS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)


class Assembly:
    """One SELECT that has its FROM and WHERE, and gets the rest."""

    def __init__(self, select: exp.Select, items: Callable[[], list[Item]], x: Expressions, node: exp.Expr) -> None:
        """Begin with what is there.

        Args:
            select: its FROM and WHERE, in DuckDB SQL.
            items: gives its select list.
            x: translates its expressions.
            node: the query as the user wrote it.
        """
        self._select = select
        self._x = x
        self._node = node
        self._items = items()
        if self._group():
            self._items = items()

    def query(self, new: str, *, top: bool) -> Query:
        """The whole SELECT; `new` is a name for it if it has to be put into another one."""
        node = self._node
        distinct = isinstance(node, exp.Select) and bool(node.args.get("distinct"))
        wrapped = distinct and (top or bool(node.args.get("order")))
        for part, kind in (("having", exp.Having), ("qualify", exp.Qualify)):
            if clause := node.args.get(part):
                self._select.set(part, kind(this=self._x.condition(clause.this)))
        given = [inner(self._x.types, item.sql) for item in self._items]
        outputs = [Output(item.name, self._x.types.of(each)) for item, each in zip(self._items, given, strict=True)]
        self._select.set("distinct", exp.Distinct() if distinct else None)
        if wrapped:
            self._select.set("expressions", aliased(given))
            keys = self._keys(new, outputs)
            columns = [column(new, f"c{n}", each.type) for n, each in enumerate(outputs)]
            found = from_query(self._select, new, columns, self._x.types, top=top)
        else:
            keys = self._keys(None, outputs)
            found = self._select
            found.set("expressions", aliased([final(self._x.types, each) for each in given] if top else given))
        if keys:
            found.set("order", exp.Order(expressions=keys))
        for part, clause in limits(node).items():
            found.set(part, clause)
        return Query(found, outputs)

    def _group(self) -> bool:
        """Put GROUP BY in its place; whether the select list means something else with it."""
        group = self._node.args.get("group")
        if not group:
            return False
        if group.args.get("all"):
            keys = [item.sql for item in self._items if not aggregated(item.sql)]
            found = [constant(inner(self._x.types, each)).copy() for each in keys]
        else:
            found = [self._grouped(each) for each in _flat(group.expressions)]
        for each in found:
            if aggregated(each) and not isinstance(each, _SETS):
                raise Refused("GROUP BY has an aggregate; group by what is in it", group)
        if found:
            self._select.set("group", exp.Group(expressions=found))
        keys = [each for one in found for each in (one.find_all(exp.Expr) if isinstance(one, _SETS) else [one])]
        return self._x.group_by([each for each in keys if each.type])

    def _grouped(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, (*_SETS, exp.Tuple)):
            return type(node)(expressions=[self._grouped(each) for each in node.expressions])
        if isinstance(node, exp.Paren):
            return exp.paren(self._grouped(node.this))
        place = ordinal(node, len(self._items), "GROUP BY")
        value = self._items[place].sql if place is not None else self._x(node)
        return constant(inner(self._x.types, value)).copy()

    def _keys(self, place: str | None, outputs: Sequence[Output]) -> list[exp.Expr]:
        """The keys of ORDER BY; over the columns of the query called `place`, if it is put into another one."""
        order = self._node.args.get("order")
        found: list[exp.Expr] = []
        for each in order.expressions if order else ():
            if _is_all(each.this) and self._output(each.this) is None:
                found += [direction(each, self._by(self._value(n, place, outputs))) for n in range(len(outputs))]
            else:
                found.append(direction(each, self._by(self._key(each.this, place, outputs))))
        return found

    def _by(self, value: exp.Expr) -> exp.Expr:
        return constant(key(self._x.types, value))

    def _value(self, number: int, place: str | None, outputs: Sequence[Output]) -> exp.Expr:
        if place:
            return column(place, f"c{number}", outputs[number].type)
        return self._items[number].sql.copy()

    def _key(self, node: exp.Expr, place: str | None, outputs: Sequence[Output]) -> exp.Expr:
        found = self._output(node)
        if found is not None:
            return self._value(found, place, outputs)
        if place:
            raise Refused(f"ORDER BY {shown(node)}: SELECT DISTINCT is ordered by columns that it selects", node)
        return self._x(node)

    def _output(self, node: exp.Expr) -> int | None:
        """The column of the result that a key means: by number, by name, or by being the same expression."""
        place = ordinal(node, len(self._items), "ORDER BY")
        if place is not None:
            return place
        if isinstance(node, exp.Column) and len(node.parts) == 1 and isinstance(node.this, exp.Identifier):
            named = matching(((item.name, n) for n, item in enumerate(self._items)), node.this)
            if len(named) == 1:
                return named[0]
        return next((n for n, item in enumerate(self._items) if item.node == node), None)


def _flat(nodes: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The keys of a GROUP BY, those in parentheses one by one."""
    return [each for node in nodes for each in (node.expressions if isinstance(node, exp.Tuple) else [node])]


def _is_all(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Column)
        and len(node.parts) == 1
        and node.name.upper() == "ALL"
        and not node.this.args.get("quoted")
    )


def inner(types: Types, node: exp.Expr) -> exp.Expr:
    """A value as it goes on to the query around: what a VARIANT's path leads to is a document then."""
    return boxed(types, node) if is_there(node) else node


def final(types: Types, node: exp.Expr) -> exp.Expr:
    """A value as it leaves DuckDB."""
    kind = types.of(node)
    if is_document(kind):
        return cast(boxed(types, node), kinds.TEXT)
    if kind.this in kinds.INTEGERS and kind.this in (exp.DType.INT128, exp.DType.UINT128, exp.DType.UBIGINT):
        return cast(node, kinds.NUMBER)
    return cast(node, kinds.TEXT) if kind.this in (exp.DType.INTERVAL, exp.DType.NULL) else node


def is_document(kind: exp.DataType) -> bool:
    """Whether a value leaves DuckDB as JSON text."""
    return kinds.has(kind, exp.DType.JSON, exp.DType.VARIANT)


def aliased(values: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Values as c0, c1 and so on."""
    return [exp.Alias(this=each, alias=name(f"c{n}")) for n, each in enumerate(values)]


def from_query(query: exp.Expr, place: str, columns: Sequence[exp.Expr], types: Types, *, top: bool) -> exp.Select:
    """SELECT … FROM (query) AS place."""
    relation = exp.Subquery(this=query, alias=exp.TableAlias(this=name(place)))
    values = [final(types, each) if top else each for each in columns]
    return exp.Select(expressions=aliased(values), from_=exp.From(this=relation))


def limits(node: exp.Expr) -> dict[str, exp.Expr]:
    """LIMIT and OFFSET.

    Raises:
        Refused: one is no whole number.
    """
    found: dict[str, exp.Expr] = {}
    for part, kind in (("limit", exp.Limit), ("offset", exp.Offset)):
        clause = node.args.get(part)
        count = clause and (clause.args.get("count") if isinstance(clause, exp.Fetch) else clause.expression)
        if count and not isinstance(count, exp.Null):
            number = whole(part.upper(), count)
            if number < 0:
                raise Refused(f"{part.upper()} {number} is less than nothing", clause)
            found[part] = kind(expression=exp.Literal.number(str(number)))
    return found
