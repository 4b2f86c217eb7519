"""SELECTs, set operations and WITH."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.assembly import Assembly, Output, Query, from_query, projected, restored
from frazil.cli.query.dialect import shown
from frazil.cli.query.expressions import Expressions
from frazil.cli.query.heads import upper
from frazil.cli.query.items import Item, listed
from frazil.cli.query.relations import Relations
from frazil.cli.query.scope import Field, Scope, Source
from frazil.cli.query.spark import call, cast, column, name, typed
from frazil.cli.query.tables import number_rows
from frazil.cli.query.types import Types
from frazil.cli.query.values import VARIANT, boxed
from frazil.errors import InvalidQuery
from frazil.tables.catalog import Catalog


class Compiler:
    """Turns the queries of one text into Spark SQL."""

    def __init__(self, catalog: Catalog, types: Types) -> None:
        self._catalog = catalog
        self._types = types
        self._numbers = itertools.count(1)
        self._ctes: list[exp.Expr] = []
        self._defined: list[tuple[exp.Identifier, str, list[Output]]] = []

    def top(self, node: exp.Expr, texts: Sequence[str]) -> Query:
        """The whole query; `texts` are the items of its first select list as the user wrote them."""
        found = self.query(node, None, texts)
        if not self._ctes:
            return found
        place = self.new()
        columns = [column(place, f"c{n}", each.type).as_(f"c{n}", quoted=True) for n, each in enumerate(found.outputs)]
        select = from_query(found.sql, place, columns)
        select.set("with_", exp.With(expressions=self._ctes))
        return Query(select, found.outputs)

    def new(self) -> str:
        """A name that nothing has."""
        return f"s{next(self._numbers)}"

    def defined(self, wanted: exp.Identifier) -> tuple[str, list[Output]] | None:
        """The query that a WITH gives that name: our name for it, and its columns."""
        for called, place, outputs in reversed(self._defined):
            exact = wanted.args.get("quoted")
            if (called.name == wanted.name) if exact else (called.name.lower() == wanted.name.lower()):
                return place, outputs
        return None

    def query(self, node: exp.Expr, outer: Scope | None, texts: Sequence[str] = ()) -> Query:
        """Any query, within the SELECT that `outer` belongs to."""
        before = len(self._defined)
        for each in node.args["with_"].expressions if node.args.get("with_") else ():
            self._define(each)
        try:
            if isinstance(node, exp.Select):
                return self._select(node, outer, texts)
            if isinstance(node, exp.SetOperation):
                return self._modified(self._set_operation(node, outer, texts), node)
            if isinstance(node, exp.Subquery):
                return self._modified(self.query(node.this, outer, texts), node)
            raise InvalidQuery(f"{shown(node)} is no query")
        finally:
            del self._defined[before:]

    def _define(self, cte: exp.Expr) -> None:
        found = self.query(cte.this, None)
        alias = cte.args["alias"]
        names = [upper(given) for given in alias.columns] or [output.name for output in found.outputs]
        if len(names) != len(found.outputs):
            raise InvalidQuery(f"{alias.name} has {len(found.outputs)} columns, and {len(names)} names for them")
        outputs = [Output(given, output.type) for given, output in zip(names, found.outputs, strict=True)]
        place = self.new()
        self._ctes.append(exp.CTE(this=found.sql, alias=exp.TableAlias(this=name(place))))
        self._defined.append((alias.this, place, outputs))

    def _subquery(self, node: exp.Expr, scope: Scope) -> tuple[exp.Expr, list[t.DataType]]:
        found = self.query(node, scope)
        return found.sql, [output.type for output in found.outputs]

    def _select(self, node: exp.Select, outer: Scope | None, texts: Sequence[str]) -> Query:
        scope = Scope(outer)
        x = Expressions(scope, self._types, self._subquery)
        relations = Relations(self._catalog, self._types, self, scope, x)
        select = exp.Select()
        if node.args.get("from_"):
            select.set("from_", relations.start(node.args["from_"].this))
        select.set("joins", [relations.join(each) for each in node.args.get("joins") or ()])
        items = listed(node.expressions, scope, x, texts)
        conditions = [*relations.conditions]
        if node.args.get("where"):
            conditions.append(x.condition(node.args["where"].this))
        if conditions:
            select.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
        found = Assembly(select, items, x, node).query(self.new(), self.new())
        number_rows(select)
        return found

    def _set_operation(self, node: exp.SetOperation, outer: Scope | None, texts: Sequence[str]) -> Query:
        left, right = self.query(node.this, outer, texts), self.query(node.expression, outer)
        if len(left.outputs) != len(right.outputs):
            raise InvalidQuery(
                f"{node.key.upper()}: the two sides have {len(left.outputs)} and {len(right.outputs)} columns"
            )
        pairs = zip(left.outputs, right.outputs, strict=True)
        outputs = [Output(one.name, self._common(one.type, other.type)) for one, other in pairs]
        variants = [isinstance(output.type, t.VariantType) for output in outputs]
        compared = any(variants) and (bool(node.args.get("distinct")) or not isinstance(node, exp.Union))
        sides = [self._side(side, variants, compared=compared) for side in (left, right)]
        found: exp.Expr = type(node)(
            this=exp.Subquery(this=sides[0]),
            expression=exp.Subquery(this=sides[1]),
            distinct=bool(node.args.get("distinct")),
        )
        return Query(restored(found, self.new(), outputs) if compared else found, outputs)

    def _common(self, one: t.DataType, other: t.DataType) -> t.DataType:
        if one == other:
            return one
        if isinstance(one, t.VariantType) or isinstance(other, t.VariantType):
            return VARIANT
        return self._types.of(call("coalesce", cast(exp.null(), one), cast(exp.null(), other)))

    def _side(self, query: Query, variants: Sequence[bool], *, compared: bool) -> exp.Expr:
        if not any(variants):
            return query.sql
        place = self.new()
        columns = []
        for n, (output, is_variant) in enumerate(zip(query.outputs, variants, strict=True)):
            value = column(place, f"c{n}", output.type)
            columns.append((boxed(self._types, value) if is_variant else value).as_(f"c{n}", quoted=True))
        unified = from_query(query.sql, place, columns)
        outputs = [Output("", VARIANT) if one else each for each, one in zip(query.outputs, variants, strict=True)]
        return projected(unified, self.new(), outputs, variants) if compared else unified

    def _modified(self, query: Query, node: exp.Expr) -> Query:
        """ORDER BY and LIMIT of a query that is no plain SELECT: over its columns."""
        if not any(node.args.get(part) for part in ("order", "limit", "offset")):
            return query
        place = self.new()
        fields = [
            Field(each.name, column(place, f"c{n}", each.type), each.type) for n, each in enumerate(query.outputs)
        ]
        x = Expressions(Scope(sources=[Source("", "", fields)]), self._types, self._subquery)
        items = [Item(each.name, None, typed(each.sql.copy(), each.type)) for each in fields]
        select = from_query(query.sql, place, [])
        bare = exp.Subquery(**{part: node.args.get(part) for part in ("order", "limit", "offset")})
        return Assembly(select, items, x, bare).query(self.new(), self.new())
