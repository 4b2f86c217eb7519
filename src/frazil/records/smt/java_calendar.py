"""Dates as Java's calendar counts them: days since 1970 in UTC, Julian before 15 October 1582, years of two eras."""

from __future__ import annotations

from typing import Final

_FIRST_GREGORIAN: Final = -141427
"""15 October 1582."""

_YEAR_OF_CHANGE: Final = 1582


def date_of(day: int) -> tuple[int, int, int]:
    """The year (0 is the one before 1), the month and the day of the month of a day."""
    if day >= _FIRST_GREGORIAN:
        era, of_era = divmod(day + 719468, 146097)
        year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
        of_year = of_era - (365 * year + year // 4 - year // 100)
        year += era * 400
    else:
        era, of_era = divmod(day + 719470, 1461)
        year = min(of_era // 365, 3)
        of_year = of_era - 365 * year
        year += era * 4
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def day_of(year: int, month: int, of_month: int) -> int:
    """The day of a date, whose month and day of the month may lie outside of their bounds.

    What is counted from a year before the calendar's change is counted in that calendar, however far it leads.
    """
    years, month = divmod(month - 1, 12)
    gregorian = _days(year + years, month + 1, gregorian=True) + of_month - 1
    if year >= _YEAR_OF_CHANGE and gregorian >= _FIRST_GREGORIAN:
        return gregorian
    return _days(year + years, month + 1, gregorian=False) + of_month - 1


def day_in_year(year: int, number: int) -> int:
    """The day of a year with a number, the first being 1; it may lie outside of the year."""
    gregorian = _days(year, 1, gregorian=True) + number - 1
    if year > _YEAR_OF_CHANGE and gregorian >= _FIRST_GREGORIAN:
        return gregorian
    return _days(year, 1, gregorian=False) + number - 1


def _days(year: int, month: int, *, gregorian: bool) -> int:
    year -= month <= 2
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5
    whole = year * 365 + year // 4 + of_year
    return whole - year // 100 + year // 400 - 719468 if gregorian else whole - 719470
