"""Dates and times: which texts and numbers are one, and the one form DuckDB reads exactly (spec 4.3)."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final, Literal
from zoneinfo import ZoneInfo

from frazil.pipes.default.exact_json import CoercionError
from frazil.records.text import java_trim

TimeType = Literal["date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"]

_DAY: Final = r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_CLOCK: Final = r"(?P<clock>[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.(?P<fraction>[0-9]{1,9}))?)?)"
_OFFSET: Final = r"(?P<offset>[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?)"
_ZONED: Final = rf"({_OFFSET}(\[(?P<zone>[A-Za-z0-9_+/-]{{1,64}})\])?)?"
_MOMENT: Final = re.compile(rf"{_DAY}([Tt]{_CLOCK}{_ZONED})?")
_TIME: Final = re.compile(rf"{_CLOCK}{_OFFSET}?")
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")

_PLAIN_CLOCK: Final = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_PLAIN_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_PLAIN_NANOS: Final = _PLAIN_CLOCK.replace("{1,6}", "{1,9}")
_PLAIN_ZONE: Final = r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?"
_PLAIN: Final[dict[TimeType, re.Pattern[str]]] = {
    "date": re.compile(_PLAIN_DAY),
    "time": re.compile(_PLAIN_CLOCK),
    "timestamp": re.compile(f"{_PLAIN_DAY}T{_PLAIN_CLOCK}Z?"),
    "timestamptz": re.compile(f"{_PLAIN_DAY}T{_PLAIN_CLOCK}{_PLAIN_ZONE}"),
    "timestamp_ns": re.compile(f"{_PLAIN_DAY}T{_PLAIN_NANOS}"),
    "timestamptz_ns": re.compile(f"{_PLAIN_DAY}T{_PLAIN_NANOS}{_PLAIN_ZONE}"),
}
"""The forms DuckDB reads as they are meant."""

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECOND: Final = dt.timedelta(seconds=1)
MILLISECONDS_FROM: Final = 31_536_000_000
MICROSECONDS_FROM: Final = 1000 * MILLISECONDS_FROM
NANOSECONDS_FROM: Final = 1000 * MICROSECONDS_FROM
"""The smallest number since the epoch that is nanoseconds (spec 4.3); below are microseconds and so on to seconds."""

_OF_NANOSECONDS: Final[dict[TimeType, TimeType]] = {"timestamp_ns": "timestamp", "timestamptz_ns": "timestamptz"}
"""Types of nanoseconds, and what they are otherwise like."""

MOST_NANOSECONDS: Final = 2**63 - 2
"""Nanoseconds around the epoch that a column of them holds: the next ones are infinity to DuckDB."""

FIRST_NANOSECOND: Final = "1677-09-21T00:12:43.145224194"
AFTER_LAST_NANOSECOND: Final = "2262-04-11T23:47:16.854775807"
"""The first moment within that, in UTC, and the one after the last."""

AFTER_FIRST_YEAR: Final = "1678"
LAST_YEAR: Final = "2262"
"""Texts from the one to before the other are within that, whatever their offset."""


def is_plain(name: TimeType, text: str, *, needs_zone: bool) -> bool:
    """Whether DuckDB reads `text` as the exact tier does; `needs_zone` when a text without a zone is not UTC."""
    match = _PLAIN[name].fullmatch(text)
    if match is None:
        return False
    if name == "time":
        return True
    try:
        if name in _OF_NANOSECONDS and not AFTER_FIRST_YEAR < text < LAST_YEAR:
            return False
        moment = dt.datetime.fromisoformat(text)
        if name in ("timestamptz", "timestamptz_ns"):
            if moment.tzinfo is None:
                return not needs_zone
            moment.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return False
    return True


def canonical(name: TimeType, text: str, zone: ZoneInfo, *, rounds: bool) -> str:
    """The text of a date or time in the form DuckDB reads.

    Args:
        name: the column's type.
        text: a date, a time, a date with time and perhaps a zone in ISO 8601, or a number since the epoch.
        zone: the zone of texts without one, for columns with a zone.
        rounds: whether nanoseconds are rounded half up to microseconds, which is all a column holds.

    Raises:
        CoercionError: it is none, or no moment of the years 1 to 9999; the message says why.
    """
    trimmed = java_trim(text)
    if name in _OF_NANOSECONDS:
        return _of_nanoseconds(name, _nanoseconds(name, trimmed, zone))
    try:
        if _WHOLE.fullmatch(trimmed):
            return _as(name, _since_epoch(int(trimmed), rounds=rounds))
        if name == "time":
            return _time_of_day(trimmed, rounds=rounds)
        return _as(name, _moment(name, trimmed, zone, rounds=rounds))
    except OverflowError as error:
        raise CoercionError(f"the moment is not within the years 1 to 9999: {error}") from error
    except ValueError as error:
        raise CoercionError(f"it is no ISO 8601 {_CALLED[name]}: {error}") from error


def of_number(name: TimeType, number: int, *, rounds: bool) -> str:
    """The moment a whole number since the epoch stands for, as text that DuckDB reads.

    Raises:
        CoercionError: the column takes no numbers, or the moment is not within the years 1 to 9999.
    """
    if name in ("date", "time"):
        raise CoercionError(f"a number is no {_CALLED[name]}")
    if name in _OF_NANOSECONDS:
        return _of_nanoseconds(name, _nanoseconds_since_epoch(number))
    try:
        return _as(name, _since_epoch(number, rounds=rounds))
    except OverflowError as error:
        raise CoercionError("the moment is not within the years 1 to 9999") from error


_CALLED: Final[dict[TimeType, str]] = {
    "date": "date",
    "time": "time of day",
    "timestamp": "timestamp",
    "timestamptz": "timestamp",
    "timestamp_ns": "timestamp",
    "timestamptz_ns": "timestamp",
}


def _as(name: TimeType, moment: dt.datetime) -> str:
    match name:
        case "date":
            return moment.date().isoformat()
        case "time":
            return moment.time().isoformat()
        case "timestamp":
            return moment.replace(tzinfo=None).isoformat()
        case _:
            return moment.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"


def _since_epoch(number: int, *, rounds: bool) -> dt.datetime:
    micros, rest = divmod(_nanoseconds_since_epoch(number), 1000)
    return _EPOCH + dt.timedelta(microseconds=micros + _rounded(rest, rounds=rounds))


def _nanoseconds_since_epoch(number: int) -> int:
    scale, limit = 10**9, MILLISECONDS_FROM
    while scale > 1 and abs(number) >= limit:
        scale, limit = scale // 1000, limit * 1000
    return number * scale


def _nanoseconds(name: TimeType, text: str, zone: ZoneInfo) -> int:
    """The nanoseconds since the epoch of a text: Python's moments have none, so its fraction is read by itself."""
    if _WHOLE.fullmatch(text):
        return _nanoseconds_since_epoch(int(text))
    match = _MOMENT.fullmatch(text)
    fraction = (match and match["fraction"]) or ""
    whole = canonical(
        _OF_NANOSECONDS[name], text.replace(f".{fraction}", "", 1) if fraction else text, zone, rounds=False
    )
    seconds = (dt.datetime.fromisoformat(whole.removesuffix("Z")).replace(tzinfo=dt.UTC) - _EPOCH) // _SECOND
    return seconds * 10**9 + int(fraction.ljust(9, "0"))


