"""FROM: tables of the catalog, queries, VALUES and FLATTEN, each under a name of ours."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from frazil.cli.query.assembly import Output, Query
from frazil.cli.query.dialect import shown
from frazil.cli.query.expressions import Expressions
from frazil.cli.query.flatten import flattened
from frazil.cli.query.scope import Field, Scope, Source
from frazil.cli.query.spark import call, grouped, name, rendered, typed
from frazil.cli.query.tables import existing, fields_of, loaded, sampled, source_of
from frazil.cli.query.types import Types
from frazil.cli.query.values import equal
from frazil.errors import InvalidQuery
from frazil.tables.catalog import Catalog


class Names(Protocol):
    """The queries a WITH defines, and new names."""

    def defined(self, name: exp.Identifier) -> tuple[str, list[Output]] | None:
        """Our name for the query of that name, and its columns."""

    def new(self) -> str:
        """A name that nothing has."""

    def query(self, node: exp.Expr, outer: Scope | None) -> Query:
        """A query within the FROM."""


class Relations:
    """The FROM of one SELECT."""

    def __init__(self, catalog: Catalog, types: Types, names: Names, scope: Scope, x: Expressions) -> None:
        self._catalog = catalog
        self._types = types
        self._names = names
        self._scope = scope
        self._x = x
        self.conditions: list[exp.Expr] = []
        """What a join's ON asks that stands in WHERE instead."""

    def start(self, node: exp.Expr) -> exp.From | None:
        """The first relation; None for DUAL."""
        if isinstance(node, exp.Table) and self._is_dual(node):
            return None
        relation, source = self._relation(node)
        self._scope.sources.append(source)
        return exp.From(this=_table_function(relation) if isinstance(relation, exp.Lateral) else relation)

    def join(self, node: exp.Join) -> exp.Join:
        """A further relation, and how it is joined."""
        side, kind, method = (str(node.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        if kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
            raise InvalidQuery(f"{shown(node)}: there are INNER, LEFT, RIGHT, FULL, CROSS and NATURAL joins")
        relation, source = self._relation(node.this, outer_flatten=side == "LEFT")
        if isinstance(relation, exp.Lateral):
            return self._lateral(node, relation, source, side)
        using = self._using(node, source, method)
        merged = [self._merged(each, source, side) for each in using]
        self._scope.sources.append(source)
        on = node.args.get("on")
        conditions = [*merged, *([grouped(self._x.condition(on))] if on else [])]
        if not conditions and side:
            raise InvalidQuery(f"{shown(node)}: a {side} JOIN needs ON or USING")
        if self.conditions and side in ("RIGHT", "FULL"):
            raise InvalidQuery(f"{shown(node)}: after LATERAL … ON, put the {side} JOIN into a query of its own")
        if not conditions:
            return exp.Join(this=relation, kind="CROSS")
        return exp.Join(this=relation, side=side or None, on=exp.and_(*conditions, copy=False))

    def _lateral(self, node: exp.Join, relation: exp.Expr, source: Source, side: str) -> exp.Join:
        self._scope.sources.append(source)
        on = node.args.get("on")
        always = on is None or (isinstance(on, exp.Boolean) and on.this)
        if side not in ("", "LEFT") or node.args.get("using") or (side == "LEFT" and not always):
            raise InvalidQuery(f"{shown(node)}: LATERAL is joined with a comma, INNER JOIN, or LEFT JOIN … ON TRUE")
        if on is not None and not always:
            self.conditions.append(self._x.condition(on))
        if side == "LEFT" and not isinstance(node.this.this, exp.Explode):
            return exp.Join(this=relation, side="LEFT", on=exp.true())
        return exp.Join(this=relation, kind="CROSS")

    def _relation(self, node: exp.Expr, *, outer_flatten: bool = False) -> tuple[exp.Expr, Source]:
        place = self._names.new()
        function = _flatten_of(node)
        if function is not None:
            return self._flatten(node, function, place, outer=outer_flatten)
        if isinstance(node, exp.Table):
            return self._table(node, place)
        if isinstance(node, exp.Values):
            return self._values(node, place)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            relation, source = self._derived(node.this, node, place, self._scope)
            return exp.Lateral(this=relation, alias=relation.args.pop("alias")), source
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            return self._derived(node, node, place, self._scope.outer)
        raise InvalidQuery(f"{shown(node)} is not supported in FROM; there are tables, queries, VALUES and FLATTEN")

    def _derived(self, query: exp.Expr, named: exp.Expr, place: str, outer: Scope | None) -> tuple[exp.Expr, Source]:
        bare = query.copy()
        bare.set("alias", None)
        found = self._names.query(bare, outer)
        relation = exp.Subquery(this=found.sql, alias=exp.TableAlias(this=name(place)))
        return relation, source_of(named, "", place, fields_of(place, found.outputs))

    def _flatten(self, node: exp.Expr, function: exp.Explode, place: str, *, outer: bool) -> tuple[exp.Expr, Source]:
        called = node.args.get("alias")
        found = flattened(self._x, function, place, called.name if called else "", self._scope.sources, outer=outer)
        columns = called.columns if called else []
        for each, given in zip(found.source.fields, columns, strict=False):
            each.name = given.name
        return exp.Lateral(this=found.call, alias=exp.TableAlias(this=name(place))), found.source

    def _values(self, node: exp.Values, place: str) -> tuple[exp.Expr, Source]:
        rows = [exp.Tuple(expressions=[self._x(each) for each in row.expressions]) for row in node.expressions]
        if len({len(row.expressions) for row in rows}) != 1:
            raise InvalidQuery("the rows of VALUES have different numbers of values")
        columns = [name(f"c{number}") for number in range(len(rows[0].expressions))]
        relation = exp.Values(expressions=rows, alias=exp.TableAlias(this=name(place), columns=columns))
        schema = self._types.analysed(rendered(exp.select("*").from_(relation.copy())))
        outputs = [Output(f"COLUMN{n}", each.dataType) for n, each in enumerate(schema.fields, 1)]
        return relation, source_of(node, "", place, fields_of(place, outputs))

    def _table(self, node: exp.Table, place: str) -> tuple[exp.Expr, Source]:
        if not isinstance(node.this, exp.Identifier):
            raise InvalidQuery(f"{shown(node)} is no table of the catalog")
        known = None if node.args.get("db") else self._names.defined(node.this)
        if known:
            relation: exp.Expr = exp.Table(this=name(known[0]), alias=exp.TableAlias(this=name(place)))
            found = source_of(node, "", place, fields_of(place, known[1]))
        else:
            table = existing(node, self._catalog)
            relation, fields = loaded(table, self._catalog, self._types, place)
            found = source_of(node, ".".join(table.namespace), place, fields)
        sample = node.args.get("sample")
        return sampled(relation, sample) if sample else relation, found

    def _is_dual(self, node: exp.Table) -> bool:
        return node.name.upper() == "DUAL" and not node.args.get("db") and not self._names.defined(node.this)

    def _using(self, node: exp.Join, source: Source, method: str) -> list[exp.Identifier]:
        if method == "NATURAL":
            theirs = {each.name.lower() for each in source.fields}
            ours = [each.name for other in self._scope.sources for each in other.fields if not each.merged]
            return [name(each) for each in ours if each.lower() in theirs]
        return [each.this if isinstance(each, exp.Column) else each for each in node.args.get("using") or ()]

    def _merged(self, wanted: exp.Identifier, source: Source, side: str) -> exp.Expr:
        """Compare the columns of that name of both sides, and have one of them stand for both."""
        found = Scope(sources=[source]).column(exp.Column(this=wanted))
        mine = Scope(sources=self._scope.sources).column(exp.Column(this=wanted))
        if not found or not mine:
            raise InvalidQuery(f"USING ({wanted.name}): both sides must have a column of that name")
        left, right = mine[0], found[0]
        condition = equal(self._types, typed(left.sql.copy(), left.type), typed(right.sql.copy(), right.type))
        if side == "FULL":
            both = Field(left.name, call("coalesce", left.sql.copy(), right.sql.copy()), left.type)
            self._scope.sources.insert(0, Source("", "", [both]))
            left.merged = True
        if side == "RIGHT":
            left.merged = True
        else:
            right.merged = True
        return condition


def _flatten_of(node: exp.Expr) -> exp.Explode | None:
    inner = node.this
    if isinstance(node, exp.Lateral | exp.Table) and isinstance(inner, exp.Explode):
        return inner
    if isinstance(inner, exp.Anonymous) and isinstance(node, exp.Table):
        if len(inner.expressions) == 1 and isinstance(inner.expressions[0], exp.Explode):
            return inner.expressions[0]
        raise InvalidQuery(f"{shown(node)}: the one table function there is, is FLATTEN")
    return None


def _table_function(relation: exp.Lateral) -> exp.Expr:
    """A table function that begins a FROM."""
    return exp.Table(this=relation.this, alias=relation.args["alias"])
