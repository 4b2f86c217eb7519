"""VARIANTs among other values: what Snowflake converts by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import (
    call,
    cast,
    choice,
    compare,
    equals,
    grouped,
    is_null,
    negation,
    null,
    text,
    together,
    typed,
    when,
)
from frazil.snowflake.documents import IS_THERE, WHOLE, as_text, boxed, document, is_there
from frazil.snowflake.kinds import BOOLEAN, DOUBLE, JSON, TEXT, TIME, VARIANT, decimal
from frazil.snowflake.moments import moment
from frazil.snowflake.typed import Types

_EXACT: Final = decimal(38, 18)
_TOO_LARGE: Final = "99999999999999999999.999999999999999999"
"""The largest of `_EXACT`; larger numbers stand for it in comparisons."""


def as_number(types: Types, node: exp.Expr) -> exp.Expr:
    """A VARIANT or a text as a DOUBLE; numbers as they are."""
    if types.is_variant(node) or types.is_text(node):
        return cast(as_text(types, node), DOUBLE)
    return node


def as_boolean(types: Types, node: exp.Expr) -> exp.Expr:
    """A VARIANT as a BOOLEAN."""
    return cast(as_text(types, node), BOOLEAN) if types.is_variant(node) else node


def key(types: Types, node: exp.Expr) -> exp.Expr:
    """What to order, group and compare a value by: a VARIANT's number, then its text."""
    if not types.is_variant(node):
        return node
    whole = boxed(types, node)
    kind = call("json_type", whole.copy(), kind=TEXT)
    is_number = typed(exp.In(this=kind, expressions=[text(each) for each in ("BIGINT", "UBIGINT", "DOUBLE")]), BOOLEAN)
    of_number = when(is_number, cast(cast(whole.copy(), TEXT), DOUBLE, safe=True), null(DOUBLE))
    shortest = call("regexp_replace", cast(whole.copy(), TEXT), text(r"\.0+$"), text(""), kind=TEXT)
    # A VARIANT of DuckDB's has its keys in order, at all levels.
    is_nested = typed(exp.In(this=kind.copy(), expressions=[text("OBJECT"), text("ARRAY")]), BOOLEAN)
    in_order = cast(cast(cast(whole.copy(), VARIANT), JSON), TEXT)
    of_text = choice([(is_number.copy(), shortest), (is_nested, in_order)], as_text(types, whole.copy()))
    packed = call("struct_pack", _field("n", of_number), _field("t", of_text))
    return when(not_null_of(whole), packed)


def not_null_of(node: exp.Expr) -> exp.Expr:
    """IS NOT NULL, of a copy."""
    return negation(is_null(node.copy()))


def _field(called: str, value: exp.Expr) -> exp.Expr:
    return exp.PropertyEQ(this=exp.to_identifier(called), expression=value)


def pair(types: Types, left: exp.Expr, right: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Two values that can be compared: a VARIANT is read as what it is compared with."""
    first, second = types.is_variant(left), types.is_variant(right)
    if not first and not second:
        return _alike(types, left, right)
    if first and second:
        return key(types, left), key(types, right)
    if second:
        other, one = pair(types, right, left)
        return one, other
    if types.is_nested(right):
        return key(types, left), key(types, boxed(types, right))
    return read_as(types, left, right), right


def _alike(types: Types, left: exp.Expr, right: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    # DuckDB compares a number with a text that is no literal as texts.
    if types.is_number(left) and types.is_text(right) and not isinstance(right, exp.Literal):
        return left, read_as(types, right, left)
    if types.is_text(left) and types.is_number(right) and not isinstance(left, exp.Literal):
        return read_as(types, left, right, safe=False), right
    if types.is_moment(left) and types.is_text(right):
        return left, read_as(types, right, left, safe=False)
    if types.is_text(left) and types.is_moment(right):
        return read_as(types, left, right, safe=False), right
    if types.is_nested(left) and types.is_nested(right) and types.of(left) != types.of(right):
        return key(types, boxed(types, left)), key(types, boxed(types, right))
    return left, right


def read_as(types: Types, node: exp.Expr, other: exp.Expr, *, safe: bool | None = None) -> exp.Expr:
    """A VARIANT or a text as the type it is compared with.

    It is NULL if it is no such value and that is `safe`; if that is not said, where comparisons are not strict.
    """
    kind = types.of(other)
    safe = not types.is_strict if safe is None else safe
    if types.is_moment(other):
        return moment(types, node, kind, safe=safe)
    if types.is_exact(other):
        return _exact(as_text(types, node), safe=safe)
    if types.is_number(other):
        return cast(as_text(types, node), DOUBLE, safe=safe)
    if types.is_boolean(other) or kind == TIME:
        return cast(as_text(types, node), kind, safe=safe)
    return as_text(types, node)


def _exact(written: exp.Expr, *, safe: bool) -> exp.Expr:
    """A number for comparisons with exact ones: those that are too large for DECIMAL are as large as it gets.

    NaN and infinities are no numbers to compare with exact ones, and fail as any other text does.
    """
    # What may fail stands once: DuckDB computes what stands twice before TRY is asked.
    as_double = cast(written.copy(), DOUBLE, safe=True)
    limit = exp.Literal.number("1e20")
    infinite = cast(text("Infinity"), DOUBLE)
    # To DuckDB, NaN is more than infinity.
    above = together(exp.And, [compare(exp.GTE, as_double, limit), compare(exp.LT, as_double.copy(), infinite)])
    below = together(
        exp.And,
        [
            compare(exp.LTE, as_double.copy(), typed(exp.Neg(this=limit.copy()), DOUBLE)),
            compare(exp.GT, as_double.copy(), typed(exp.Neg(this=infinite.copy()), DOUBLE)),
        ],
    )
    largest = cast(text(_TOO_LARGE), _EXACT)
    smallest = cast(text("-" + _TOO_LARGE), _EXACT)
    return choice([(above, largest), (below, smallest)], cast(written, _EXACT, safe=safe))


def unified(types: Types, nodes: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Alternatives of one expression: VARIANTs all, if one is."""
    known = [types.of(node) for node in nodes if not types.is_null(node)]
    mixed = any(types.is_nested(node) for node in nodes) and len({each.sql() for each in known}) > 1
    if not mixed and not any(types.is_variant(node) for node in nodes):
        return list(nodes)
    return [boxed(types, node) for node in nodes]


def equal(types: Types, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Whether two values are the same."""
    return equals(*pair(types, left, right))


def same(types: Types, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Whether two values are the same, or both NULL."""
    one, other = pair(types, left, right)
    return typed(exp.NullSafeEQ(this=grouped(one), expression=grouped(other)), BOOLEAN)


__all__ = [
    "IS_THERE", "WHOLE", "as_boolean", "as_number", "as_text", "boxed", "document", "equal", "is_there", "key", "pair",
    "read_as", "same", "unified",
]  # fmt: skip
