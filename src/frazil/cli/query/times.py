"""Functions of dates and times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.dialect import shown
from frazil.cli.query.spark import call, cast, number, text, typed
from frazil.cli.query.translator import Function, Translator, arity
from frazil.cli.query.values import as_integer, as_moment, as_text
from frazil.errors import InvalidQuery

_NTZ: Final = t.TimestampNTZType()
_LTZ: Final = t.TimestampType()
_DATE: Final = t.DateType()
_INT: Final = t.IntegerType()

_UNITS: Final = {
    "YEAR": ("YEAR", "Y", "YY", "YYY", "YYYY", "YR", "YEARS", "YRS"),
    "QUARTER": ("QUARTER", "Q", "QTR", "QTRS", "QUARTERS"),
    "MONTH": ("MONTH", "MM", "MON", "MONS", "MONTHS"),
    "WEEK": ("WEEK", "W", "WK", "WEEKOFYEAR", "WOY", "WY", "WEEKS"),
    "DAY": ("DAY", "D", "DD", "DAYS", "DAYOFMONTH"),
    "HOUR": ("HOUR", "H", "HH", "HR", "HOURS", "HRS"),
    "MINUTE": ("MINUTE", "M", "MI", "MIN", "MINUTES", "MINS"),
    "SECOND": ("SECOND", "S", "SEC", "SECONDS", "SECS"),
    "MILLISECOND": ("MILLISECOND", "MS", "MSEC", "MILLISECONDS"),
    "MICROSECOND": ("MICROSECOND", "US", "USEC", "MICROSECONDS"),
}
_UNIT: Final = {written: unit for unit, names in _UNITS.items() for written in names}
_OF_A_DAY: Final = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})
_EPOCH: Final = {"EPOCH_SECOND": 0, "EPOCH": 0, "EPOCH_MILLISECOND": 3, "EPOCH_MICROSECOND": 6}
_PARTS: Final = {
    "DAYOFWEEK": ("dayofweek", -1),
    "DOW": ("dayofweek", -1),
    "DAYOFWEEKISO": ("weekday", 1),
    "DAYOFWEEK_ISO": ("weekday", 1),
    "DAYOFYEAR": ("dayofyear", 0),
    "DOY": ("dayofyear", 0),
    "WEEK": ("weekofyear", 0),
    "WEEKISO": ("weekofyear", 0),
    "WEEK_ISO": ("weekofyear", 0),
    **{unit: (unit.lower(), 0) for unit in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")},
}
"""Spark's functions of the parts of a date, and what to add to what they count from."""


def _word(node: exp.Expr) -> str:
    """The name of a unit, which may be a word or a text."""
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) and not node.table:
        return node.name.upper()
    if isinstance(node, exp.Var) or (isinstance(node, exp.Literal) and node.is_string):
        return node.name.upper()
    raise InvalidQuery(f"{shown(node)} is no part of a date, like 'day'")


def unit(node: exp.Expr) -> str:
    """The unit of time that is meant.

    Raises:
        InvalidQuery: there is none of that name.
    """
    word = _word(node)
    if word not in _UNIT:
        raise InvalidQuery(f"{word} is no unit of time; there are {', '.join(_UNITS)}")
    return _UNIT[word]


def part(x: Translator, name: exp.Expr, value: exp.Expr) -> exp.Expr:
    """DATE_PART and EXTRACT: one number out of a date or time."""
    word = _word(name)
    if word in _EPOCH:
        epoch = cast(text("1970-01-01 00:00:00"), _NTZ)
        given = as_moment(x.types, x(value))
        if isinstance(x.types.of(given), t.TimestampType):
            epoch = cast(text("1970-01-01 00:00:00+00:00"), _LTZ)
        elapsed = call("timestampdiff", exp.Var(this="MICROSECOND"), epoch, given)
        whole_units = call("floor", exp.Div(this=elapsed, expression=number(10 ** (6 - _EPOCH[word]))))
        return cast(whole_units, t.LongType())
    spark, added = _PARTS.get(_UNIT.get(word, word), _PARTS.get(word, ("", 0)))
    if not spark:
        raise InvalidQuery(f"{word} is no part of a date; there are {', '.join(sorted({*_PARTS, *_EPOCH}))}")
    found = call(spark, as_moment(x.types, x(value)), kind=_INT)
    return typed(exp.Paren(this=exp.Add(this=found, expression=number(added))), _INT) if added else found


def truncated_moment(x: Translator, name: exp.Expr, value: exp.Expr) -> exp.Expr:
    """DATE_TRUNC: the beginning of the unit, of the same type as the value."""
    given = as_moment(x.types, value)
    kind = x.types.of(given)
    return cast(_beginning(unit(name), given), kind)


def _beginning(of: str, value: exp.Expr) -> exp.Expr:
    return call("date_trunc", text(of), value, kind=_LTZ)


def _date_part(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("DATE_PART", arguments, 2, 2)
    return part(x, arguments[0], arguments[1])


def _named_part(name: str) -> Function:
    def of(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        return part(x, exp.Var(this=name), arguments[0])

    return of


def _date_trunc(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("DATE_TRUNC", arguments, 2, 2)
    return truncated_moment(x, arguments[0], x(arguments[1]))


def _added(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("DATEADD", arguments, 3, 3)
    of, count = unit(arguments[0]), as_integer(x.types, x(arguments[1]))
    value = as_moment(x.types, x(arguments[2]))
    found = call("timestampadd", exp.Var(this=of), count, value)
    kind = x.types.of(value)
    if not isinstance(kind, t.DateType):
        return typed(found, kind)
    return cast(found, _NTZ if of in _OF_A_DAY else _DATE)


def _difference(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("DATEDIFF", arguments, 3, 3)
    of = unit(arguments[0])
    # Snowflake counts the borders between the two, so both are taken back to the last one.
    first, second = (_beginning(of, as_moment(x.types, x(node))) for node in arguments[1:])
    return call("timestampdiff", exp.Var(this=of), first, second, kind=t.LongType())


def now(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:  # noqa: ARG001 (a precision changes nothing)
    """CURRENT_TIMESTAMP."""
    arity("CURRENT_TIMESTAMP", arguments, 0, 1)
    return call("current_timestamp", kind=_LTZ)


def _sysdate(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("convert_timezone", text("UTC"), cast(now(x, arguments), _NTZ), kind=_NTZ)


def _convert_timezone(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("CONVERT_TIMEZONE", arguments, 2, 3)
    *zones, value = arguments
    names = [as_text(x.types, x(zone)) for zone in zones]
    given = as_moment(x.types, x(value))
    return call("convert_timezone", *names, cast(given, _NTZ), kind=_NTZ)


def _add_months(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("ADD_MONTHS", arguments, 2, 2)
    return _added(x, [exp.Var(this="MONTH"), arguments[1], arguments[0]])


FUNCTIONS: Final[dict[str, Function]] = {
    "DATE_PART": _date_part,
    **{name: _named_part(name) for name in ("DAYOFWEEK", "DAYOFWEEKISO")},
    "DATE_TRUNC": _date_trunc,
    **dict.fromkeys(("DATEADD", "TIMEADD", "TIMESTAMPADD"), _added),
    **dict.fromkeys(("DATEDIFF", "TIMEDIFF", "TIMESTAMPDIFF"), _difference),
    **dict.fromkeys(("CURRENT_TIMESTAMP", "GETDATE", "LOCALTIMESTAMP", "SYSTIMESTAMP"), now),
    "SYSDATE": _sysdate,
    "CONVERT_TIMEZONE": _convert_timezone,
    "ADD_MONTHS": _add_months,
}
