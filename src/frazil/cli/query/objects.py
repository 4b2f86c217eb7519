"""VARIANTs, arrays and objects made of other values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.casts import converted
from frazil.cli.query.spark import call, cast, name
from frazil.cli.query.translator import Function, Translator, arity
from frazil.cli.query.values import VARIANT, as_text, boxed
from frazil.errors import InvalidQuery

_STRING: Final = t.StringType()


def _parse_json(name_of_it: str, spark: str) -> Function:
    def parse(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name_of_it, arguments, 1, 1)
        return call(spark, as_text(x.types, x(arguments[0])), kind=VARIANT)

    return parse


def _to_json(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("TO_JSON", arguments, 1, 1)
    return call("to_json", boxed(x.types, x(arguments[0])), kind=_STRING)


def _to_variant(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("TO_VARIANT", arguments, 1, 1)
    return boxed(x.types, x(arguments[0]))


def _to(kind: exp.DType) -> Function:
    def to(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(f"TO_{kind.value}", arguments, 1, 1)
        return converted(x.types, x(arguments[0]), exp.DataType(this=kind))

    return to


def _array(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    values = [boxed(x.types, x(node)) for node in arguments]
    empty = cast(call("array"), t.ArrayType(VARIANT))
    return call("to_variant_object", call("array", *values) if values else empty, kind=VARIANT)


def constructed(x: Translator, members: Sequence[tuple[exp.Expr, exp.Expr]], *, keep_nulls: bool = False) -> exp.Expr:
    """An object of keys and values; members without a value are left out, unless they are kept."""
    pairs = [part for key_, value in members for part in (cast(x(key_), _STRING), boxed(x.types, x(value)))]
    found = call("map", *pairs) if pairs else cast(call("map"), t.MapType(_STRING, VARIANT))
    if not keep_nulls:
        there = exp.Not(this=exp.Is(this=exp.Column(this=name("v")), expression=exp.null()))
        found = call("map_filter", found, exp.Lambda(this=there, expressions=[name("k"), name("v")]))
    return call("to_variant_object", found, kind=VARIANT)


def _object(name_of_it: str, *, keep_nulls: bool) -> Function:
    def construct(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        if len(arguments) % 2:
            raise InvalidQuery(f"{name_of_it} takes keys and values in turn, not {len(arguments)} arguments")
        return constructed(x, list(zip(arguments[::2], arguments[1::2], strict=True)), keep_nulls=keep_nulls)

    return construct


FUNCTIONS: Final[dict[str, Function]] = {
    "PARSE_JSON": _parse_json("PARSE_JSON", "parse_json"),
    "TRY_PARSE_JSON": _parse_json("TRY_PARSE_JSON", "try_parse_json"),
    "TO_JSON": _to_json,
    "TO_VARIANT": _to_variant,
    "TO_ARRAY": _to(exp.DType.ARRAY),
    "TO_OBJECT": _to(exp.DType.OBJECT),
    "ARRAY_CONSTRUCT": _array,
    "OBJECT_CONSTRUCT": _object("OBJECT_CONSTRUCT", keep_nulls=False),
    "OBJECT_CONSTRUCT_KEEP_NULL": _object("OBJECT_CONSTRUCT_KEEP_NULL", keep_nulls=True),
}
