"""Pieces of Spark SQL, and the session they run in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import types as t
from sqlglot import ErrorLevel, exp

KIND: Final = "spark"
"""Where a piece carries its Spark type, in sqlglot's `meta`."""

_WAY: Final = "way"
"""Where a value out of a VARIANT carries its path, so that one call can go further or read another type."""

_STRICT: Final = {
    # Columns are looked up before Spark sees them, and keys of paths differ by case.
    "spark.sql.caseSensitive": "true",
    # Otherwise `${env:…}` in a literal or in the name of a column would be replaced by what the environment holds.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.groupByOrdinal": "false",
}


@contextmanager
def strict(session: SparkSession) -> Iterator[None]:
    """Have a session read the texts of this package as they are meant."""
    before = {key: session.conf.get(key, None) for key in _STRICT}
    for key, value in _STRICT.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, previous in before.items():
            if previous is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, previous)


def rendered(node: exp.Expr) -> str:
    """A piece as text."""
    return node.sql(dialect="spark", comments=False, unsupported_level=ErrorLevel.RAISE)


def typed(node: exp.Expr, kind: t.DataType) -> exp.Expr:
    """The piece, knowing its type."""
    node.meta[KIND] = kind
    return node


def call(name: str, *arguments: exp.Expr, kind: t.DataType | None = None) -> exp.Expr:
    """A function of Spark's."""
    node = exp.Anonymous(this=name, expressions=list(arguments))
    return node if kind is None else typed(node, kind)


def text(value: str) -> exp.Expr:
    """A text literal."""
    return typed(exp.Literal.string(value), t.StringType())


def number(value: int) -> exp.Expr:
    """A whole number."""
    return exp.Literal.number(value) if value >= 0 else exp.paren(exp.Neg(this=exp.Literal.number(-value)))


def name(text_of_it: str) -> exp.Identifier:
    """A name in quotes."""
    return exp.Identifier(this=text_of_it, quoted=True)


def column(source: str, of_it: str, kind: t.DataType) -> exp.Expr:
    """A column of a relation."""
    return typed(exp.Column(this=name(of_it), table=name(source)), kind)


def cast(node: exp.Expr, kind: t.DataType, *, safe: bool = False) -> exp.Expr:
    """The piece as another type; `safe` gives NULL where that cannot be."""
    made = (
        exp.TryCast(this=node, to=spelled_node(kind), safe=True) if safe else exp.Cast(this=node, to=spelled_node(kind))
    )
    return typed(made, kind)


def out_of_variant(node: exp.Expr, step: str) -> exp.Expr:
    """What a VARIANT has at a step of a path; NULL if nothing."""
    start, way = _beginning(node)
    found = call("try_variant_get", start, text(way + step), text("variant"), kind=t.VariantType())
    found.meta[_WAY] = way + step
    return found


def variant_as(node: exp.Expr, kind: t.DataType, *, safe: bool = False) -> exp.Expr:
    """A VARIANT as another type; `safe` gives NULL where that cannot be."""
    start, way = _beginning(node)
    return call("try_variant_get" if safe else "variant_get", start, text(way), text(kind.simpleString()), kind=kind)


def further(node: exp.Expr, start: exp.Expr) -> str | None:
    """The path from `start`, a value out of a VARIANT, to `node`, if that is one further in or read as another type."""
    if not (isinstance(node, exp.Anonymous) and str(node.this).endswith("variant_get") and _WAY in start.meta):
        return None
    source, way, *_ = node.expressions
    known = start.meta[_WAY]
    inside = way.name.startswith(known) and way.name[len(known) :][:1] in ("", "[")
    return "$" + way.name[len(known) :] if inside and source == start.expressions[0] else None


def _beginning(node: exp.Expr) -> tuple[exp.Expr, str]:
    way = node.meta.get(_WAY)
    return (node.expressions[0].copy(), str(way)) if way else (node.copy(), "$")


def when(condition: exp.Expr, then: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Expr:
    """CASE WHEN … THEN … ELSE … END."""
    return exp.Case(ifs=[exp.If(this=condition, true=then)], default=otherwise)


def is_null(node: exp.Expr) -> exp.Expr:
    """Whether the piece is NULL."""
    return exp.Is(this=grouped(node), expression=exp.null())


def not_null(node: exp.Expr) -> exp.Expr:
    """Whether the piece is not NULL."""
    return exp.Not(this=exp.paren(is_null(node)))


def grouped(node: exp.Expr) -> exp.Expr:
    """The piece in parentheses, if it could come apart without."""
    plain = exp.Column | exp.Literal | exp.Anonymous | exp.Paren | exp.Cast | exp.Null | exp.Boolean | exp.Dot
    if isinstance(node, plain | exp.Subquery | exp.Case):
        return node
    wrapped = exp.Paren(this=node)
    return typed(wrapped, node.meta[KIND]) if KIND in node.meta else wrapped


def spelled_node(kind: t.DataType) -> exp.DataType:
    """A type, where a type is written."""
    return exp.DataType(this=exp.DType.USERDEFINED, kind=spelled(kind))


def spelled(kind: t.DataType) -> str:
    """A type as Spark SQL writes it, its fields' names in quotes."""
    if isinstance(kind, t.StructType):
        fields = (f"`{field.name.replace('`', '``')}`: {spelled(field.dataType)}" for field in kind.fields)
        return f"STRUCT<{', '.join(fields)}>"
    if isinstance(kind, t.ArrayType):
        return f"ARRAY<{spelled(kind.elementType)}>"
    if isinstance(kind, t.MapType):
        return f"MAP<{spelled(kind.keyType)}, {spelled(kind.valueType)}>"
    return str(kind.simpleString()).upper()
