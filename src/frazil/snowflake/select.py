"""Queries: SELECTs, what UNION and its like join, and what WITH defines."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from frazil.snowflake.assembly import Assembly, aliased, final, from_query, is_document, limits
from frazil.snowflake.binding import check_binding
from frazil.snowflake.building import cast, column, name, typed
from frazil.snowflake.compiled import Compiled, ResultColumn, Scan
from frazil.snowflake.expressions import Expressions
from frazil.snowflake.filters import note_filters
from frazil.snowflake.growth import Growth
from frazil.snowflake.heads import upper
from frazil.snowflake.items import Item, listed, note_aliases
from frazil.snowflake.kinds import JSON
from frazil.snowflake.lake import Lake
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.relations import Relations, values_of
from frazil.snowflake.rendering import rendered
from frazil.snowflake.scope import Field, Scope, Source, matching
from frazil.snowflake.sources import Output, Query, number_rows
from frazil.snowflake.tables import Read, with_twins
from frazil.snowflake.typed import Types
from frazil.snowflake.values import boxed
from frazil.snowflake.windows import aggregated


class Compiler:
    """Turns one text into DuckDB SQL."""

    def __init__(self, lake: Lake, written: exp.Expr) -> None:
        """Compile a query as it is written, over the tables of a lake."""
        self.lake = lake
        self._written = written
        self._growth = Growth(written)
        self._types = Types()
        self._names = 0
        self._reads: list[Read] = []
        self._defined: list[tuple[exp.Identifier, str, list[Output]]] = []
        self._ctes: list[exp.CTE] = []

    def compiled(self, texts: Sequence[str]) -> Compiled:
        """The whole query.

        Raises:
            Refused: it names what does not exist, or has what DuckDB cannot mean.
        """
        found = self.query(self._written, None, texts, top=True)
        if self._ctes:
            found.sql.set("with_", exp.With(expressions=self._ctes))
        check_binding(found.sql, self._reads, self._written)
        columns = tuple(ResultColumn(each.name, is_document(each.type)) for each in found.outputs)
        return Compiled(rendered(found.sql), columns, tuple(_scan(each) for each in self._reads))

    def new(self) -> str:
        """A name that nothing has."""
        self._names += 1
        return f"t{self._names}"

    def reads(self, read: Read) -> None:
        """Note that a table is read."""
        self._reads.append(read)

    def defined(self, name: exp.Identifier) -> tuple[str, list[Output]] | None:
        """Our name for the query that WITH calls so, and its columns; the innermost one."""
        found = matching(
            ((upper(each), (place, outputs)) for each, place, outputs in reversed(self._defined)), _as_kept(name)
        )
        return found[0] if found else None

    def defined_names(self) -> list[str]:
        """The names of the queries of WITH."""
        return [upper(each) for each, _, _ in self._defined]

    def query(self, node: exp.Expr, outer: Scope | None, texts: Sequence[str] = (), *, top: bool = False) -> Query:
        """A query, however it is written; `top` says that its columns leave DuckDB."""
        before = len(self._defined)
        with_ = node.args.get("with_")
        try:
            for cte in with_.expressions if with_ else ():
                self._define(cte)
            if isinstance(node, exp.Select):
                return self._select(node, outer, texts, top=top)
            if isinstance(node, exp.SetOperation):
                return self._modified(self._set_operation(node, outer, texts), node, top=top)
            if isinstance(node, exp.Values):
                return self._values(node, outer, top=top)
            if isinstance(node, exp.Subquery):
                if not (limits(node) or node.args.get("order")):
                    return self.query(node.this, outer, texts, top=top)
                return self._modified(self.query(node.this, outer, texts), node, top=top)
            raise Refused(f"{shown(node)} is no query", node)
        finally:
            del self._defined[before:]

    def _define(self, cte: exp.Expr) -> None:
        found = self.query(cte.this, None)
        alias = cte.args["alias"]
        names = [upper(given) for given in alias.columns] or [output.name for output in found.outputs]
        if len(names) != len(found.outputs):
            raise Refused(f"{alias.name} has {len(found.outputs)} columns, and {len(names)} names for them", alias)
        outputs = [Output(given, output.type) for given, output in zip(names, found.outputs, strict=True)]
        place = self.new()
        self._ctes.append(exp.CTE(this=found.sql, alias=exp.TableAlias(this=name(place))))
        self._defined.append((alias.this, place, outputs))

    def _subquery(self, node: exp.Expr, scope: Scope) -> tuple[exp.Expr, Sequence[exp.DataType]]:
        found = self.query(node, scope)
        return found.sql, [output.type for output in found.outputs]

    def _select(self, node: exp.Select, outer: Scope | None, texts: Sequence[str], *, top: bool) -> Query:
        scope = Scope(outer)
        x = Expressions(scope, self._types, self._subquery, self._growth)
        relations = Relations(self._types, self, scope, x)
        select = exp.Select()
        note_aliases(node.expressions, scope)
        if node.args.get("from_"):
            select.set("from_", relations.start(node.args["from_"].this))
        select.set("joins", [relations.join(each) for each in node.args.get("joins") or ()])
        where = node.args.get("where")
        if where:
            condition = x.condition(where.this)
            if aggregated(condition):
                raise Refused("WHERE has an aggregate; a condition of one stands in HAVING", where)
            select.set("where", exp.Where(this=condition))
        note_filters(scope, relations.reads, where.this if where else None, relations.ons)
        assembly = Assembly(select, lambda: listed(node.expressions, scope, x, texts), x, node)
        found = assembly.query(self.new(), top=top)
        number_rows(select)
        return found

    def _values(self, node: exp.Values, outer: Scope | None, *, top: bool) -> Query:
        place = self.new()
        x = Expressions(Scope(outer), self._types, self._subquery, self._growth)
        relation, outputs = values_of(x, self._types, node, place)
        columns = [column(place, f"c{n}", each.type) for n, each in enumerate(outputs)]
        values = [final(self._types, each) if top else each for each in columns]
        return Query(exp.Select(expressions=aliased(values), from_=exp.From(this=relation)), outputs)

    def _set_operation(self, node: exp.SetOperation, outer: Scope | None, texts: Sequence[str]) -> Query:
        left, right = self.query(node.this, outer, texts), self.query(node.expression, outer)
        if len(left.outputs) != len(right.outputs):
            raise Refused(
                f"{node.key.upper()}: the two sides have {len(left.outputs)} and {len(right.outputs)} columns", node
            )
        pairs = zip(left.outputs, right.outputs, strict=True)
        try:
            outputs = [Output(one.name, self._types.common(one.type, other.type)) for one, other in pairs]
        except Refused as refused:
            raise Refused(f"{node.key.upper()}: {refused.reason}", node.expression) from refused
        sides = [self._side(side, outputs) for side in (left, right)]
        found: exp.Expr = type(node)(
            this=exp.Subquery(this=sides[0]),
            expression=exp.Subquery(this=sides[1]),
            distinct=bool(node.args.get("distinct")),
        )
        return Query(found, outputs)

    def _side(self, query: Query, outputs: Sequence[Output]) -> exp.Expr:
        if all(one.type == other.type for one, other in zip(query.outputs, outputs, strict=True)):
            return query.sql
        place = self.new()
        columns = []
        for n, (mine, common) in enumerate(zip(query.outputs, outputs, strict=True)):
            value: exp.Expr = column(place, f"c{n}", mine.type)
            if mine.type != common.type:
                value = boxed(self._types, value) if common.type == JSON else cast(value, common.type)
            columns.append(value)
        return from_query(query.sql, place, columns, self._types, top=False)

    def _modified(self, query: Query, node: exp.Expr, *, top: bool) -> Query:
        """ORDER BY and LIMIT of a query that is no plain SELECT: over its columns."""
        if not top and not any(node.args.get(part) for part in ("order", "limit", "offset")):
            return query
        place = self.new()
        fields = [
            Field(each.name, column(place, f"c{n}", each.type), each.type) for n, each in enumerate(query.outputs)
        ]
        x = Expressions(Scope(sources=[Source("", "", fields)]), self._types, self._subquery, self._growth)
        items = [Item(each.name, None, typed(each.sql.copy(), each.type)) for each in fields]
        select = from_query(query.sql, place, [], self._types, top=False)
        bare = exp.Subquery(**{part: node.args.get(part) for part in ("order", "limit", "offset")})
        return Assembly(select, lambda: items, x, bare).query(self.new(), top=top)


def _as_kept(given: exp.Identifier) -> exp.Identifier:
    return given


def _scan(read: Read) -> Scan:
    needed = tuple(with_twins([each.name for each in read.columns], read.reading.columns))
    filters = () if read.sampled else tuple(dict.fromkeys(read.filters))
    return Scan(read.place, read.table, needed, read.moment, read.since, filters)
