"""Relations of a FROM as the query knows them: names and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import column, name
from frazil.snowflake.heads import upper
from frazil.snowflake.kinds import BIGINT
from frazil.snowflake.places import Refused
from frazil.snowflake.scope import Field, Source

_ROW: Final = "frazil row"
"""A column with a number for each row, added to relations whose rows FLATTEN's SEQ must tell apart."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a query."""

    name: str
    type: exp.DataType


@dataclass(frozen=True, slots=True)
class Query:
    """A query in DuckDB SQL; its columns are called c0, c1 and so on."""

    sql: exp.Expr
    outputs: list[Output]


def fields_of(place: str, outputs: Sequence[Output]) -> list[Field]:
    """The columns of a query that is called `place`."""
    return [Field(each.name, column(place, f"c{n}", each.type), each.type) for n, each in enumerate(outputs)]


def source_of(node: exp.Expr, namespace: str, place: str, fields: list[Field]) -> Source:
    """A relation as the query knows it: under its alias, its columns renamed by the alias' list."""
    alias = node.args.get("alias")
    called = alias.name if alias and alias.name else node.name if isinstance(node, exp.Table) else ""
    names = [upper(each) for each in alias.columns] if alias else []
    if names and len(names) != len(fields):
        raise Refused(f"{called} has {len(fields)} columns, and {len(names)} names for them", alias)
    for each, given in zip(fields, names, strict=False):
        each.name = given
    row = column(place, _ROW, BIGINT)
    return Source(called, "" if alias and alias.name else namespace, fields, identity=[row])


def number_rows(select: exp.Select) -> None:
    """Give the relations of a SELECT a number for each row, where it asks for one."""
    wanted = {each.table for each in select.find_all(exp.Column) if each.name == _ROW}
    for clause in (select.args.get("from_"), *(select.args.get("joins") or ())):
        alias = clause.this.args.get("alias") if clause else None
        if alias and alias.name in wanted and not isinstance(clause.this, exp.Lateral):
            bare = clause.this.copy()
            row = exp.Window(this=exp.Anonymous(this="row_number"), over="OVER").as_(_ROW, quoted=True)
            inner = exp.Select(expressions=[exp.Star(), row], from_=exp.From(this=bare))
            plain = exp.TableAlias(this=name(alias.name))
            clause.set("this", exp.Subquery(this=inner, alias=plain))
