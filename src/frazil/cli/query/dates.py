"""Dates and times made of other values, and shown as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.moments import java_format, moment, since_1970
from frazil.cli.query.spark import call, cast, text
from frazil.cli.query.translator import Function, Translator, arity, whole
from frazil.cli.query.types import NUMBERS
from frazil.cli.query.values import as_integer, as_moment, as_text
from frazil.errors import InvalidQuery

_NTZ: Final = t.TimestampNTZType()
_LTZ: Final = t.TimestampType()
_DATE: Final = t.DateType()


def _to(name: str, kind: t.DataType, *, safe: bool = False) -> Function:
    def to(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 2)
        value = x(arguments[0])
        if len(arguments) == 1:
            return moment(x.types, value, kind, safe=safe)
        if isinstance(x.types.of(value), NUMBERS) or _is_number(arguments[1]):
            scale = whole(name, arguments[1])
            return since_1970(cast(value, t.DecimalType(38, 9), safe=safe), kind, scale)
        spark = "try_to_timestamp" if safe else "to_timestamp"
        return cast(call(spark, as_text(x.types, value), java_format(arguments[1])), kind, safe=safe)

    return to


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _to_char(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("TO_CHAR", arguments, 1, 2)
    value = x(arguments[0])
    if len(arguments) == 1:
        return cast(as_text(x.types, value), t.StringType())
    if isinstance(x.types.of(value), NUMBERS):
        raise InvalidQuery("TO_CHAR takes formats of dates and times only; for numbers write ROUND(…)::VARCHAR")
    return call("date_format", as_moment(x.types, value), java_format(arguments[1]), kind=t.StringType())


def _named(name: str, pattern: str) -> Function:
    def named(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        return call("date_format", as_moment(x.types, x(arguments[0])), text(pattern), kind=t.StringType())

    return named


def _from_parts(name: str, spark: str, count: int, kind: t.DataType) -> Function:
    def made(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, count, count)
        return call(spark, *(as_integer(x.types, x(node)) for node in arguments), kind=kind)

    return made


_TO: Final = {
    "DATE": _DATE,
    "TIMESTAMP": _NTZ,
    "TIMESTAMP_NTZ": _NTZ,
    "TIMESTAMP_LTZ": _LTZ,
    "TIMESTAMP_TZ": _LTZ,
}

FUNCTIONS: Final[dict[str, Function]] = {
    **{f"TO_{name}": _to(f"TO_{name}", kind) for name, kind in _TO.items()},
    **{f"TRY_TO_{name}": _to(f"TRY_TO_{name}", kind, safe=True) for name, kind in _TO.items()},
    "DATE": _to("DATE", _DATE),
    "TO_CHAR": _to_char,
    "TO_VARCHAR": _to_char,
    "DAYNAME": _named("DAYNAME", "EEE"),
    "MONTHNAME": _named("MONTHNAME", "MMM"),
    "DATE_FROM_PARTS": _from_parts("DATE_FROM_PARTS", "make_date", 3, _DATE),
    "TIMESTAMP_NTZ_FROM_PARTS": _from_parts("TIMESTAMP_NTZ_FROM_PARTS", "make_timestamp_ntz", 6, _NTZ),
    "TIMESTAMP_FROM_PARTS": _from_parts("TIMESTAMP_FROM_PARTS", "make_timestamp_ntz", 6, _NTZ),
}
