"""PIVOT and UNPIVOT."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, cast, name, not_null, text, typed, when
from frazil.snowflake.expressions import Expressions
from frazil.snowflake.heads import upper
from frazil.snowflake.kinds import TEXT
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.scope import Field, Scope, Source
from frazil.snowflake.sources import Output
from frazil.snowflake.translator import constant
from frazil.snowflake.typed import Types
from frazil.snowflake.values import boxed, equal
from frazil.snowflake.windows import core

_AGGREGATES: Final = ("SUM", "COUNT", "MIN", "MAX", "AVG")


def pivoted(x: Expressions, node: exp.Expr, relation: exp.Expr, source: Source) -> tuple[exp.Expr, list[Output]]:
    """The rows of a relation, grouped by all other columns, with a column for each value.

    Args:
        x: translates expressions over the relation alone.
        node: the PIVOT.
        relation: what it is of.
        source: its columns.
    """
    aggregate, column, values = _parts(node)
    argument = _argument(aggregate)
    gone = [_field(source, argument), _field(source, column)]
    kept = [each for each in source.fields if not any(each is other for other in gone)]
    keys = [typed(each.used(), each.type) for each in kept]
    outputs = [Output(each.name, each.type) for each in kept]
    columns: list[exp.Expr] = list(keys)
    subject = x(column)
    for value in values:
        written, called = _value(value)
        if_it_is = equal(x.types, subject.copy(), x(written))
        found = x(aggregate)
        filtered = found.copy()
        _restrict(filtered, if_it_is)
        columns.append(typed(filtered, x.types.of(found)))
        outputs.append(Output(called, x.types.of(found)))
    select = exp.Select(
        expressions=[exp.Alias(this=each, alias=name(f"c{n}")) for n, each in enumerate(columns)],
        from_=exp.From(this=relation),
    )
    if keys:
        select.set("group", exp.Group(expressions=[constant(each).copy() for each in keys]))
    return select, outputs


def _restrict(node: exp.Expr, condition: exp.Expr) -> None:
    """Have an aggregate see only the rows that meet the condition."""
    found = core(node)
    argument = found.expressions[0] if isinstance(found, exp.Anonymous) else found.this
    argument.replace(when(condition, argument.copy()))


def _parts(node: exp.Expr) -> tuple[exp.Expr, exp.Column, list[exp.Expr]]:
    aggregates, fields = node.expressions, node.args.get("fields") or []
    if len(aggregates) != 1 or len(fields) != 1 or not isinstance(fields[0], exp.In):
        raise Refused("PIVOT takes one aggregate, one column and its values: PIVOT (sum(a) FOR b IN ('x', 'y'))", node)
    column, values = fields[0].this, fields[0].expressions
    if not isinstance(column, exp.Column) or not values or any(isinstance(each, exp.PivotAny) for each in values):
        raise Refused("PIVOT needs the values it makes columns of: FOR b IN ('x', 'y')", node)
    return aggregates[0], column, values


def _argument(node: exp.Expr) -> exp.Column:
    called = str(node.this).upper() if isinstance(node, exp.Anonymous) else ""
    if called not in _AGGREGATES or len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Column):
        raise Refused(f"PIVOT takes {', '.join(_AGGREGATES)} of a column, not {shown(node)}", node)
    return node.expressions[0]


def _field(source: Source, column: exp.Column) -> Field:
    found = Scope(sources=[source]).own(column)
    if not found or found[1]:
        raise Scope(sources=[source]).unknown(column)
    return found[0]


def _value(node: exp.Expr) -> tuple[exp.Expr, str]:
    """A value, and what its column is called."""
    if isinstance(node, exp.PivotAlias | exp.Alias):
        alias = node.args["alias"]
        return node.this, upper(alias) if isinstance(alias, exp.Identifier) else alias.name
    if isinstance(node, exp.Literal):
        return node, f"'{node.name}'" if node.is_string else node.name
    raise Refused(f"PIVOT: {shown(node)} is no value written in the query", node)


def unpivoted(x: Expressions, node: exp.Expr, relation: exp.Expr, source: Source) -> tuple[exp.Expr, list[Output]]:
    """A row for each of some columns: its name and its value."""
    types = x.types
    value_name, name_name, listed = _unpivot_parts(node)
    gone = [(_field(source, column), called) for column, called in listed]
    kept = [each for each in source.fields if not any(each is field for field, _ in gone)]
    kind = gone[0][0].type
    for field, _ in gone[1:]:
        kind = types.common(kind, field.type)
    place = "frazil unpivot"
    names = call("list_value", *(text(called) for _, called in gone))
    values = call("list_value", *(_as(types, field, kind) for field, _ in gone))
    columns = [typed(each.used(), each.type) for each in kept]
    inner = [*columns, call("unnest", names, kind=TEXT), call("unnest", values, kind=kind)]
    select = exp.Select(
        expressions=[exp.Alias(this=each, alias=name(f"c{n}")) for n, each in enumerate(inner)],
        from_=exp.From(this=relation),
    )
    outputs = [Output(each.name, each.type) for each in kept]
    outputs += [Output(upper(name_name), TEXT), Output(upper(value_name), kind)]
    if node.args.get("include_nulls"):
        return select, outputs
    alias = exp.TableAlias(this=name(place))
    last = exp.Column(this=name(f"c{len(inner) - 1}"), table=name(place))
    outer = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=select, alias=alias)))
    outer.set("where", exp.Where(this=not_null(last)))
    return outer, outputs


def _unpivot_parts(node: exp.Expr) -> tuple[exp.Identifier, exp.Identifier, list[tuple[exp.Column, str]]]:
    values, fields = node.expressions, node.args.get("fields") or []
    if len(values) != 1 or len(fields) != 1 or not isinstance(fields[0], exp.In) or not fields[0].expressions:
        raise Refused("UNPIVOT takes a name for values, one for names, and columns: UNPIVOT (v FOR n IN (a, b))", node)
    listed = []
    for each in fields[0].expressions:
        column = each.this if isinstance(each, exp.PivotAlias | exp.Alias) else each
        alias = each.args["alias"] if column is not each else None
        if not isinstance(column, exp.Column) or len(column.parts) != 1:
            raise Refused(f"UNPIVOT: {shown(column)} is no column", node)
        called = alias.name if isinstance(alias, exp.Literal) else upper(alias or column.this)
        listed.append((column, called))
    return _identifier(values[0], node), _identifier(fields[0].this, node), listed


def _identifier(node: exp.Expr, within: exp.Expr) -> exp.Identifier:
    found = node.this if isinstance(node, exp.Column) else node
    if not isinstance(found, exp.Identifier):
        raise Refused(f"UNPIVOT: {shown(node)} is no name", within)
    return found


def _as(types: Types, field: Field, kind: exp.DataType) -> exp.Expr:
    value = typed(field.used(), field.type)
    if field.type == kind:
        return value
    return boxed(types, value) if kind.this == exp.DType.JSON else cast(value, kind)
