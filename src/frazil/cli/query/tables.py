"""Tables of the catalog as relations, and what every relation of a FROM has."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.assembly import Output
from frazil.cli.query.dialect import shown
from frazil.cli.query.heads import upper
from frazil.cli.query.literals import literal
from frazil.cli.query.scope import Field, Source
from frazil.cli.query.spark import call, column, name, rendered, typed
from frazil.cli.query.translator import whole
from frazil.cli.query.types import Types
from frazil.errors import InvalidQuery
from frazil.model import TableName
from frazil.tables.catalog import Catalog
from frazil.tables.session import DEFAULT_NAMESPACE

_ROW: Final = "_frazil_row"
"""A column with a number for each row, added to relations whose rows FLATTEN's SEQ must tell apart."""


def existing(node: exp.Table, catalog: Catalog) -> TableName:
    """The table that is meant.

    Raises:
        InvalidQuery: there is none of that name.
    """
    if node.catalog and node.catalog.lower() != catalog.name.lower():
        raise InvalidQuery(f"{shown(node)}: the catalog is {catalog.name}, not {node.catalog}; write namespace.table")
    namespace = catalog.namespace(node.db or DEFAULT_NAMESPACE)
    found = catalog.resolve(namespace, node.name, quoted=bool(node.this.quoted))
    tables = catalog.list_tables(namespace)
    if found not in tables:
        known = ", ".join(each.name for each in tables) or "none"
        raise InvalidQuery(f"there is no table {found}; {'.'.join(namespace)} has: {known}")
    return found


def loaded(found: TableName, catalog: Catalog, types: Types, place: str) -> tuple[exp.Expr, list[Field]]:
    """A table of the catalog, called `place`, and its columns."""
    *namespace, last = (name(part) for part in (catalog.name, *found.namespace, found.name))
    relation = exp.Table(this=exp.Dot.build([*namespace, last]))
    schema = types.analysed(rendered(exp.select("*").from_(relation.copy())))
    relation.set("alias", exp.TableAlias(this=name(place)))
    columns = ((each.name, each.dataType) for each in schema.fields)
    return relation, [Field(each, column(place, each, kind), kind) for each, kind in columns]


def sampled(relation: exp.Expr, sample: exp.Expr) -> exp.Expr:
    """Some rows of a relation.

    Raises:
        InvalidQuery: how many is no number.
    """
    percent, size, seed = (sample.args.get(part) for part in ("percent", "size", "seed"))
    amount = percent or size
    if not isinstance(amount, exp.Literal) or amount.is_string:
        raise InvalidQuery(f"{shown(sample)}: write SAMPLE (10) for percent, or SAMPLE (10 ROWS)")
    how = {"percent": literal(amount)} if percent else {"size": exp.Literal.number(whole("SAMPLE", amount))}
    again = exp.Literal.number(whole("SEED", seed)) if seed else None
    alias = relation.args.pop("alias")
    relation.set("sample", exp.TableSample(**how, seed=again))
    return exp.Subquery(this=exp.select("*").from_(relation, copy=False), alias=alias)


def fields_of(place: str, outputs: list[Output]) -> list[Field]:
    """The columns of a query that is called `place`."""
    return [Field(each.name, column(place, f"c{n}", each.type), each.type) for n, each in enumerate(outputs)]


def source_of(node: exp.Expr, namespace: str, place: str, fields: list[Field]) -> Source:
    """A relation as the query knows it: under its alias, its columns renamed by the alias' list."""
    alias = node.args.get("alias")
    called = alias.name if alias and alias.name else node.name if isinstance(node, exp.Table) else ""
    names = [upper(each) for each in alias.columns] if alias else []
    if names and len(names) != len(fields):
        raise InvalidQuery(f"{called} has {len(fields)} columns, and {len(names)} names for them")
    for each, given in zip(fields, names, strict=False):
        each.name = given
    row = typed(exp.Column(this=name(_ROW), table=name(place)), t.LongType())
    return Source(called, "" if alias and alias.name else namespace, fields, identity=[row])


def number_rows(select: exp.Select) -> None:
    """Give the relations of a SELECT a number for each row, where it asks for one."""
    wanted = {each.table for each in select.find_all(exp.Column) if each.name == _ROW}
    for clause in (select.args.get("from_"), *(select.args.get("joins") or ())):
        alias = clause.this.args.get("alias") if clause else None
        if alias and alias.name in wanted and not isinstance(clause.this, exp.Lateral):
            bare = clause.this.copy()
            row = call("monotonically_increasing_id").as_(_ROW, quoted=True)
            inner = exp.Select(expressions=[exp.Star(), row], from_=exp.From(this=bare))
            clause.set("this", exp.Subquery(this=inner, alias=alias.copy()))
