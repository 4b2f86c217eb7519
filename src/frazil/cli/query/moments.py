"""Dates and times from numbers, texts and VARIANTs, and the words of Snowflake's formats."""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.spark import call, cast, grouped, number, text, typed, variant_as, when
from frazil.cli.query.types import INTEGERS, NUMBER, NUMBERS, Types
from frazil.errors import InvalidQuery

_YEAR_2969: Final = 31_536_000_000
"""Numbers below are seconds; below a thousand times of it milliseconds, then microseconds, then nanoseconds."""

_DIGITS: Final = re.compile(r"-?[0-9]+")
_NTZ: Final = t.TimestampNTZType()
_WORDS: Final = {
    "YYYY": "yyyy", "YY": "yy", "MMMM": "MMMM", "MON": "MMM", "MM": "MM", "DD": "dd", "DY": "EEE", "HH24": "HH",
    "HH12": "hh", "HH": "HH", "AM": "a", "PM": "a", "MI": "mm", "SS": "ss", "TZH:TZM": "xxx", "TZHTZM": "xx",
    "TZH": "x", "FF": "S" * 9, "FF0": "", **{f"FF{digits}": "S" * digits for digits in range(1, 10)},
}  # fmt: skip
_FORMAT: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|(?P<word>' + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")|(?P<other>[^A-Za-z])",
    re.IGNORECASE,
)


def moment(types: Types, node: exp.Expr, kind: t.DataType, *, safe: bool = False) -> exp.Expr:
    """A value as a date or time; whole numbers, also as texts, are counted from 1970 in a unit by their size."""
    given = types.of(node)
    if isinstance(given, t.VariantType):
        return moment(types, variant_as(node, t.StringType()), kind, safe=safe)
    if isinstance(given, NUMBERS):
        # The product with a million must not overflow an INT.
        return since_1970(cast(node, t.LongType()) if isinstance(given, INTEGERS) else node, kind)
    if not isinstance(given, t.StringType):
        return cast(node, kind, safe=safe)
    if isinstance(node, exp.Literal) and not _DIGITS.fullmatch(node.name):
        return cast(node, kind, safe=safe)
    digits = exp.RegexpLike(this=grouped(node), expression=text(r"^-?[0-9]+\z"))
    counted = since_1970(cast(node, NUMBER, safe=True), kind)
    return typed(when(digits, counted, cast(node.copy(), kind, safe=safe)), kind)


def since_1970(node: exp.Expr, kind: t.DataType, scale: int | None = None) -> exp.Expr:
    """The moment that many units after 1970 began in UTC; `scale` says which part of a second, else the size does."""
    micros = cast(_by_size(node) if scale is None else _scaled(node, 6 - scale), t.LongType())
    if isinstance(kind, t.TimestampType):
        return call("timestamp_micros", micros, kind=kind)
    epoch = cast(text("1970-01-01 00:00:00"), _NTZ)
    found = call("timestampadd", exp.Var(this="MICROSECOND"), micros, epoch, kind=_NTZ)
    return found if isinstance(kind, t.TimestampNTZType) else cast(found, kind)


def _by_size(node: exp.Expr) -> exp.Expr:
    def below(limit: int) -> exp.Expr:
        return exp.LT(this=call("abs", node.copy()), expression=number(limit))

    branches = (
        exp.If(this=below(_YEAR_2969 * 1000**step), true=_scaled(node.copy(), 6 - 3 * step)) for step in range(3)
    )
    return exp.Case(ifs=list(branches), default=_scaled(node.copy(), -3))


def _scaled(node: exp.Expr, digits: int) -> exp.Expr:
    if digits >= 0:
        return exp.Mul(this=grouped(node), expression=number(10**digits))
    return call("floor", exp.Div(this=grouped(node), expression=number(10**-digits)))


def java_format(node: exp.Expr) -> exp.Expr:
    """A Snowflake format as Spark's pattern.

    Raises:
        InvalidQuery: it is no literal, or has a word that means nothing.
    """
    if not (isinstance(node, exp.Literal) and node.is_string):
        raise InvalidQuery("a format of dates and times must be a text in the query, like 'YYYY-MM-DD'")
    rest, pattern = node.name, []
    while rest:
        found = _FORMAT.match(rest)
        if not found:
            raise InvalidQuery(f"{node.name!r} is no format of dates and times from {rest!r} on")
        word = found["word"]
        pattern.append(_WORDS[word.upper()] if word else _verbatim(found["quoted"] or found["other"] or ""))
        rest = rest[found.end() :]
    return text("".join(pattern))


def _verbatim(characters: str) -> str:
    # In Java's patterns letters have a meaning, as have ' [ ] { } # outside of quotes.
    plain = all(character in " -/:.,_" or character.isdigit() for character in characters)
    return characters if plain else "'" + characters.replace("'", "''") + "'"
