"""Patterns of Java's SimpleDateFormat, in UTC and in English: the letters y M L d D H k K h m s S a E X Z.

Those of eras, weeks and names of time zones are refused. Reading is as lenient as Java's: what follows the last field
is ignored, and the 45th of a month counts on into the next.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from frazil.records.smt.java_calendar import date_of, day_in_year, day_of
from frazil.records.smt.kinds import wrapped

DAY: Final = 86_400_000
"""Milliseconds."""

LETTERS: Final = "yMLdDHkKhmsSaEXZ"

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HALVES: Final = ("AM", "PM")
_PIECE: Final = re.compile(r"('')|'((?:[^']|'')+)'|([a-zA-Z])\3*|([^a-zA-Z']+)|(.)", re.DOTALL)
_NUMBER: Final = re.compile(r"-?[0-9]+")
_CENTURY: Final = 80
"""Years that a year of two digits may lie back."""


class _Unreadable(ValueError):
    """A text does not match a pattern."""


@dataclass(frozen=True, slots=True)
class _Literal:
    text: str


@dataclass(frozen=True, slots=True)
class _Field:
    letter: str
    count: int
    joined: bool
    """Whether a number follows at once, so that this one has as many digits as letters."""


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A pattern."""

    pieces: tuple[_Literal | _Field, ...]

    @classmethod
    def read(cls, pattern: str) -> DateFormat:
        """The format that a pattern describes.

        Raises:
            ValueError: it is none, or has letters that are not supported.
        """
        pieces = list(_pieces(pattern))
        done: list[_Literal | _Field] = []
        for piece, following in zip_longest(pieces, pieces[1:]):
            if isinstance(piece, _Field):
                joined = isinstance(following, _Field) and _is_number(following)
                done.append(_Field(piece.letter, piece.count, joined))
            else:
                done.append(piece)
        return cls(tuple(done))

    def text(self, millis: int) -> str:
        """A moment, in ms since the epoch, as the pattern writes it."""
        return "".join(each.text if isinstance(each, _Literal) else _written(each, millis) for each in self.pieces)

    def millis(self, text: str) -> int:
        """The moment that a text says.

        Raises:
            ValueError: the text does not match the pattern.
        """
        reading = _Reading(text)
        for piece in self.pieces:
            reading.read(piece)
        if not reading.at:
            raise _Unreadable("it is empty")
        return reading.millis()


_TIME: Final = "HH:mm:ss.SSS'Z'"


def iso(millis: int) -> str:
    """How Connect writes dates: within the first day and before it a time, at midnight a date, else both."""
    pattern = _TIME if millis < DAY else "yyyy-MM-dd" if millis % DAY == 0 else f"yyyy-MM-dd'T'{_TIME}"
    return DateFormat.read(pattern).text(millis)


def _pieces(pattern: str) -> Iterator[_Literal | _Field]:
    for found in _PIECE.finditer(pattern):
        apostrophe, quoted, letter, between, _ = found.groups()
        if apostrophe:
            yield _Literal("'")
        elif quoted:
            yield _Literal(quoted.replace("''", "'"))
        elif between:
            yield _Literal(between)
        elif letter is None:
            raise ValueError(f"{pattern!r} has a quote that nothing closes. Write two for one that is meant.")
        elif letter not in LETTERS:
            raise ValueError(
                f"{pattern!r} has the letter {letter}, which is not supported. Use {' '.join(LETTERS)}, and write "
                "other letters between quotes (')."
            )
        elif letter == "X" and len(found[0]) > 3:
            raise ValueError(f"{pattern!r} has more than three X. Write X, XX or XXX.")
        else:
            yield _Field(letter, len(found[0]), joined=False)


def _is_number(field: _Field) -> bool:
    return field.count <= 2 if field.letter in "ML" else field.letter in "ydDHkKhmsS"


