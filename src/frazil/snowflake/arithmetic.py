"""Arithmetic by Snowflake's rules: `/` of exact numbers is exact, and whole numbers do not overflow early."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake import kinds
from frazil.snowflake.building import cast, equals, failing, grouped, number, text, typed, when
from frazil.snowflake.kinds import BIGINT, DATE, DOUBLE, HUGEINT, INTEGERS, decimal
from frazil.snowflake.places import Refused
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_number

_TO_THE_DAY: Final = frozenset({"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"})
_MOST: Final = 38


def computed(types: Types, operator: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """One value, an operator, another value."""
    if exp.DType.INTERVAL in (types.kind(left), types.kind(right)):
        return _moved(types, operator, left, right)
    if types.is_moment(left) or types.is_moment(right):
        return typed(operator(this=grouped(left), expression=grouped(right)), None)
    one, other = (_plain(types, each) for each in (left, right))
    if operator is exp.Div:
        return divided(types, one, other)
    if operator is exp.Mod:
        return exp.Mod(this=grouped(one), expression=grouped(not_zero(types, other)))
    return operator(this=grouped(_wide(types, operator, one)), expression=grouped(other))


def _plain(types: Types, node: exp.Expr) -> exp.Expr:
    if types.is_nested(node) or types.is_boolean(node):
        raise Refused(f"a {kinds.shown(types.of(node))} is not a number", node)
    return as_number(types, node)


def _wide(types: Types, operator: type[exp.Binary], node: exp.Expr) -> exp.Expr:
    """A whole number in a type that holds the result: in Snowflake all of them have 38 digits."""
    if not types.is_integer(node) or types.kind(node) == exp.DType.INT128:
        return node
    return cast(node, HUGEINT if operator is exp.Mul or types.kind(node) == exp.DType.BIGINT else BIGINT)


def _moved(types: Types, operator: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    found = operator(this=grouped(left), expression=grouped(right))
    day, by = (left, right) if types.kind(right) == exp.DType.INTERVAL else (right, left)
    if types.kind(day) == exp.DType.DATE and _is_of_days(by):
        return cast(exp.paren(found), DATE)
    return typed(found, None)


def _is_of_days(interval: exp.Expr) -> bool:
    """Whether an INTERVAL has no unit below a day, so that a date stays one."""
    units = [each.args["unit"].name for each in interval.find_all(exp.Interval)]
    return bool(units) and _TO_THE_DAY.issuperset(units)


def divided(types: Types, above: exp.Expr, below: exp.Expr) -> exp.Expr:
    """A quotient; dividing by zero is an error."""
    if types.is_null(above) or types.is_null(below):
        return typed(exp.Null(), DOUBLE)
    if not (types.is_exact(above) and types.is_exact(below)):
        double = cast(above, DOUBLE)
        return typed(
            exp.Div(this=double, expression=cast(not_zero(types, below), DOUBLE), typed=False, safe=True), DOUBLE
        )
    return _quotient(types, above, below)


def _quotient(types: Types, above: exp.Expr, below: exp.Expr) -> exp.Expr:
    """Exact: whole numbers are divided with one digit more than the result has, which is then rounded."""
    one, other = _scale(types, above), _scale(types, below)
    scale = max(one, min(one + 6, 12))
    power = scale + 1 + other - one
    scaled = exp.Mul(this=_unscaled(above, one), expression=cast(text(str(10**power)), HUGEINT))
    unit = _unscaled(not_zero(types, below), other)
    quotient = typed(exp.IntDiv(this=exp.paren(scaled), expression=unit), HUGEINT)
    places = scale + 1
    smallest = cast(text("0." + "0" * (places - 1) + "1"), decimal(places, places))
    shifted = exp.Mul(this=cast(exp.paren(quotient), decimal(_MOST - places)), expression=smallest)
    return cast(exp.paren(shifted), decimal(_MOST, scale))


def _unscaled(node: exp.Expr, scale: int) -> exp.Expr:
    if scale == 0:
        return cast(node, HUGEINT)
    factor = cast(number(10**scale), decimal(scale + 1))
    return cast(exp.paren(exp.Mul(this=cast(node, decimal(_MOST, scale)), expression=factor)), HUGEINT)


def _scale(types: Types, node: exp.Expr) -> int:
    kind = types.of(node)
    return 0 if kind.this in INTEGERS else kinds.size(kind)[1]


def not_zero(types: Types, node: exp.Expr) -> exp.Expr:
    """A divisor."""
    if isinstance(node, exp.Literal) and node.name.strip("0.") != "":
        return node
    kind = types.of(node)
    return when(equals(node.copy(), number(0)), failing("division by zero", kind), node)


def negative(types: Types, node: exp.Expr) -> exp.Expr:
    """The opposite number."""
    if types.kind(node) == exp.DType.INTERVAL:
        return typed(exp.paren(exp.Neg(this=grouped(node))), kinds.INTERVAL)
    plain = _plain(types, node)
    return typed(exp.paren(exp.Neg(this=grouped(plain))), types.of(plain))
