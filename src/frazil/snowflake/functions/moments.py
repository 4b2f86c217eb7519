"""Functions that take dates and times apart, and count with them."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, cast, typed
from frazil.snowflake.functions.meanings import Function, arity, as_integer, as_moment, literal, table, whole
from frazil.snowflake.functions.parts import OF_A_DAY, part, unit
from frazil.snowflake.kinds import BIGINT, DATE, HUGEINT, TEXT, TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, decimal
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text

_FIELDS: Final = {
    "WEEK": "weekofyear(a)",
    "WEEKISO": "weekofyear(a)",
    "DAYOFWEEK": "dayofweek(a)",
    "DAYOFWEEKISO": "isodow(a)",
    "DAYOFYEAR": "dayofyear(a)",
    "YEAROFWEEK": "isoyear(a)",
    "YEAROFWEEKISO": "isoyear(a)",
    **{each: f"{each.lower()}(a)" for each in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")},
}
_OF_A_SECOND: Final = {"MILLISECOND": 10**6, "MICROSECOND": 10**3, "NANOSECOND": 1}
"""Nanoseconds in it."""

_EPOCHS: Final = {"EPOCH_SECOND": 10**9, "EPOCH_MILLISECOND": 10**6, "EPOCH_MICROSECOND": 10**3, "EPOCH_NANOSECOND": 1}
"""Nanoseconds in what is counted."""

_STEPS: Final = {
    "YEAR": "to_years(CAST(b AS INTEGER))",
    "QUARTER": "to_months(CAST(b * 3 AS INTEGER))",
    "MONTH": "to_months(CAST(b AS INTEGER))",
    "WEEK": "to_weeks(CAST(b AS INTEGER))",
    "DAY": "to_days(CAST(b AS INTEGER))",
    "HOUR": "to_hours(b)",
    "MINUTE": "to_minutes(b)",
    "SECOND": "to_seconds(b)",
    "MILLISECOND": "to_milliseconds(b)",
    "MICROSECOND": "to_microseconds(b)",
}
_MICROSECONDS: Final = {
    "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "MILLISECOND": 1000, "MICROSECOND": 1,
}  # fmt: skip
_DAYS: Final = "'mo', 'tu', 'we', 'th', 'fr', 'sa', 'su'"


def part_of(name: str, types: Types, part_node: exp.Expr, node: exp.Expr) -> exp.Expr:
    """DATE_PART and EXTRACT: one number out of a date or time."""
    wanted, value = part(name, part_node), as_moment(types, node)
    if types.of(value) == TIME and wanted not in OF_A_DAY:
        raise Refused(f"{name}: a TIME has no {wanted}", part_node)
    if wanted in _OF_A_SECOND:
        inside = template("(a + b) % 1000000000", [_nanoseconds(types, value)[0], _number(10**18)])
        return cast(template(f"a // {_OF_A_SECOND[wanted]}", [inside], HUGEINT), BIGINT)
    if wanted in _EPOCHS:
        return _epoch(types, value, _EPOCHS[wanted])
    return template(_FIELDS[wanted], [value], BIGINT)


def _number(value: int) -> exp.Expr:
    return typed(exp.Literal.number(value), BIGINT)


def _nanoseconds(types: Types, value: exp.Expr) -> tuple[exp.Expr, int]:
    """Counted from 1970, and how many nanoseconds one step is."""
    if types.of(value) == TIMESTAMP_NS:
        return template("epoch_ns(a)", [value], BIGINT), 1
    return template("CAST(epoch_us(a) AS HUGEINT) * 1000", [value], HUGEINT), 1000


def _epoch(types: Types, value: exp.Expr, unit_size: int) -> exp.Expr:
    found, _ = _nanoseconds(types, value)
    # Times before 1970 are rounded down, as those after it.
    floored = template(f"(a - ((a % {unit_size}) + {unit_size}) % {unit_size}) // {unit_size}", [found], HUGEINT)
    return cast(floored, BIGINT)


def truncated(name: str, types: Types, unit_node: exp.Expr, node: exp.Expr) -> exp.Expr:
    """DATE_TRUNC: the beginning of the unit, of the same type as the value."""
    value = as_moment(types, node)
    return _beginning(name, types, unit(name, unit_node), value)


def _beginning(name: str, types: Types, of: str, value: exp.Expr) -> exp.Expr:
    kind = types.of(value)
    if kind == TIME and of not in OF_A_DAY:
        raise Refused(f"{name}: a TIME has no {of}")
    if of == "NANOSECOND" or (kind == DATE and of in OF_A_DAY):
        return value
    if kind == TIME:
        return template(f"CAST(date_trunc('{of}', DATE '1970-01-01' + a) AS TIME)", [value], TIME)
    return cast(template(f"date_trunc('{of}', a)", [value], TIMESTAMP), kind)


def _date_part(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("DATE_PART", arguments, 2, 2)
    return part_of("DATE_PART", types, arguments[0], arguments[1])


def _named_part(name: str) -> Function:
    def of(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        return part_of(name, types, exp.Var(this=name), arguments[0])

    return of


def _date_trunc(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("DATE_TRUNC", arguments, 2, 2)
    return truncated("DATE_TRUNC", types, arguments[0], arguments[1])


def _dateadd(name: str) -> Function:
    def added(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 3, 3)
        value = as_moment(types, arguments[2])
        return _later(name, types, unit(name, arguments[0]), as_integer(types, arguments[1]), value)

    return added


def _later(name: str, types: Types, of: str, count: exp.Expr, value: exp.Expr) -> exp.Expr:
    kind = types.of(value)
    if kind == TIME and of not in OF_A_DAY:
        raise Refused(f"{name}: a TIME has no {of}")
    if of == "NANOSECOND":
        if kind in (TIME, TIMESTAMPTZ):
            raise Refused(f"{name}: nanoseconds can be added to a DATE or a TIMESTAMP_NTZ only")
        return template("make_timestamp_ns(epoch_ns(a) + b)", [cast(value, TIMESTAMP_NS), count], TIMESTAMP_NS)
    found = template(f"a + {_STEPS[of]}", [value, count])
    if kind == TIMESTAMP_NS:
        return template(
            f"make_timestamp_ns(epoch_ns(CAST(a AS TIMESTAMP) + {_STEPS[of]}) + epoch_ns(a) % 1000)",
            [value.copy(), count.copy()],
            TIMESTAMP_NS,
        )
    return cast(found, TIMESTAMP if kind == DATE and of in OF_A_DAY else kind)


def _datediff(name: str) -> Function:
    def difference(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 3, 3)
        of = unit(name, arguments[0])
        first, second = (as_moment(types, each) for each in arguments[1:])
        if TIME in (types.of(first), types.of(second)):
            if types.of(first) != types.of(second) or of not in OF_A_DAY:
                raise Refused(f"{name}: between TIMEs there are hours and smaller units only")
            first, second = (template("DATE '1970-01-01' + a", [each], TIMESTAMP) for each in (first, second))
        return _between(types, of, first, second)

    return difference


def _between(types: Types, of: str, first: exp.Expr, second: exp.Expr) -> exp.Expr:
    """The borders of the unit between two moments."""
    if of == "NANOSECOND":
        ends = [_nanoseconds(types, each)[0] for each in (first, second)]
        return cast(template("b - a", ends, HUGEINT), BIGINT)
    ends = [cast(each, TIMESTAMP) for each in (first, second)]
    if of in _MICROSECONDS:
        begun = [template(f"epoch_us(date_trunc('{of}', a))", [each], BIGINT) for each in ends]
        return template(f"(b - a) // {_MICROSECONDS[of]}", begun, BIGINT)
    if of == "WEEK":
        # DuckDB counts whole weeks.
        return template("date_diff('day', date_trunc('week', a), date_trunc('week', b)) // 7", ends, BIGINT)
    return template(f"date_diff('{of}', a, b)", ends, BIGINT)


def _add_months(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ADD_MONTHS", arguments, 2, 2)
    value, count = as_moment(types, arguments[0]), as_integer(types, arguments[1])
    if types.of(value) == TIME:
        raise Refused("ADD_MONTHS: a TIME has no MONTH", arguments[0])
    moved = "a + to_months(CAST(b AS INTEGER))"
    last = f"CASE WHEN last_day(a) = CAST(a AS DATE) THEN {moved} + (last_day({moved}) - CAST({moved} AS DATE)) * to_days(1) ELSE {moved} END"  # noqa: E501
    return cast(template(last, [value, count]), types.of(value))


def _months_between(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("MONTHS_BETWEEN", arguments, 2, 2)
    first, second = (cast(as_moment(types, each), DATE) for each in arguments)
    months = "(year(a) - year(b)) * 12 + month(a) - month(b)"
    fraction = (
        "CASE WHEN day(a) = day(b) OR (a = last_day(a) AND b = last_day(b)) THEN 0 ELSE (day(a) - day(b)) / 31 END"
    )
    kind = decimal(38, 6)
    return cast(template(f"round({months} + {fraction}, 6)", [first, second]), kind)


_LENGTHS: Final = {"WEEK": "to_days(7)", "MONTH": "to_months(1)", "QUARTER": "to_months(3)", "YEAR": "to_years(1)"}


def _last_day(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("LAST_DAY", arguments, 1, 2)
    of = unit("LAST_DAY", arguments[1]) if len(arguments) > 1 else "MONTH"
    if of not in _LENGTHS:
        raise Refused("LAST_DAY is that of a WEEK, MONTH, QUARTER or YEAR", arguments[1])
    end = f"CAST(date_trunc('{of}', a) + {_LENGTHS[of]} - to_days(1) AS DATE)"
    return template(end, [as_moment(types, arguments[0])], DATE)


def _neighbour(name: str, days: str) -> Function:
    def neighbour(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 2, 2)
        value, day = cast(as_moment(types, arguments[0]), DATE), as_text(types, arguments[1])
        if isinstance(day, exp.Literal) and day.name.strip().lower()[:2] not in _DAYS.replace("'", "").split(", "):
            raise Refused(f"{name}: {day.name[:20]!r} is no day of the week, like 'mo' or 'monday'", arguments[1])
        number = f"list_position([{_DAYS}], lower(left(trim(b), 2)))"
        return cast(template(f"a + CAST({days.format(number)} AS INTEGER)", [value, day]), DATE)

    return neighbour


def _time_slice(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    name = "TIME_SLICE"
    arity(name, arguments, 3, 4)
    value, length, of = (
        as_moment(types, arguments[0]),
        whole(name, arguments[1], "the length"),
        unit(name, arguments[2]),
    )
    end = literal(name, arguments[3], "which end is meant").upper() if len(arguments) > 3 else "START"
    kind = types.of(value)
    if end not in ("START", "END"):
        raise Refused(f"{name}: the fourth argument is 'START' or 'END'", arguments[3])
    if length < 1 or kind == TIME or of not in _STEPS or (kind == DATE and of in OF_A_DAY):
        raise Refused(f"{name}: a slice is a whole number of units from 1 on, of days and longer for a DATE")
    step = _STEPS[of].replace("b", str(length), 1) if "AS" not in _STEPS[of] else _STEPS[of].replace("b", str(length))
    origin = "1969-12-29" if of == "WEEK" else "1970-01-01"
    begun = f"time_bucket({step}, CAST(a AS TIMESTAMP), TIMESTAMP '{origin}')"
    return cast(template(begun if end == "START" else f"{begun} + {step}", [value], TIMESTAMP), kind)


def now(_: Types, arguments: list[exp.Expr]) -> exp.Expr:
    """CURRENT_TIMESTAMP; a precision changes nothing."""
    arity("CURRENT_TIMESTAMP", arguments, 0, 1)
    return call("now", kind=TIMESTAMPTZ)


def today(_: Types, arguments: list[exp.Expr]) -> exp.Expr:
    """CURRENT_DATE."""
    arity("CURRENT_DATE", arguments, 0, 0)
    return cast(call("now", kind=TIMESTAMPTZ), DATE)


def time_now(_: Types, arguments: list[exp.Expr]) -> exp.Expr:
    """CURRENT_TIME."""
    arity("CURRENT_TIME", arguments, 0, 1)
    return cast(cast(call("now", kind=TIMESTAMPTZ), TIMESTAMP), TIME)


def _sysdate(_: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("SYSDATE", arguments, 0, 0)
    return cast(call("now", kind=TIMESTAMPTZ), TIMESTAMP)


def _convert_timezone(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("CONVERT_TIMEZONE", arguments, 2, 3)
    *zones, value = arguments
    names = [as_text(types, each) for each in zones]
    source = names[0] if len(names) == 2 else exp.Literal.string("UTC")
    moment = cast(as_moment(types, value), TIMESTAMP)
    return template("timezone(c, timezone(b, a))", [moment, source, names[-1]], TIMESTAMP)


_TEXT_PARTS: Final = """
    DAYNAME(m) = strftime(a, '%a')
    MONTHNAME(m) = strftime(a, '%b')
