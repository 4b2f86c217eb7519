"""VARIANTs among other values: what Snowflake converts by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import (
    call,
    cast,
    choice,
    equals,
    grouped,
    is_null,
    negation,
    null,
    text,
    typed,
    when,
)
from frazil.snowflake.documents import IS_THERE, WHOLE, as_text, boxed, document, is_there
from frazil.snowflake.kinds import BLOB, BOOLEAN, DOUBLE, JSON, LONG_INTEGERS, TEXT, TIME, VARIANT, size
from frazil.snowflake.literals import written_number
from frazil.snowflake.moments import moment
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types

_SAFE_DIGITS: Final = 15
"""Exact numbers of so many digits are told apart by their DOUBLEs."""

_MOST_DIGITS: Final = 38
_IS_NUMBER: Final = "isfinite(TRY_CAST(a AS DOUBLE))"
_FAILING: Final = "CAST(a AS DECIMAL(38, 18))"
"""What fails for a text that is no number, and for NaN and the infinities. It stands once in an expression: DuckDB
computes what stands twice before TRY is asked."""


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
    return _read(types, left, right, safe=not types.is_strict)


def _alike(types: Types, left: exp.Expr, right: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    if types.is_text(right) and (types.is_number(left) or types.is_moment(left)):
        is_safe = types.is_number(left) and not types.is_strict
        one, other = _read_text(types, right, left, safe=is_safe)
        return other, one
    if types.is_text(left) and (types.is_number(right) or types.is_moment(right)):
        return _read_text(types, left, right, safe=False)
    if types.is_nested(left) and types.is_nested(right) and types.of(left) != types.of(right):
        return key(types, boxed(types, left)), key(types, boxed(types, right))
    return left, right


def _read_text(types: Types, node: exp.Expr, other: exp.Expr, *, safe: bool) -> tuple[exp.Expr, exp.Expr]:
    # DuckDB compares a number with a text as texts, and rounds a literal to the type of the number.
    if types.is_number(other) and isinstance(node, exp.Literal):
        return written_number(node) if types.is_exact(other) else node, other
    return _read(types, node, other, safe=safe)


def _read(types: Types, node: exp.Expr, other: exp.Expr, *, safe: bool) -> tuple[exp.Expr, exp.Expr]:
    """A VARIANT or a text as what it is compared with, and that; NULL if it is no such value and that is `safe`."""
    kind = types.of(other)
    if types.is_exact(other):
        return _read_exact(types, as_text(types, node), other, safe=safe)
    if types.is_moment(other):
        return moment(types, node, kind, safe=safe), other
    if types.is_number(other):
        return cast(as_text(types, node), DOUBLE, safe=safe), other
    if types.is_boolean(other) or kind == TIME:
        return cast(as_text(types, node), kind, safe=safe), other
    return as_text(types, node), other


def _read_exact(types: Types, written: exp.Expr, other: exp.Expr, *, safe: bool) -> tuple[exp.Expr, exp.Expr]:
    """A number, which may have any size, and an exact one: as DOUBLEs, and where those are equal, digit by digit."""
    digits, scale = _digits(types.of(other))
    if digits <= _SAFE_DIGITS:
        otherwise = "" if safe else f"ELSE CAST({_FAILING} AS DOUBLE)"
        return template(f"CASE WHEN {_IS_NUMBER} THEN TRY_CAST(a AS DOUBLE) {otherwise} END", [written], DOUBLE), other
    # DuckDB's BETWEEN, which it makes of two comparisons, takes no STRUCT.
    long = f"TRY_CAST(a AS DECIMAL({_MOST_DIGITS}, {scale}))"
    both = f"create_sort_key(TRY_CAST(a AS DOUBLE), 'ASC NULLS LAST', {long}, 'ASC NULLS LAST')"
    otherwise = "" if safe else f"WHEN {_FAILING} < 0 THEN NULL"
    read = template(f"CASE WHEN {_IS_NUMBER} THEN {both} {otherwise} END", [written], BLOB)
    # DuckDB does not round a long DECIMAL to the nearest DOUBLE, but it does so with a text.
    return read, template(f"CASE WHEN a IS NOT NULL THEN {both} END", [cast(other, TEXT)], BLOB)


def _digits(kind: exp.DataType) -> tuple[int, int]:
    """Digits of an exact number, and how many of them stand after the point."""
    if kind.this == exp.DType.DECIMAL:
        return size(kind)
    return (_MOST_DIGITS if kind.this in LONG_INTEGERS else _SAFE_DIGITS), 0


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
    "same", "unified",
]  # fmt: skip
