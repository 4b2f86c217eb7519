"""Dates and times made of other values, and values shown as texts."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, cast, text
from frazil.snowflake.casts import to_type
from frazil.snowflake.functions.formats import is_number_format, number_in, parsing, shown_in
from frazil.snowflake.functions.meanings import Function, arity, as_exact, as_integer, as_moment, literal, whole
from frazil.snowflake.kinds import BLOB, DATE, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, decimal
from frazil.snowflake.moments import moment, since_1970
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text


def _to(name: str, kind: exp.DataType, *, safe: bool = False) -> Function:
    def to(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 2)
        value = arguments[0]
        if len(arguments) == 1 or _is_auto(arguments[1]):
            return _as_time(types, value, safe=safe) if kind == TIME else moment(types, value, kind, safe=safe)
        if types.is_number(value) or _is_number(arguments[1]):
            if kind in (TIME, DATE):
                raise Refused(f"{name} takes no scale", arguments[1])
            scale = whole(name, arguments[1], "the scale")
            if not 0 <= scale <= 9:
                raise Refused(f"{name}: a scale is 0 (seconds) to 9 (nanoseconds)", arguments[1])
            counted = value if types.is_exact(value) else to_type(types, value, decimal(38, 9), safe=safe)
            return since_1970(types, counted, kind, scale)
        return _parsed(name, as_text(types, value), parsing(name, arguments[1]), kind, arguments[1], safe=safe)

    return to


def _parsed(name: str, value: exp.Expr, form: str, kind: exp.DataType, written: exp.Expr, *, safe: bool) -> exp.Expr:
    if "%z" in form and kind != TIMESTAMPTZ:
        # What has no zone keeps the time as it is written; the offset is dropped.
        if not form.endswith("%z"):
            raise Refused(f"{name}: without a zone in the result, the offset stands at the end of the format", written)
        form = form.removesuffix("%z")
        value = template(f"regexp_replace(a, '{_OFFSET}', '')", [value], TEXT)
    found = call("try_strptime" if safe else "strptime", value, text(form))
    return cast(found, kind, safe=safe)


_OFFSET: Final = "([+-][0-9]{2}(:?[0-9]{2})?|Z)$"


def _is_auto(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string and node.name.upper() == "AUTO"


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _as_time(types: Types, node: exp.Expr, *, safe: bool) -> exp.Expr:
    if types.of(node) == TIME:
        return node
    if types.is_moment(node):
        return cast(cast(node, TIMESTAMP), TIME)
    if types.is_number(node):
        raise Refused("a number is no TIME; write it as a text, or use TIME_FROM_PARTS", node)
    return cast(as_text(types, node), TIME, safe=safe)


def _to_char(name: str) -> Function:
    def to_char(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 2)
        value = arguments[0]
        if len(arguments) == 1:
            return as_text(types, value)
        if types.of(value) == BLOB:
            return _binary(name, value, literal(name, arguments[1], "the format").upper())
        if types.is_number(value) or (types.is_variant(value) and is_number_format(arguments[1])):
            return number_in(name, arguments[1], as_exact(types, value))
        value = as_moment(types, value)
        if types.of(value) == TIME:
            value = template("DATE '1970-01-01' + a", [value], TIMESTAMP)
        return shown_in(name, arguments[1], value)

    return to_char


def _binary(name: str, value: exp.Expr, written: str) -> exp.Expr:
    functions = {"HEX": "hex", "BASE64": "base64", "UTF-8": "decode", "UTF8": "decode"}
    if written not in functions:
        raise Refused(f"{name}: a BINARY is shown as HEX, BASE64 or UTF-8, not as {written[:20]}")
    return call(functions[written], value, kind=TEXT)


def _date_from_parts(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("DATE_FROM_PARTS", arguments, 3, 3)
    return cast(_day([as_integer(types, each) for each in arguments]), DATE)


def _day(parts: list[exp.Expr]) -> exp.Expr:
    """Midnight of a day; months and days out of range count on into the next."""
    return template(
        "make_timestamp(a, 1, 1, 0, 0, 0) + to_months(CAST(b - 1 AS INTEGER)) + to_days(CAST(c - 1 AS INTEGER))",
        parts,
        TIMESTAMP,
    )


_CLOCK: Final = "to_hours(b) + to_minutes(c) + to_seconds(d)"


def _time_from_parts(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("TIME_FROM_PARTS", arguments, 3, 4)
    start = template("TIMESTAMP '1970-01-01'", [], TIMESTAMP)
    return cast(_clocked(types, start, arguments), TIME)


def _clocked(types: Types, start: exp.Expr, arguments: list[exp.Expr]) -> exp.Expr:
    parts = [as_integer(types, each) for each in arguments]
    fraction = " + to_microseconds(e // 1000)" if len(parts) > 3 else ""
    return template(f"a + {_CLOCK}{fraction}", [start, *parts], TIMESTAMP)


def _timestamp_from_parts(name: str, kind: exp.DataType) -> Function:
    def made(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) == 2 and kind == TIMESTAMP:
            day, time = (to_type(types, arguments[0], DATE), _as_time(types, arguments[1], safe=False))
            return template("a + b", [day, time], TIMESTAMP)
        arity(name, arguments, 6, 8 if kind == TIMESTAMPTZ else 7)
        start = _day([as_integer(types, each) for each in arguments[:3]])
        found = _clocked(types, start, arguments[3:7])
        if len(arguments) == 8:
            return template("timezone(b, a)", [found, as_text(types, arguments[7])], TIMESTAMPTZ)
        return cast(found, kind)

    return made


_KINDS: Final = {
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMPTZ,
    "TIMESTAMP_TZ": TIMESTAMPTZ,
}

FUNCTIONS: Final[dict[str, Function]] = {
    **{f"TO_{name}": _to(f"TO_{name}", kind) for name, kind in _KINDS.items()},
    **{f"TRY_TO_{name}": _to(f"TRY_TO_{name}", kind, safe=True) for name, kind in _KINDS.items()},
    "DATE": _to("DATE", DATE),
    "TIME": _to("TIME", TIME),
    "TO_CHAR": _to_char("TO_CHAR"),
    "TO_VARCHAR": _to_char("TO_VARCHAR"),
    **dict.fromkeys(("DATE_FROM_PARTS", "DATEFROMPARTS"), _date_from_parts),
    **dict.fromkeys(("TIME_FROM_PARTS", "TIMEFROMPARTS"), _time_from_parts),
    **{
        name: _timestamp_from_parts(name, TIMESTAMP)
        for name in (
            "TIMESTAMP_FROM_PARTS",
            "TIMESTAMPFROMPARTS",
            "TIMESTAMP_NTZ_FROM_PARTS",
            "TIMESTAMPNTZFROMPARTS",
        )
    },
    **{
        name: _timestamp_from_parts(name, TIMESTAMPTZ)
        for name in ("TIMESTAMP_LTZ_FROM_PARTS", "TIMESTAMP_TZ_FROM_PARTS")
    },
}
"""What each becomes."""
