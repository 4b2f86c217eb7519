"""Dates and times from numbers, texts and VARIANTs."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, cast, choice, compare, grouped, number, text, typed, when
from frazil.snowflake.documents import as_text
from frazil.snowflake.kinds import BIGINT, BOOLEAN, DATE, HUGEINT, NUMBER, TEXT, TIMESTAMP, TIMESTAMPTZ, decimal
from frazil.snowflake.typed import Types

_YEAR_2969: Final = 31_536_000_000
"""Numbers below are seconds; below a thousand times of it milliseconds, then microseconds, then nanoseconds."""

_ZONE: Final = r"(\d\d:\d\d(?::\d\d(?:\.\d*)?)?)\s*(?:Z|UTC|[+-]\d\d(?::?\d\d)?)$"
_WORD: Final = r"^\s*[+-]?[A-Za-z]"
_NO_MOMENT: Final = "?"
_BEFORE_ZONE: Final = r"\s+([+-]\d\d(?::?\d\d)?)$"

_DIGITS: Final = re.compile(r"-?[0-9]+")


def moment(types: Types, node: exp.Expr, kind: exp.DataType, *, safe: bool = False) -> exp.Expr:
    """A value as a date or timestamp; whole numbers, also as texts, are counted from 1970 in a unit by their size."""
    if types.is_variant(node):
        return moment(types, as_text(types, node), kind, safe=safe)
    if types.is_number(node):
        return since_1970(types, node, kind)
    if not types.is_text(node):
        return _converted(types, node, kind, safe=safe)
    if isinstance(node, exp.Literal):
        if _DIGITS.fullmatch(node.name):
            return since_1970(types, cast(node, NUMBER), kind)
        return _from_text(node, kind, safe=safe)
    digits = call("regexp_full_match", node.copy(), text("-?[0-9]+"), kind=BOOLEAN)
    counted = since_1970(types, cast(node.copy(), NUMBER, safe=True), kind)
    return when(digits, counted, _from_text(node, kind, safe=safe))


def _from_text(node: exp.Expr, kind: exp.DataType, *, safe: bool) -> exp.Expr:
    # Without a zone a time is what the clock showed, whatever zone the text names; DuckDB would convert it to UTC.
    pattern, kept = (_BEFORE_ZONE, r"\1") if kind == TIMESTAMPTZ else (_ZONE, r"\1")
    if isinstance(node, exp.Literal):
        plain: exp.Expr = text(re.sub(_WORD, _NO_MOMENT, re.sub(pattern, kept, node.name)))
    else:
        plain = _without_words(call("regexp_replace", node, text(pattern), text(kept), kind=TEXT))
    through = cast(plain, TIMESTAMP, safe=safe) if kind == DATE else plain
    return cast(through, kind, safe=safe)


def _without_words(node: exp.Expr) -> exp.Expr:
    """The text, but such that words DuckDB knows moments by, `infinity` and `epoch`, are none."""
    usual = compare(exp.And, compare(exp.GTE, node.copy(), text("0")), compare(exp.LT, node.copy(), text(":")))
    found = call("regexp_replace", node.copy(), text(_WORD), text(_NO_MOMENT), kind=TEXT)
    return typed(choice([(usual, node)], found), TEXT)


def _converted(types: Types, node: exp.Expr, kind: exp.DataType, *, safe: bool) -> exp.Expr:
    return node if types.of(node) == kind else cast(node, kind, safe=safe)


def since_1970(types: Types, node: exp.Expr, kind: exp.DataType, scale: int | None = None) -> exp.Expr:
    """The moment that many units after 1970 began in UTC; `scale` says which part of a second, else the size does."""
    exact = node if types.is_exact(node) else cast(node, decimal(38, 9))
    micros = _by_size(types, exact) if scale is None else _scaled(types, exact, 6 - scale)
    found = call("make_timestamp", cast(micros, BIGINT), kind=TIMESTAMP)
    if kind == TIMESTAMP:
        return found
    # The connection is in UTC.
    return cast(found, kind)


def _by_size(types: Types, node: exp.Expr) -> exp.Expr:
    def below(limit: int) -> exp.Expr:
        return compare(exp.LT, call("abs", cast(node.copy(), HUGEINT)), number(limit))

    branches = [(below(_YEAR_2969 * 1000**step), _scaled(types, node.copy(), 6 - 3 * step)) for step in range(3)]
    return typed(choice(branches, _scaled(types, node.copy(), -3)), HUGEINT)


def _scaled(types: Types, node: exp.Expr, digits: int) -> exp.Expr:
    """A number times ten to that power, rounded down."""
    if digits < 0:
        whole = cast(call("floor", node), HUGEINT)
        factor = number(10**-digits)
        down = compare(exp.LT, whole, number(0))
        lowered = exp.Sub(this=grouped(whole.copy()), expression=number(10**-digits - 1))
        return typed(exp.IntDiv(this=exp.paren(when(down, lowered, whole.copy())), expression=factor), HUGEINT)
    if types.is_integer(node):
        product = exp.Mul(this=cast(node, HUGEINT), expression=number(10**digits))
        return typed(exp.paren(product), HUGEINT)
    shifted = exp.Mul(this=cast(node, decimal(38, 9)), expression=cast(number(10**digits), decimal(7, 0)))
    return cast(call("floor", typed(exp.paren(shifted), None)), HUGEINT)


TIMESTAMPS: Final = {"NTZ": TIMESTAMP, "LTZ": TIMESTAMPTZ, "TZ": TIMESTAMPTZ}
"""The types of Snowflake's three kinds of timestamps."""
