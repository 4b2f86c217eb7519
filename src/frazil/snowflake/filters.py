"""What a WHERE or an ON says of single columns of tables, so that files without such rows are not read."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import exp

from frazil.snowflake import kinds
from frazil.snowflake.casts import known_type
from frazil.snowflake.compiled import Filter, Operator
from frazil.snowflake.paths import steps
from frazil.snowflake.places import Refused
from frazil.snowflake.scope import Field, Scope, Source, matching
from frazil.snowflake.tables import Read

_COMPARED: Final[dict[type[exp.Expr], Operator]] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED: Final[dict[Operator, Operator]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WHOLE: Final = re.compile(r"-?[0-9]{1,38}")
_DECIMAL: Final = re.compile(r"-?[0-9]{0,38}(\.(?P<part>[0-9]*))?")
_MOST_VALUES: Final = 1000
"""Values of an IN that are worth handing on."""


def note_filters(
    scope: Scope,
    reads: Sequence[tuple[Source, Read]],
    where: exp.Expr | None,
    ons: Sequence[tuple[exp.Expr, Sequence[Source]]],
) -> None:
    """Note with each table that is read what its rows must meet to be used.

    Args:
        scope: the names of the SELECT.
        reads: its tables.
        where: its WHERE, as written.
        ons: the conditions of its joins, as written, with the relations whose rows they choose.
    """
    kept = [source for source in scope.sources if not source.optional]
    for condition, chosen in [*([(where, kept)] if where is not None else []), *ons]:
        for part in _parts(condition):
            for column, found in _filters(scope, part):
                for source, read in reads:
                    if any(source is each for each in chosen) and any(column is each for each in source.fields):
                        read.filters.append(found)


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """What must all be true."""
    bare = condition.unnest()
    if isinstance(bare, exp.And):
        yield from _parts(bare.this)
        yield from _parts(bare.expression)
    else:
        yield bare


def _filters(scope: Scope, node: exp.Expr) -> Iterator[tuple[Field, Filter]]:
    if isinstance(node, exp.Between):
        yield from _compared(scope, node.this, ">=", [node.args["low"]])
        yield from _compared(scope, node.this, "<=", [node.args["high"]])
    elif isinstance(node, exp.In) and 0 < len(node.expressions) <= _MOST_VALUES and not node.args.get("query"):
        yield from _compared(scope, node.this, "in", node.expressions)
    elif isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        yield from _compared(scope, node.this, "is null", [])
    elif isinstance(node, exp.Not) and isinstance(node.this.unnest(), exp.Is):
        inner = node.this.unnest()
        if isinstance(inner.expression, exp.Null):
            yield from _compared(scope, inner.this, "is not null", [])
    elif isinstance(node, exp.Like):
        prefix = _prefix(node.expression)
        if prefix:
            yield from _compared(scope, node.this, "starts with", [exp.Literal.string(prefix)])
    elif type(node) in _COMPARED:
        operator = _COMPARED[type(node)]
        yield from _compared(scope, node.this, operator, [node.expression])
        yield from _compared(scope, node.expression, _MIRRORED.get(operator, operator), [node.this])


def _compared(
    scope: Scope, node: exp.Expr, operator: Operator, values: Sequence[exp.Expr]
) -> Iterator[tuple[Field, Filter]]:
    found = _column(scope, node)
    if found is None:
        return
    column, way, kind = found
    if not values and kind.this in (exp.DType.VARIANT, *kinds.NESTED):
        return
    written = [_written(each, kind) for each in values]
    if all(each is not None for each in written):
        yield column, Filter((column.column, *way), operator, tuple(each for each in written if each is not None))


def _column(scope: Scope, node: exp.Expr) -> tuple[Field, tuple[str, ...], exp.DataType] | None:
    """The column of a table, or the field of a struct in one, that an expression is and nothing else."""
    node = node.unnest()
    if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        inner = _column(scope, node.this)
        return inner if inner and _changes_nothing(node.args["to"], inner[2]) else None
    keys: list[str] = []
    while True:
        if isinstance(node, exp.JSONExtract):
            try:
                found = steps(node.expression)
            except Refused:
                return None
            if not all(isinstance(each, str) for each in found):
                return None
            keys = [*map(str, found), *keys]
        elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
            keys = [node.expression.name, *keys]
        elif isinstance(node, exp.Bracket) and len(node.expressions) == 1 and node.expressions[0].is_string:
            keys = [node.expressions[0].name, *keys]
        else:
            break
        node = node.this.unnest()
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    return _resolved(scope, node, keys)


def _changes_nothing(name: exp.DataType, kind: exp.DataType) -> bool:
    """Whether a cast leaves every value what it is."""
    try:
        wanted = known_type(name)
    except Refused:
        return False
    if wanted == kinds.NUMBER:
        return kind.this in kinds.INTEGERS
    return wanted == kind and not (kind == kinds.TEXT and name.expressions)


def _resolved(
    scope: Scope, node: exp.Column, keys: Sequence[str]
) -> tuple[Field, tuple[str, ...], exp.DataType] | None:
    own = scope.own(node)
    if own is None or not own[0].column:
        return None
    column, rest = own
    kind = column.type
    way: list[str] = []
    for part in rest:
        names = [name for name, _ in kinds.fields(kind)]
        meant = [part.name] if part.name in names else matching(((each, each) for each in names), part)
        if len(meant) != 1:
            return None
        kind, way = dict(kinds.fields(kind))[meant[0]], [*way, meant[0]]
    for key in keys:
        members = dict(kinds.fields(kind))
        if key not in members:
            return None
        kind, way = members[key], [*way, key]
    return column, tuple(way), kind


def _prefix(pattern: exp.Expr) -> str:
    """What every text begins with that a pattern fits."""
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        return ""
    return re.split("[%_]", pattern.name, maxsplit=1)[0]


def _written(node: exp.Expr, kind: exp.DataType) -> str | None:
    """A constant as text that is exactly that value in the column's type; None if it is none, or may not be."""
    node = node.unnest()
    if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        try:
            same = known_type(node.args["to"]) == kind
        except Refused:
            return None
        return _written(node.this, kind) if same and kind.this in _MOMENTS else None
    sign = ""
    if isinstance(node, exp.Neg):
        sign, node = "-", node.this.unnest()
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return _text(node.name, kind) if not sign else None
    written = sign + node.name
    if kind.this in kinds.INTEGERS:
        return written if _WHOLE.fullmatch(written) else None
    if kind.this == exp.DType.DECIMAL:
        found = _DECIMAL.fullmatch(written)
        precision, scale = kinds.size(kind)
        part = (found["part"] or "") if found else ""
        fits = found and len(part) <= scale and len(written) - len(part) <= precision - scale
        return written if fits else None
    return None


_MOMENTS: Final = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ)
_FORMATS: Final = {
    exp.DType.DATE: r"\d{4}-\d\d-\d\d",
    exp.DType.TIMESTAMP: r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?)?",
    exp.DType.TIMESTAMPTZ: r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?",
}
"""How a time must be written to be the same whoever reads it."""


def _text(written: str, kind: exp.DataType) -> str | None:
    if kind.this == exp.DType.TEXT:
        return written
    pattern = _FORMATS.get(kind.this) if isinstance(kind.this, exp.DType) else None
    if pattern is None or not re.fullmatch(pattern, written, re.ASCII):
        return None
    try:
        found = dt.datetime.fromisoformat(written)
    except ValueError:
        return None
    if kind.this == exp.DType.DATE:
        return written
    if found.tzinfo:
        found = found.astimezone(dt.UTC).replace(tzinfo=None)
    return found.isoformat(sep=" ") + ("+00:00" if kind.this == exp.DType.TIMESTAMPTZ else "")
