"""VARIANTs among other values: what Snowflake converts without being told to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.moments import moment
from frazil.cli.query.spark import call, cast, grouped, is_null, text, typed, variant_as, when
from frazil.cli.query.types import INTEGERS, NESTED, TIMES, Types
from frazil.errors import InvalidQuery

VARIANT: Final = t.VariantType()
_EXACT: Final = t.DecimalType(38, 18)
_KEY: Final = t.StructType([t.StructField("number", t.DoubleType()), t.StructField("text", t.StringType())])


def document(types: Types, node: exp.Expr, what: str) -> exp.Expr:
    """A nested value or JSON text as a VARIANT; text that is no JSON is NULL.

    Raises:
        InvalidQuery: the value has another type; `what` says where.
    """
    kind = types.of(node)
    if isinstance(kind, t.StringType):
        return call("try_parse_json", node, kind=VARIANT)
    if isinstance(kind, (t.VariantType, t.NullType, *NESTED)):
        return boxed(types, node)
    raise InvalidQuery(f"{what} is {kind.simpleString()}: it has nothing inside")


def boxed(types: Types, node: exp.Expr) -> exp.Expr:
    """Any value as a VARIANT; a text is a text in it."""
    kind = types.of(node)
    if isinstance(kind, t.VariantType):
        return node
    return call("to_variant_object", node, kind=VARIANT) if isinstance(kind, NESTED) else cast(node, VARIANT)


def as_text(types: Types, node: exp.Expr) -> exp.Expr:
    """The value as a text, if it is a VARIANT or nested; other types Spark converts where a text is needed."""
    kind = types.of(node)
    if isinstance(kind, t.VariantType):
        return variant_as(node, t.StringType())
    return call("to_json", node, kind=t.StringType()) if isinstance(kind, NESTED) else node


def as_number(types: Types, node: exp.Expr) -> exp.Expr:
    """A VARIANT as a DOUBLE."""
    return variant_as(node, t.DoubleType()) if types.is_variant(node) else node


def as_integer(types: Types, node: exp.Expr) -> exp.Expr:
    """A number where Spark wants an INT."""
    return node if isinstance(types.of(node), t.IntegerType) else cast(node, t.IntegerType())


def as_condition(types: Types, node: exp.Expr) -> exp.Expr:
    """A VARIANT as a BOOLEAN."""
    return variant_as(node, t.BooleanType()) if types.is_variant(node) else node


def as_moment(types: Types, node: exp.Expr) -> exp.Expr:
    """A VARIANT or a text as a TIMESTAMP_NTZ; dates and times as they are."""
    return node if isinstance(types.of(node), TIMES) else moment(types, node, t.TimestampNTZType())


def key(types: Types, node: exp.Expr) -> exp.Expr:
    """What to order, group and compare a value by: a VARIANT's number, then its text."""
    if not types.is_variant(node):
        return node
    is_text = exp.EQ(this=call("schema_of_variant", node), expression=text("STRING"))
    in_it = when(is_text, exp.null(), variant_as(node, t.DoubleType(), safe=True))
    both = call("named_struct", text("number"), in_it, text("text"), variant_as(node, t.StringType()))
    return typed(when(is_null(node), exp.null(), both), _KEY)


def pair(types: Types, left: exp.Expr, right: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Two values that can be compared: a VARIANT is read as what it is compared with."""
    first, second = types.is_variant(left), types.is_variant(right)
    if not first and not second:
        return left, right
    if first and second:
        return key(types, left), key(types, right)
    if second:
        return tuple(reversed(pair(types, right, left)))  # type: ignore[return-value]
    other = types.of(right)
    if isinstance(other, NESTED):
        return key(types, left), key(types, boxed(types, right))
    return read_as(types, left, other), right


def read_as(types: Types, node: exp.Expr, other: t.DataType) -> exp.Expr:
    """A VARIANT as the type it is compared with; NULL if it is no such value."""
    if isinstance(other, TIMES):
        return moment(types, node, other, safe=True)
    if isinstance(other, t.DecimalType | t.LongType):
        # Exact for all whole numbers of 64 bits and for decimals as JSON has them.
        return variant_as(node, _EXACT, safe=True)
    if isinstance(other, (*INTEGERS, t.FloatType, t.DoubleType)):
        return variant_as(node, t.DoubleType(), safe=True)
    if isinstance(other, t.BooleanType):
        return variant_as(node, other, safe=True)
    return variant_as(node, t.StringType())


def unified(types: Types, nodes: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Alternatives of one expression: VARIANTs all, if one is."""
    if not any(types.is_variant(node) for node in nodes):
        return list(nodes)
    return [boxed(types, node) for node in nodes]


def equal(types: Types, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Whether two values are the same."""
    one, other = pair(types, left, right)
    return exp.EQ(this=grouped(one), expression=grouped(other))
