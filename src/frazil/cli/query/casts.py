"""`::TYPE`, CAST and TRY_CAST, by the type of the value."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.moments import moment
from frazil.cli.query.spark import call, cast, is_null, number, text, typed, variant_as, when
from frazil.cli.query.types import INTEGERS, NESTED, NUMBER, TIMES, Types, parameters, spark_type
from frazil.cli.query.values import VARIANT, boxed
from frazil.errors import InvalidQuery

_MEMBERS: Final = "map<string,variant>"
_ELEMENTS: Final = "array<variant>"


def converted(types: Types, node: exp.Expr, name: exp.DataType, *, safe: bool = False) -> exp.Expr:
    """The value as a Snowflake type; `safe` gives NULL where that cannot be.

    Raises:
        InvalidQuery: there is no such type to cast to.
    """
    if name.this in (exp.DType.OBJECT, exp.DType.ARRAY):
        if name.expressions:
            raise InvalidQuery(f"cast to {name.this.value} without the types inside")
        return _nested(types, node, is_array=name.this == exp.DType.ARRAY, safe=safe)
    found = to_type(types, node, spark_type(name), safe=safe)
    if name.this in exp.DataType.TEXT_TYPES and name.expressions:
        return call("left", found, number(parameters(name)[0]), kind=t.StringType())
    return found


def to_type(types: Types, node: exp.Expr, kind: t.DataType, *, safe: bool = False) -> exp.Expr:
    """The value as a Spark type, by Snowflake's rules."""
    given = types.of(node)
    if given == kind or (kind == NUMBER and isinstance(given, INTEGERS)):
        return node
    if isinstance(kind, TIMES):
        return moment(types, node, kind, safe=safe)
    if isinstance(kind, t.VariantType):
        return boxed(types, node)
    if isinstance(given, t.VariantType):
        return _unboxed(types, node, kind, safe=safe)
    if isinstance(kind, t.StringType):
        return _text(node, given)
    if isinstance(kind, t.BinaryType):
        return call("try_to_binary" if safe else "to_binary", node, text("hex"), kind=kind)
    return cast(node, kind, safe=safe)


def _text(node: exp.Expr, given: t.DataType) -> exp.Expr:
    kind = t.StringType()
    if isinstance(given, NESTED):
        return call("to_json", node, kind=kind)
    return call("hex", node, kind=kind) if isinstance(given, t.BinaryType) else cast(node, kind)


def _unboxed(types: Types, node: exp.Expr, kind: t.DataType, *, safe: bool) -> exp.Expr:
    if isinstance(kind, t.BinaryType):
        return to_type(types, variant_as(node, t.StringType()), kind, safe=safe)
    return variant_as(node, kind, safe=safe)


def _nested(types: Types, node: exp.Expr, *, is_array: bool, safe: bool) -> exp.Expr:
    given = types.of(node)
    if isinstance(given, t.ArrayType if is_array else t.StructType | t.MapType):
        return node
    if isinstance(given, t.StringType):
        node = call("try_parse_json" if safe else "parse_json", node, kind=VARIANT)
    value = boxed(types, node)
    if not is_array:
        get = "try_variant_get" if safe else "variant_get"
        return call("to_variant_object", call(get, value, text("$"), text(_MEMBERS)), kind=VARIANT)
    elements = call("try_variant_get", value, text("$"), text(_ELEMENTS))
    alone = call("to_variant_object", call("array", value.copy()))
    nothing = exp.Or(this=is_null(value.copy()), expression=call("is_variant_null", value.copy()))
    wrapped = when(nothing, exp.null(), alone)
    return typed(when(is_null(elements), wrapped, value.copy()), VARIANT)
