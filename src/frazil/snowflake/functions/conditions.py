"""Functions that choose among values."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, choice, is_null, null, typed, when
from frazil.snowflake.functions.meanings import Function, arity, as_condition, as_exact, table
from frazil.snowflake.kinds import BOOLEAN
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import equal, same, unified


def _common(types: Types, found: exp.Expr, alternatives: list[exp.Expr]) -> exp.Expr:
    kind = types.of(alternatives[0])
    for each in alternatives[1:]:
        kind = types.common(kind, types.of(each))
    return typed(found, kind)


def _iff(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("IFF", arguments, 3, 3)
    results = unified(types, arguments[1:])
    found = choice([(as_condition(types, arguments[0]), results[0])], results[1])
    return _common(types, found, results)


def _coalesce(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("COALESCE", arguments, 1)
    alternatives = unified(types, arguments)
    return _common(types, call("coalesce", *alternatives), alternatives)


def _nvl(name: str) -> Function:
    def nvl(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 2, 2)
        return _coalesce(types, arguments)

    return nvl


def _nvl2(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("NVL2", arguments, 3, 3)
    results = unified(types, arguments[1:])
    return _common(types, choice([(is_null(arguments[0]), results[1])], results[0]), results)


def _nullif(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("NULLIF", arguments, 2, 2)
    value = arguments[0].copy()
    return typed(when(equal(types, *arguments), null(), value), types.of(value))


def _decode(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("DECODE", arguments, 3)
    subject, *rest = arguments
    default = rest.pop() if len(rest) % 2 else null()
    *results, default = unified(types, [*rest[1::2], default])
    branches = zip(rest[::2], results, strict=True)
    found = choice([(same(types, subject.copy(), wanted), result) for wanted, result in branches], default)
    return _common(types, found, [*results, default])


def _extreme(name: str, function: str, *, ignoring_nulls: bool) -> Function:
    def extreme(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1)
        alternatives = [as_exact(types, each) if types.is_variant(each) else each for each in arguments]
        found = _common(types, call(function, *alternatives), alternatives)
        if ignoring_nulls:
            return found
        missing = exp.or_(*(is_null(each.copy()) for each in alternatives), copy=False)
        return typed(when(typed(missing, BOOLEAN), null(), found), found.type)

    return extreme


def _equal_null(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("EQUAL_NULL", arguments, 2, 2)
    return same(types, arguments[0], arguments[1])


def _zero_if_null(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ZEROIFNULL", arguments, 1, 1)
    return template("coalesce(a, 0)", [as_exact(types, arguments[0])])


def _null_if_zero(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("NULLIFZERO", arguments, 1, 1)
    return template("nullif(a, 0)", [as_exact(types, arguments[0])])


FUNCTIONS: Final[dict[str, Function]] = {
    **table(
        BOOLEAN,
        """
        BOOLAND(bb) = a AND b
        BOOLOR(bb) = a OR b
        BOOLXOR(bb) = xor(CAST(a AS INTEGER), CAST(b AS INTEGER)) = 1
        BOOLNOT(b) = NOT a
        """,
    ),
    "IFF": _iff,
    "COALESCE": _coalesce,
    "NVL": _nvl("NVL"),
    "IFNULL": _nvl("IFNULL"),
    "NVL2": _nvl2,
    "NULLIF": _nullif,
    "ZEROIFNULL": _zero_if_null,
    "NULLIFZERO": _null_if_zero,
    "DECODE": _decode,
    "GREATEST": _extreme("GREATEST", "greatest", ignoring_nulls=False),
    "LEAST": _extreme("LEAST", "least", ignoring_nulls=False),
    "GREATEST_IGNORE_NULLS": _extreme("GREATEST_IGNORE_NULLS", "greatest", ignoring_nulls=True),
    "LEAST_IGNORE_NULLS": _extreme("LEAST_IGNORE_NULLS", "least", ignoring_nulls=True),
    "EQUAL_NULL": _equal_null,
}
"""What each becomes."""