"""

WORDS: Final = {
    **dict.fromkeys(("DATE_PART", "DATE_TRUNC", "DATEADD", "TIMEADD", "TIMESTAMPADD"), frozenset({0})),
    **dict.fromkeys(("DATEDIFF", "TIMEDIFF", "TIMESTAMPDIFF"), frozenset({0})),
    "LAST_DAY": frozenset({1}),
    "TIME_SLICE": frozenset({2}),
}
"""Which arguments are words."""

_NAMED_PARTS: Final = (
    "YEAR", "YEAROFWEEK", "YEAROFWEEKISO", "QUARTER", "MONTH", "DAY", "DAYOFMONTH", "DAYOFWEEK", "DAYOFWEEKISO",
    "DAYOFYEAR", "WEEK", "WEEKISO", "WEEKOFYEAR", "HOUR", "MINUTE", "SECOND",
)  # fmt: skip

FUNCTIONS: Final[dict[str, Function]] = {
    **table(TEXT, _TEXT_PARTS),
    "DATE_PART": _date_part,
    **{name: _named_part(name) for name in _NAMED_PARTS},
    "DATE_TRUNC": _date_trunc,
    **{name: _dateadd(name) for name in ("DATEADD", "TIMEADD", "TIMESTAMPADD")},
    **{name: _datediff(name) for name in ("DATEDIFF", "TIMEDIFF", "TIMESTAMPDIFF")},
    "ADD_MONTHS": _add_months,
    "MONTHS_BETWEEN": _months_between,
    "LAST_DAY": _last_day,
    "NEXT_DAY": _neighbour("NEXT_DAY", "({0} - isodow(a) + 6) % 7 + 1"),
    "PREVIOUS_DAY": _neighbour("PREVIOUS_DAY", "-((isodow(a) - {0} + 6) % 7 + 1)"),
    "TIME_SLICE": _time_slice,
    **dict.fromkeys(("CURRENT_TIMESTAMP", "GETDATE", "LOCALTIMESTAMP", "SYSTIMESTAMP"), now),
    "CURRENT_DATE": today,
    **dict.fromkeys(("CURRENT_TIME", "LOCALTIME"), time_now),
    "SYSDATE": _sysdate,
    "CONVERT_TIMEZONE": _convert_timezone,
}
"""What each becomes."""
