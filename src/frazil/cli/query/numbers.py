"""Functions of numbers that Spark has under other rules, and conversions to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.casts import to_type
from frazil.cli.query.spark import call, grouped, is_null, number, typed, when
from frazil.cli.query.times import truncated_moment
from frazil.cli.query.translator import Function, Translator, arity, whole
from frazil.cli.query.types import TIMES
from frazil.cli.query.values import as_number
from frazil.errors import InvalidQuery


def _trunc(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("TRUNC", arguments, 1, 2)
    value = x(arguments[0])
    if isinstance(x.types.of(value), TIMES):
        arity("TRUNC of a date", arguments, 2, 2)
        return truncated_moment(x, arguments[1], value)
    value = as_number(x.types, value)
    scale = number(whole("TRUNC", arguments[1]) if len(arguments) > 1 else 0)
    below_zero = exp.LT(this=grouped(value), expression=number(0))
    return when(below_zero, call("ceil", value.copy(), scale), call("floor", value.copy(), scale.copy()))


def _divided(name: str, *, null_too: bool) -> Function:
    def divided(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 2, 2)
        above, below = (as_number(x.types, x(node)) for node in arguments)
        nothing: exp.Expr = exp.EQ(this=grouped(below), expression=number(0))
        if null_too:
            nothing = exp.Or(this=nothing, expression=is_null(below.copy()))
        quotient = exp.Div(this=grouped(above), expression=grouped(below.copy()))
        return when(nothing, when(is_null(above.copy()), exp.null(), number(0)), quotient)

    return divided


def _to_number(name: str, *, safe: bool) -> Function:
    def to_number(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 3)
        size = [whole(name, node) for node in arguments[1:]]
        precision, scale = (*size, 0)[:2] if size else (38, 0)
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise InvalidQuery(f"{name}: a NUMBER has 1 to 38 digits, not {precision} with {scale} after the point")
        return to_type(x.types, x(arguments[0]), t.DecimalType(precision, scale), safe=safe)

    return to_number


def _to(name: str, kind: t.DataType, *, safe: bool) -> Function:
    def to(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        return to_type(x.types, x(arguments[0]), kind, safe=safe)

    return to


def _bits(operator: type[exp.Binary]) -> Function:
    def bits(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity("the function of bits", arguments, 2, 2)
        left, right = (grouped(to_type(x.types, x(node), t.LongType())) for node in arguments)
        return typed(operator(this=left, expression=right), t.LongType())

    return bits


FUNCTIONS: Final[dict[str, Function]] = {
    "TRUNC": _trunc,
    "TRUNCATE": _trunc,
    "DIV0": _divided("DIV0", null_too=False),
    "DIV0NULL": _divided("DIV0NULL", null_too=True),
    "BITAND": _bits(exp.BitwiseAnd),
    "BITOR": _bits(exp.BitwiseOr),
    "BITXOR": _bits(exp.BitwiseXor),
    **{name: _to_number(name, safe=False) for name in ("TO_NUMBER", "TO_DECIMAL", "TO_NUMERIC")},
    **{name: _to_number(name, safe=True) for name in ("TRY_TO_NUMBER", "TRY_TO_DECIMAL", "TRY_TO_NUMERIC")},
    "TO_DOUBLE": _to("TO_DOUBLE", t.DoubleType(), safe=False),
    "TRY_TO_DOUBLE": _to("TRY_TO_DOUBLE", t.DoubleType(), safe=True),
    "TO_BOOLEAN": _to("TO_BOOLEAN", t.BooleanType(), safe=False),
    "TRY_TO_BOOLEAN": _to("TRY_TO_BOOLEAN", t.BooleanType(), safe=True),
}
