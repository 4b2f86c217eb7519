"""GROUP BY, also by VARIANTs: Spark cannot compare them, so their JSON text is grouped by and read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from frazil.cli.query.aggregates import AGGREGATES
from frazil.cli.query.expressions import Expressions
from frazil.cli.query.items import Item, ordinal
from frazil.cli.query.spark import call, further, text
from frazil.cli.query.values import VARIANT

_SETS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)


class Grouping:
    """The GROUP BY of one SELECT."""

    def __init__(self, x: Expressions, items: Sequence[Item], group: exp.Group | None) -> None:
        self._x = x
        self._items = items
        self._variants: list[exp.Expr] = []
        self.clause = self._clause(group) if group else None
        """In Spark SQL."""

    def seen(self, node: exp.Expr) -> exp.Expr:
        """An expression of the SELECT, in which the keys are what GROUP BY leaves of them."""
        return node.copy().transform(self._read_again) if self._variants else node

    def _clause(self, group: exp.Group) -> exp.Group:
        nodes = group.expressions
        if group.args.get("all"):
            keys = [item.sql for item in self._items if item.node is None or not aggregates(item.node)]
            return exp.Group(expressions=[self._key(key) for key in keys])
        return exp.Group(expressions=[self._translated(node) for node in nodes])

    def _translated(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, (*_SETS, exp.Tuple)):
            return type(node)(expressions=[self._translated(each) for each in node.expressions])
        place = ordinal(node, len(self._items), "GROUP BY")
        return self._key(self._items[place].sql if place is not None else self._x(node))

    def _key(self, key: exp.Expr) -> exp.Expr:
        if not self._x.types.is_variant(key):
            return key.copy()
        bare = key.unnest()
        self._variants.append(bare)
        return call("to_json", bare.copy())

    def _read_again(self, node: exp.Expr) -> exp.Expr:
        for grouped_by in self._variants:
            if node == grouped_by:
                return _grouped(grouped_by)
            rest = further(node, grouped_by)
            if rest is not None:
                _, _, kind = node.expressions
                return call(node.this, _grouped(grouped_by), text(rest), kind.copy())
        return node


def _grouped(key: exp.Expr) -> exp.Expr:
    return call("parse_json", call("to_json", key.copy()), kind=VARIANT)


def aggregates(node: exp.Expr) -> bool:
    """Whether an expression as the user wrote it takes many rows together."""
    return any(function.this.upper() in AGGREGATES and not _over(function) for function in node.find_all(exp.Anonymous))


def _over(function: exp.Expr) -> bool:
    parent = function.parent
    while isinstance(parent, exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls) and parent.this is function:
        function, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is function
