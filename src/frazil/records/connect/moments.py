"""Milliseconds as texts in UTC, also of years that Python's dates do not have."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Final

DAY: Final = 86_400_000
"""Milliseconds of a day."""

_CYCLE: Final = 146_097
"""Days of 400 years, after which the calendar begins anew."""

_EPOCH: Final = dt.date(1970, 1, 1).toordinal()


def timestamp(millis: int) -> str:
    """An ISO timestamp with milliseconds and `Z`: `1970-03-22T00:00:00.000Z`."""
    days, rest = divmod(millis, DAY)
    return f"{_date(days)}T{time(rest)}Z"


def time(millis: int) -> str:
    """The time of a day with milliseconds: `10:15:30.250`."""
    seconds, thousandths = divmod(millis % DAY, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}.{thousandths:03}"


@lru_cache(maxsize=1000)  # records that come together are of few days
def _date(days: int) -> str:
    cycles, day = divmod(days + _EPOCH - 1, _CYCLE)
    date = dt.date.fromordinal(day + 1)
    return f"{_year(date.year + 400 * cycles)}-{date.month:02}-{date.day:02}"


def _year(year: int) -> str:
    """Four digits; ISO 8601 gives the years that need more, or are before the first, a sign."""
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"


def fine_timestamp(value: int, digits: int) -> str:
    """An ISO timestamp without zone, of fractions of a second since the epoch, with all of their digits."""
    seconds, fraction = divmod(value, 10**digits)
    return f"{timestamp(seconds * 1000).removesuffix('.000Z')}.{fraction:0{digits}}"


def fine_time(value: int, digits: int) -> str:
    """The time of a day, of fractions of a second since midnight, with all of their digits."""
    seconds, fraction = divmod(value, 10**digits)
    return f"{time(seconds * 1000).removesuffix('.000')}.{fraction:0{digits}}"
