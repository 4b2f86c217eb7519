"""FROM: tables of the lake, queries, VALUES and FLATTEN, each under a name of ours."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from frazil.snowflake.building import call, cast, column, grouped, name, typed
from frazil.snowflake.expressions import Expressions
from frazil.snowflake.flatten import flattened
from frazil.snowflake.heads import upper
from frazil.snowflake.kinds import of_table
from frazil.snowflake.lake import Lake
from frazil.snowflake.pivots import pivoted, unpivoted
from frazil.snowflake.places import Refused, near
from frazil.snowflake.reading import shown
from frazil.snowflake.scope import Field, Reading, Scope, Source
from frazil.snowflake.sources import Output, Query, fields_of, source_of
from frazil.snowflake.tables import Read, columns, existing, place_names
from frazil.snowflake.translator import whole
from frazil.snowflake.travel import moments
from frazil.snowflake.typed import Types
from frazil.snowflake.values import equal


class Names(Protocol):
    """What the whole text knows: the queries a WITH defines, the tables that are read, and new names."""

    lake: Lake

    def defined(self, name: exp.Identifier) -> tuple[str, list[Output]] | None:
        """Our name for the query of that name, and its columns."""

    def defined_names(self) -> list[str]:
        """The names of all of them."""

    def new(self) -> str:
        """A name that nothing has."""

    def reads(self, read: Read) -> None:
        """Note that a table is read."""

    def query(self, node: exp.Expr, outer: Scope | None) -> Query:
        """A query within the FROM."""


class Relations:
    """The FROM of one SELECT."""

    def __init__(self, types: Types, names: Names, scope: Scope, x: Expressions) -> None:
        self._types = types
        self._names = names
        self._scope = scope
        self._x = x
        self.reads: list[tuple[Source, Read]] = []
        self._after_comma = False
        self.ons: list[tuple[exp.Expr, list[Source]]] = []
        """Conditions of joins, as written, and the relations whose rows they choose."""

    def start(self, node: exp.Expr) -> exp.From | None:
        """The first relation; None for DUAL."""
        if isinstance(node, exp.Table) and self._is_dual(node):
            return None
        relation, source, outer = self._relation(node)
        self._scope.sources.append(source)
        if outer:
            raise Refused("FLATTEN with outer => true stands after a relation, not before", node)
        if isinstance(relation, exp.Lateral):
            relation = exp.Subquery(this=relation.this.this, alias=relation.args["alias"])
        return exp.From(this=relation)

    def join(self, node: exp.Join) -> exp.Join:
        """A further relation, and how it is joined."""
        side, kind, method = (str(node.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        if kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
            raise Refused(f"{shown(node)}: there are INNER, LEFT, RIGHT, FULL, CROSS and NATURAL joins", node)
        if side in ("RIGHT", "FULL") and self._after_comma:
            # It joins what is between the comma and itself, not what is before the comma.
            raise Refused(f"{shown(node)}: after a comma, put the {side} JOIN into a query of its own", node)
        self._after_comma = self._after_comma or not (
            kind or side or method or node.args.get("on") or node.args.get("using")
        )
        relation, source, outer = self._relation(node.this)
        if isinstance(relation, exp.Lateral):
            return self._lateral(node, relation, source, side, outer=outer)
        using = self._using(node, source, method)
        merged = [self._merged(each, source, side, node) for each in using]
        before = list(self._scope.sources)
        self._scope.sources.append(source)
        if side in ("LEFT", "FULL"):
            source.optional = True
        if side in ("RIGHT", "FULL"):
            for each in before:
                each.optional = True
        on = node.args.get("on")
        conditions = [*merged, *([grouped(self._x.condition(on))] if on else [])]
        if on:
            chosen = {"": [*before, source], "LEFT": [source], "RIGHT": before}.get(side, [])
            self.ons.append((on, chosen))
        if not conditions and side:
            raise Refused(f"{shown(node)}: a {side} JOIN needs ON or USING", node)
        if not conditions:
            return exp.Join(this=relation, kind="CROSS")
        return exp.Join(this=relation, side=side or None, on=exp.and_(*conditions, copy=False))

    def _lateral(self, node: exp.Join, relation: exp.Lateral, source: Source, side: str, *, outer: bool) -> exp.Join:
        self._scope.sources.append(source)
        on = node.args.get("on")
        if side not in ("", "LEFT") or node.args.get("using"):
            raise Refused(f"{shown(node)}: LATERAL is joined with a comma, INNER JOIN or LEFT JOIN", node)
        condition = self._x.condition(on) if on else exp.true()
        source.optional = side == "LEFT"
        # An outer FLATTEN has a row of its own for what it has nothing of, and a condition looks at that row.
        if outer and on and not (isinstance(on, exp.Boolean) and on.this) and side != "LEFT":
            raise Refused(
                f"{shown(node)}: join FLATTEN with outer => true by a comma, and put the condition in WHERE", node
            )
        if side == "LEFT" or outer:
            return exp.Join(this=relation, side="LEFT", on=condition)
        if on is None:
            return exp.Join(this=relation, kind="CROSS")
        return exp.Join(this=relation, on=condition)

    def _relation(self, node: exp.Expr) -> tuple[exp.Expr, Source, bool]:
        """A relation in DuckDB SQL, as the query knows it, and whether it is an outer FLATTEN."""
        place = self._names.new()
        function = _flatten_of(node)
        if function is not None:
            return self._flatten(node, function, place)
        relation, source = self._plain(node, place)
        for pivot in node.args.get("pivots") or ():
            relation, source = self._pivot(pivot, relation, source)
        return relation, source, False

    def _plain(self, node: exp.Expr, place: str) -> tuple[exp.Expr, Source]:
        if isinstance(node, exp.Table):
            return self._table(node, place)
        if isinstance(node, exp.Values):
            return self._values(node, place)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            relation, source = self._derived(node.this, node, place, self._scope)
            return exp.Lateral(this=relation, alias=relation.args.pop("alias")), source
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query | exp.Values):
            return self._derived(node, node, place, self._scope.outer)
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            raise Refused(f"{shown(node)}: a join in parentheses is not supported", node)
        raise Refused(f"{shown(node)} is not supported in FROM; there are tables, queries, VALUES and FLATTEN", node)

    def _derived(self, query: exp.Expr, named: exp.Expr, place: str, outer: Scope | None) -> tuple[exp.Expr, Source]:
        if isinstance(query.this, exp.Values):
            relation, source = self._values(query.this, place)
            return relation, source_of(named, "", place, source.fields) if named.args.get("alias") else source
        bare = query.copy()
        for part in ("alias", "pivots", "sample"):
            bare.set(part, None)
        found = self._names.query(bare, outer)
        relation = exp.Subquery(this=found.sql, alias=exp.TableAlias(this=name(place)))
        source = source_of(named, "", place, fields_of(place, found.outputs))
        sample = query.args.get("sample")
        return (sampled(relation, sample) if sample else relation), source

    def _flatten(self, node: exp.Expr, function: exp.Explode, place: str) -> tuple[exp.Expr, Source, bool]:
        called = node.args.get("alias")
        found = flattened(self._x, function, place, called.name if called else "", self._scope.sources)
        given = called.columns if called else []
        if len(given) > len(found.source.fields):
            raise Refused(f"FLATTEN has {len(found.source.fields)} columns, and {len(given)} names for them", node)
        for each, identifier in zip(found.source.fields, given, strict=False):
            each.name = upper(identifier)
        alias = exp.TableAlias(this=name(place))
        return exp.Lateral(this=exp.Subquery(this=found.query), alias=alias), found.source, found.outer

    def _values(self, node: exp.Values, place: str) -> tuple[exp.Expr, Source]:
        relation, outputs = values_of(self._x, self._types, node, place)
        return relation, source_of(node, "", place, fields_of(place, outputs))

    def _table(self, node: exp.Table, place: str) -> tuple[exp.Expr, Source]:
        if not all(isinstance(part, exp.Identifier) for part in node.parts):
            raise Refused(f"{shown(node)} is no table of the catalog", node)
        known = None if node.args.get("db") else self._names.defined(node.this)
        if known:
            if node.args.get("when") or node.args.get("changes"):
                raise Refused(f"{shown(node)}: a query of WITH has no past", node)
            relation: exp.Expr = exp.Table(this=name(known[0]), alias=exp.TableAlias(this=name(place)))
            found = source_of(node, "", place, fields_of(place, known[1]))
        else:
            relation, found = self._stored(node, place)
        sample = node.args.get("sample")
        return sampled(relation, sample) if sample else relation, found

    def _stored(self, node: exp.Table, place: str) -> tuple[exp.Expr, Source]:
        try:
            table = existing(node, self._names.lake)
        except Refused as refused:
            if not node.args.get("db"):
                refused.reason += near(node.name, self._names.defined_names())
            raise
        moment, since = moments(self._x, node)
        found = columns(self._names.lake, table, moment)
        reading = Reading()
        fields = []
        for each, called in zip(found, place_names([each.name for each in found]), strict=True):
            kind = of_table(each.type)
            sql = column(place, called, kind)
            fields.append(Field(each.name, sql, kind, column=each.name, reading=reading))
        read = Read(place, table, found, moment, since, reading, [], sampled=bool(node.args.get("sample")))
        self._names.reads(read)
        source = source_of(node, ".".join(table.namespace), place, fields)
        self.reads.append((source, read))
        return exp.Table(this=name(place), alias=exp.TableAlias(this=name(place))), source

    def _pivot(self, node: exp.Expr, relation: exp.Expr, source: Source) -> tuple[exp.Expr, Source]:
        place = self._names.new()
        make = unpivoted if node.args.get("unpivot") else pivoted
        x = Expressions(Scope(sources=[source]), self._types, self._x.subquery_of, self._x.growth)
        query, outputs = make(x, node, relation, source)
        alias = exp.TableAlias(this=name(place))
        return exp.Subquery(this=query, alias=alias), source_of(node, "", place, fields_of(place, outputs))

    def _is_dual(self, node: exp.Table) -> bool:
        return node.name.upper() == "DUAL" and not node.args.get("db") and not self._names.defined(node.this)

    def _using(self, node: exp.Join, source: Source, method: str) -> list[exp.Identifier]:
        if method == "NATURAL":
            theirs = {each.name.lower() for each in source.fields}
            ours = [each.name for other in self._scope.sources for each in other.fields if not each.merged]
            return [name(each) for each in ours if each.lower() in theirs]
        return [each.this if isinstance(each, exp.Column) else each for each in node.args.get("using") or ()]

    def _merged(self, wanted: exp.Identifier, source: Source, side: str, node: exp.Join) -> exp.Expr:
        """Compare the columns of that name of both sides, and have one of them stand for both."""
        natural = not node.args.get("using")
        sought = exp.to_identifier(wanted.name) if natural else wanted
        found = Scope(sources=[source]).own(exp.Column(this=sought))
        mine = Scope(sources=self._scope.sources).own(exp.Column(this=sought))
        if not found or not mine:
            raise Refused(f"USING ({wanted.name}): both sides must have a column of that name", wanted)
        left, right = mine[0], found[0]
        left_sql, right_sql = typed(left.used(), left.type), typed(right.used(), right.type)
        condition = equal(self._types, left_sql, right_sql)
        if side == "FULL":
            both = Field(left.name, call("coalesce", left_sql.copy(), right_sql.copy(), kind=left.type), left.type)
            self._scope.sources.insert(0, Source("", "", [both]))
            left.merged = True
        if side == "RIGHT":
            left.merged = True
        else:
            right.merged = True
        return condition


def values_of(x: Expressions, types: Types, node: exp.Values, place: str) -> tuple[exp.Expr, list[Output]]:
    """Rows that the query writes."""
    rows = [
        [x(each) for each in (row.expressions if isinstance(row, exp.Tuple) else [row])] for row in node.expressions
    ]
    if len({len(row) for row in rows}) != 1:
        raise Refused("the rows of VALUES have different numbers of values", node)
    kinds = [types.of(each) for each in rows[0]]
    for row in rows[1:]:
        kinds = [types.common(kind, types.of(each)) for kind, each in zip(kinds, row, strict=True)]
    tuples = [
        exp.Tuple(expressions=[_as(types, each, kind) for each, kind in zip(row, kinds, strict=True)]) for row in rows
    ]
    columns_ = [name(f"c{number_}") for number_ in range(len(kinds))]
    relation = exp.Values(expressions=tuples, alias=exp.TableAlias(this=name(place), columns=columns_))
    return relation, [Output(f"COLUMN{n}", kind) for n, kind in enumerate(kinds, 1)]


def _as(types: Types, node: exp.Expr, kind: exp.DataType) -> exp.Expr:
    if types.of(node) == kind or kind.this == exp.DType.NULL:
        return node
    return cast(node, kind)


def sampled(relation: exp.Expr, sample: exp.Expr) -> exp.Expr:
    """Some rows of a relation.

    Raises:
        Refused: how many is not a number.
    """
    percent, size, seed = (sample.args.get(part) for part in ("percent", "size", "seed"))
    amount = percent or size
    if not isinstance(amount, exp.Literal) or amount.is_string:
        raise Refused(f"{shown(sample)}: write SAMPLE (10) for percent, or SAMPLE (10 ROWS)", sample)
    if percent:
        how = {"percent": exp.Literal.number(str(float(amount.name))), "method": exp.Var(this="BERNOULLI")}
    else:
        how = {"size": exp.Literal.number(str(whole("SAMPLE", amount))), "method": exp.Var(this="RESERVOIR")}
    again = exp.Literal.number(str(whole("SEED", seed))) if seed else None
    alias = relation.args["alias"].copy()
    bare = exp.select("*").from_(relation, copy=False)
    inner = exp.Subquery(this=bare, alias=exp.TableAlias(this=name("s")), sample=exp.TableSample(**how, seed=again))
    return exp.Subquery(this=exp.select("*").from_(inner, copy=False), alias=alias)


def _flatten_of(node: exp.Expr) -> exp.Explode | None:
    inner = node.this
    if isinstance(node, exp.Lateral | exp.Table | exp.TableFromRows) and isinstance(inner, exp.Explode):
        return inner
    if isinstance(node, exp.TableFromRows):
        raise Refused(f"{shown(node)}: the one table function there is, is FLATTEN", node)
    if isinstance(inner, exp.Anonymous) and isinstance(node, exp.Table | exp.Lateral):
        if len(inner.expressions) == 1 and isinstance(inner.expressions[0], exp.Explode):
            return inner.expressions[0]
        raise Refused(f"{shown(node)}: the one table function there is, is FLATTEN", node)
    return None