def _written(field: _Field, millis: int) -> str:
    day, of_day = divmod(millis, DAY)
    year, month, of_month = date_of(day)
    hour, count = of_day // 3_600_000, field.count
    match field.letter:
        case "y":
            shown = year if year > 0 else 1 - year
            return f"{shown % 100:02}" if count == 2 else f"{shown:0{count}}"
        case "M" | "L":
            return f"{month:0{count}}" if count <= 2 else _name(_MONTHS[month - 1], count)
        case "E":
            return _name(_DAYS[(day + 3) % 7], count)
        case "a":
            return _HALVES[hour // 12]
        case "Z":
            return "+0000"
        case "X":
            return "Z"
    numbers = {
        "d": of_month,
        "D": day - day_of(year, 1, 1) + 1,
        "H": hour,
        "k": hour or 24,
        "K": hour % 12,
        "h": hour % 12 or 12,
        "m": of_day // 60_000 % 60,
        "s": of_day // 1000 % 60,
        "S": of_day % 1000,
    }
    return f"{numbers[field.letter]:0{count}}"


def _name(name: str, count: int) -> str:
    return name if count >= 4 else name[:3]


class _Reading:
    """What was read of a text so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self._found: dict[str, int] = {}
        """By letter, in the order they were read."""

        self._two_digits = False

    def read(self, piece: _Literal | _Field) -> None:
        """Read one piece."""
        if isinstance(piece, _Literal):
            if not self._text.startswith(piece.text, self.at):
                raise _Unreadable(f"{piece.text!r} is missing at position {self.at}")
            self.at += len(piece.text)
            return
        start = self.at
        while self._text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        if self.at >= len(self._text):
            raise _Unreadable("it ends too early")
        match piece.letter:
            case "M" | "L" if piece.count > 2:
                self._set("M", self._named(start, (*_MONTHS, *(each[:3] for each in _MONTHS))) % 12 + 1)
            case "E":
                self._set("E", self._named(start, (*_DAYS, *(each[:3] for each in _DAYS))))
            case "a":
                self._set("a", self._named(start, _HALVES))
            case "X" | "Z":
                self._set("Z", self._offset(piece))
            case _:
                self._number(piece, start)

    def millis(self) -> int:
        """The moment in ms since the epoch."""
        found = self._found
        year = found.get("y", 1970)
        done = self._at_year(year)
        if self._two_digits:
            began = _century_began()
            if year % 100 == date_of(began // DAY)[0] % 100 and done < began:
                return self._at_year(year + 100)
        return done

    def _at_year(self, year: int) -> int:
        found = self._found
        time_of_day = ((self._hour() * 60 + found.get("m", 0)) * 60 + found.get("s", 0)) * 1000 + found.get("S", 0)
        days, rest = divmod(time_of_day, DAY)
        return wrapped(self._day(year, days) * DAY + rest - found.get("Z", 0), 64)

    def _day(self, year: int, more: int) -> int:
        """Of the day of the year and that of the month the later counts; with neither, the first such day of a week."""
        found, order = self._found, list(self._found)
        if "D" in found and not ("d" in found and order.index("d") > order.index("D")):
            return day_in_year(year, found["D"] + more)
        if "E" in found and "d" not in found:
            first = day_of(year, found.get("M", 1), 1)
            return first + (found["E"] - first - 3) % 7 + more
        return day_of(year, found.get("M", 1), found.get("d", 1) + more)

    def _hour(self) -> int:
        found, order = self._found, list(self._found)
        half = found.get("h", 0) + 12 * found.get("a", 0)
        if "H" not in found:
            return half
        both = {"h", "a"} <= found.keys() and max(order.index("h"), order.index("a")) > order.index("H")
        return half if both else found["H"]

    def _number(self, field: _Field, start: int) -> None:
        end = len(self._text)
        if field.joined:
            end = start + field.count
            if end > len(self._text):
                raise _Unreadable("it ends too early")
        number = _NUMBER.match(self._text, self.at, end)
        if number is None:
            raise _Unreadable(f"a number is missing at position {self.at}")
        self.at = number.end()
        value = _of_32_bits(int(number[0]))
        match field.letter:
            case "y":
                self._two_digits = field.count <= 2 and len(number[0]) == 2 and number[0].isdigit()
                self._set("y", _in_century(value) if self._two_digits else value)
            case "k":
                self._set("H", 0 if value == 24 else value)
            case "h":
                self._set("h", 0 if value == 12 else value)
            case "K":
                self._set("h", value)
            case "L":
                self._set("M", value)
            case letter:
                self._set(letter, value)

    def _named(self, start: int, names: tuple[str, ...]) -> int:
        """The index of the longest name that is there."""
        rest = self._text[start:].lower()
        there = [index for index, name in enumerate(names) if rest.startswith(name.lower())]
        if not there:
            raise _Unreadable(f"a name is missing at position {start}")
        best = max(there, key=lambda index: len(names[index]))
        self.at = start + len(names[best])
        return best % 7 if len(names) == 14 else best

    def _offset(self, field: _Field) -> int:
        """The time zone's offset in ms."""
        if field.letter == "X" and self._text.startswith("Z", self.at):
            self.at += 1
            return 0
        colon = ":" if field.letter == "X" and field.count == 3 else ""
        minutes = "" if field.letter == "X" and field.count == 1 else f"{colon}([0-5][0-9])"
        zone = re.compile(f"([+-])([01][0-9]|2[0-3]){minutes}").match(self._text, self.at)
        if zone is None:
            raise _Unreadable(f"the offset of a time zone is missing at position {self.at}")
        self.at = zone.end()
        length = int(zone[2]) * 60 + (int(zone[3]) if minutes else 0)
        return length * 60_000 * (-1 if zone[1] == "-" else 1)

    def _set(self, letter: str, value: int) -> None:
        self._found.pop(letter, None)
        self._found[letter] = value


def _of_32_bits(number: int) -> int:
    """Java keeps the low bits of what 64 have room for, and of what is beyond the last number."""
    if number == wrapped(number, 64):
        return wrapped(number, 32)
    return max(-(2**31), min(2**31 - 1, number))


def _century_began() -> int:
    """When the century of years with two digits begins, in ms since the epoch."""
    now = time.time_ns() // 1_000_000
    year, month, of_month = date_of(now // DAY)
    return day_of(year - _CENTURY, month, of_month) * DAY + now % DAY


def _in_century(value: int) -> int:
    first = date_of(_century_began() // DAY)[0]
    return value + first // 100 * 100 + (100 if value < first % 100 else 0)
