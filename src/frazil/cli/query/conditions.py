"""Functions that choose among values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.spark import call, grouped, is_null, number, typed, when
from frazil.cli.query.translator import Function, Translator, arity
from frazil.cli.query.values import as_condition, as_number, equal, pair, unified


def same(x: Translator, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Whether two values are equal, NULL being equal to NULL."""
    one, other = pair(x.types, left, right)
    return typed(exp.NullSafeEQ(this=grouped(one), expression=grouped(other)), t.BooleanType())


def _iff(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("IFF", arguments, 3, 3)
    then, otherwise = unified(x.types, [x(node) for node in arguments[1:]])
    return call("if", as_condition(x.types, x(arguments[0])), then, otherwise)


def _coalesce(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("COALESCE", arguments, 1)
    return call("coalesce", *unified(x.types, [x(node) for node in arguments]))


def _nvl(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("NVL", arguments, 2, 2)
    return _coalesce(x, arguments)


def _nvl2(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("NVL2", arguments, 3, 3)
    then, otherwise = unified(x.types, [x(node) for node in arguments[1:]])
    return when(is_null(x(arguments[0])), otherwise, then)


def _nullif(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("NULLIF", arguments, 2, 2)
    left, right = (x(node) for node in arguments)
    return when(equal(x.types, left, right), exp.null(), left.copy())


def _zero_if_null(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("ZEROIFNULL", arguments, 1, 1)
    return call("coalesce", as_number(x.types, x(arguments[0])), number(0))


def _null_if_zero(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("NULLIFZERO", arguments, 1, 1)
    return call("nullif", as_number(x.types, x(arguments[0])), number(0))


def _decode(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("DECODE", arguments, 3)
    subject = x(arguments[0])
    rest = [x(node) for node in arguments[1:]]
    default = rest.pop() if len(rest) % 2 else exp.null()
    *results, default = unified(x.types, [*rest[1::2], default])
    branches = zip(rest[::2], results, strict=True)
    ifs = [exp.If(this=same(x, subject.copy(), wanted), true=result) for wanted, result in branches]
    return exp.Case(ifs=ifs, default=default)


def _extreme(name: str, *, ignoring_nulls: bool) -> Function:
    def extreme(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1)
        values = [as_number(x.types, x(node)) for node in arguments]
        # Spark's takes at least two, and leaves NULLs out.
        found = call(name.split("_", 1)[0].lower(), *values, *([] if len(values) > 1 else [values[0].copy()]))
        if ignoring_nulls:
            return found
        missing = exp.or_(*(is_null(value.copy()) for value in values), copy=False)
        return when(missing, exp.null(), found)

    return extreme


def _equal_null(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("EQUAL_NULL", arguments, 2, 2)
    return same(x, x(arguments[0]), x(arguments[1]))


FUNCTIONS: Final[dict[str, Function]] = {
    "IFF": _iff,
    "COALESCE": _coalesce,
    "NVL": _nvl,
    "IFNULL": _nvl,
    "NVL2": _nvl2,
    "NULLIF": _nullif,
    "ZEROIFNULL": _zero_if_null,
    "NULLIFZERO": _null_if_zero,
    "DECODE": _decode,
    "GREATEST": _extreme("GREATEST", ignoring_nulls=False),
    "LEAST": _extreme("LEAST", ignoring_nulls=False),
    "GREATEST_IGNORE_NULLS": _extreme("GREATEST_IGNORE_NULLS", ignoring_nulls=True),
    "LEAST_IGNORE_NULLS": _extreme("LEAST_IGNORE_NULLS", ignoring_nulls=True),
    "EQUAL_NULL": _equal_null,
}
