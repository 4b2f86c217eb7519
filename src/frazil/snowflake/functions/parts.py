"""Units of time and parts of dates, by all the names that Snowflake has for them."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.places import Refused

_UNITS: Final = {
    "YEAR": "YEAR Y YY YYY YYYY YR YEARS YRS",
    "QUARTER": "QUARTER Q QTR QTRS QUARTERS",
    "MONTH": "MONTH MM MON MONS MONTHS",
    "WEEK": "WEEK W WK WEEKOFYEAR WOY WY WEEKS",
    "DAY": "DAY D DD DAYS DAYOFMONTH",
    "HOUR": "HOUR H HH HR HOURS HRS",
    "MINUTE": "MINUTE M MI MIN MINUTES MINS",
    "SECOND": "SECOND S SEC SECONDS SECS",
    "MILLISECOND": "MILLISECOND MS MSEC MILLISECONDS",
    "MICROSECOND": "MICROSECOND US USEC MICROSECONDS",
    "NANOSECOND": "NANOSECOND NS NSEC NANOSEC NSECOND NANOSECONDS NANOSECS NSECONDS",
}
_PARTS: Final = {
    "WEEKISO": "WEEKISO WEEK_ISO WEEKOFYEARISO WEEKOFYEAR_ISO",
    "DAYOFWEEK": "DAYOFWEEK WEEKDAY DOW DW",
    "DAYOFWEEKISO": "DAYOFWEEKISO WEEKDAY_ISO DOW_ISO DW_ISO DAYOFWEEK_ISO",
    "DAYOFYEAR": "DAYOFYEAR YEARDAY DOY DY",
    "YEAROFWEEK": "YEAROFWEEK",
    "YEAROFWEEKISO": "YEAROFWEEKISO",
    "EPOCH_SECOND": "EPOCH_SECOND EPOCH EPOCH_SECONDS",
    "EPOCH_MILLISECOND": "EPOCH_MILLISECOND EPOCH_MILLISECONDS",
    "EPOCH_MICROSECOND": "EPOCH_MICROSECOND EPOCH_MICROSECONDS",
    "EPOCH_NANOSECOND": "EPOCH_NANOSECOND EPOCH_NANOSECONDS",
}
_UNIT: Final = {written: unit for unit, names in _UNITS.items() for written in names.split()}
_PART: Final = _UNIT | {written: part for part, names in _PARTS.items() for written in names.split()}

OF_A_DAY: Final = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"})
"""Units that a time of day has."""


def unit(name: str, node: exp.Expr) -> str:
    """The unit of time that is meant.

    Raises:
        Refused: there is none of that name.
    """
    return _found(name, node, _UNIT, "unit of time", [*_UNITS])


def part(name: str, node: exp.Expr) -> str:
    """The part of a date or time that is meant.

    Raises:
        Refused: there is none of that name.
    """
    return _found(name, node, _PART, "part of a date", [*_UNITS, *_PARTS])


def _found(name: str, node: exp.Expr, known: dict[str, str], what: str, all_of_them: list[str]) -> str:
    written = _word(name, node)
    if written not in known:
        raise Refused(f"{name}: {written[:40]} is no {what}; there are {', '.join(all_of_them)}", node)
    return known[written]


def _word(name: str, node: exp.Expr) -> str:
    if isinstance(node, exp.Column | exp.Var | exp.Identifier) or (isinstance(node, exp.Literal) and node.is_string):
        return node.name.upper()
    raise Refused(f"{name}: a part of a date is a word, like day or 'day'", node)