def _of_nanoseconds(name: TimeType, number: int) -> str:
    if abs(number) > MOST_NANOSECONDS:
        raise CoercionError(
            f"the moment is not between {_moment_text(-MOST_NANOSECONDS)} and {_moment_text(MOST_NANOSECONDS)}"
        )
    return _moment_text(number) + ("Z" if name == "timestamptz_ns" else "")


def _moment_text(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 10**9)
    moment = _EPOCH.replace(tzinfo=None) + seconds * _SECOND
    return f"{moment.isoformat()}.{rest:09d}"


def _moment(name: TimeType, text: str, zone: ZoneInfo, *, rounds: bool) -> dt.datetime:
    """The local fields of a text, with its zone where the column has one."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError("write it as 2026-01-31T23:59:59.123456Z")
    local = dt.datetime.fromisoformat(match["day"])
    if match["clock"] is not None:
        local = dt.datetime.combine(local.date(), _clock(match["clock"]))
        if name != "date":
            local += dt.timedelta(microseconds=_micros(match["fraction"], rounds=rounds))
    if match["zone"] is not None:
        _require_zone(match["zone"])
    if name != "timestamptz":
        return local
    return local.replace(tzinfo=zone if match["offset"] is None else _offset(match["offset"]))


def _time_of_day(text: str, *, rounds: bool) -> str:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("write it as 23:59:59.123456")
    moment = dt.datetime.combine(_EPOCH.date(), _clock(match["clock"]))
    rounded = moment + dt.timedelta(microseconds=_micros(match["fraction"], rounds=rounds))
    if rounded.date() != moment.date():
        raise ValueError("rounded to microseconds it is 24:00")
    return rounded.time().isoformat()


def _clock(text: str) -> dt.time:
    return dt.time.fromisoformat(text.partition(".")[0])


def _micros(fraction: str | None, *, rounds: bool) -> int:
    micros, rest = divmod(int((fraction or "0").ljust(9, "0")), 1000)
    return micros + _rounded(rest, rounds=rounds)


def _rounded(nanos: int, *, rounds: bool) -> int:
    """The microsecond that 0 to 999 nanoseconds are rounded to."""
    if nanos and not rounds:
        raise CoercionError("it has nanoseconds and the column holds microseconds (frazil.numbers=round rounds them)")
    return 1 if nanos >= 500 else 0


def _offset(text: str) -> dt.tzinfo:
    if text in "Zz":
        return dt.UTC
    hours, minutes, *seconds = (int(part) for part in text[1:].split(":"))
    offset = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)
    return dt.timezone(offset if text[0] == "+" else -offset)


def _require_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, OSError) as error:
        raise ValueError(f"there is no time zone {name!r}") from error
