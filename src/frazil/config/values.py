"""Read single values: text in, a typed value out, or a ValueError that quotes the text and says what to write."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_DURATION = re.compile(r"([0-9]{1,15})\s*([a-z]*)")
_MILLISECONDS = re.compile(r"[0-9]{1,15}")
_UNITS_MS = {"": 1, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
_SERVER = re.compile(r"([A-Za-z_]+://)?([^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):([0-9]{1,5})")
_KEY = re.compile(r'"([^"\\]+)"|([^".\\]+)')
_FIELD_PATH = re.compile(rf"(?:{_KEY.pattern})(?:\.(?:{_KEY.pattern}))*")
_CATALOG = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")


def by(parse: Callable[[str], Any]) -> BeforeValidator:
    """A field's validator that reads text with `parse` and leaves a value that is not text to pydantic."""
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


ANY_CASE = by(str.lower)
"""For a field of few possible words."""


def boolean(text: str) -> bool:
    """`true` or `false`, in any case."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false; write one of them")
    return text.lower() == "true"


def integer(at_least: int, at_most: int | None = None) -> Callable[[str], int]:
    """A whole number from `at_least` to `at_most`."""

    def parse(text: str) -> int:
        number = int(text) if _INTEGER.fullmatch(text) else None
        if number is None or number < at_least or (at_most is not None and number > at_most):
            if at_most is None:
                raise ValueError(f"{text!r} is no whole number of at least {at_least}; write {at_least} or more")
            raise ValueError(f"{text!r} is no whole number from {at_least} to {at_most}; write one")
        return number

    return parse


def pairs(text: str) -> dict[str, str]:
    """`key:value` entries separated by commas; keys in lower case."""
    entries = [entry.split(":") for entry in text.rstrip(", ").split(",")]
    wrong = [":".join(entry) for entry in entries if len(entry) != 2 or not all(part.strip() for part in entry)]
    if wrong:
        raise ValueError("holds an entry that is no key:value; write key:value,key:value without further colons")
    return {key.strip().lower(): value.strip() for key, value in entries}


def duration_ms(text: str) -> int:
    """A duration in milliseconds: `20 min`, `30s`, `1h`, `2 d`, or a plain number of milliseconds."""
    match = _DURATION.fullmatch(text.lower())
    if not match or match[2] not in _UNITS_MS:
        raise ValueError(f"{text!r} is no duration; write one like 20 min, 30s, 1h or 500ms")
    return int(match[1]) * _UNITS_MS[match[2]]


def duration(at_least: str, at_most: str | None = None) -> Callable[[str], int]:
    """A duration in milliseconds, from `at_least` to `at_most`."""

    def parse(text: str) -> int:
        found = duration_ms(text)
        if found < duration_ms(at_least):
            raise ValueError(f"{text!r} is too short; write {at_least} or more")
        if at_most is not None and found > duration_ms(at_most):
            raise ValueError(f"{text!r} is too long; write {at_most} or less")
        return found

    return parse


def moment_ms(text: str) -> int:
    """A moment in ms since the epoch: those, or ISO 8601, in UTC where it names no zone."""
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time; write 2026-07-29T12:00:00Z, or ms since the epoch") from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp() * 1000)


def never_or(parse: Callable[[str], int]) -> Callable[[str], int | None]:
    """None for `never`, else what `parse` makes of the text."""
    return lambda text: None if text.lower() == "never" else parse(text)


def time_zone(text: str) -> str:
    """The name of a time zone in the IANA database."""
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{text!r} is not a time zone; write a name such as UTC or Europe/Berlin") from error
    return text


def listed(words: Iterable[str]) -> str:
    """`words` as a choice in a sentence.

    >>> listed(["none", "all"]), listed("abc")
    ('none or all', 'a, b or c')
    """
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def choice(names: Mapping[str, str]) -> Callable[[str], str]:
    """What `names`, all in lower case, has for the text in any case."""

    def parse(text: str) -> str:
        if text.lower() not in names:
            raise ValueError(f"{text!r} is not possible; write {listed(names)}")
        return names[text.lower()]

    return parse


def one_of(names: Mapping[str, str]) -> BeforeValidator:
    """What `names` has for the text."""

    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"{text!r} is not built yet; write {listed(names)}")
        return names[text]

    return by(parse)


def connector_name(text: str) -> str:
    """A name without control characters."""
    if not text.isprintable():
        raise ValueError(f"{text!r} holds a control character; write letters, digits, - and _")
    return text


def topics(text: str) -> tuple[str, ...]:
    """Topic names separated by commas; a name given twice counts once."""
    names = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    wrong = [name for name in names if not _TOPIC.fullmatch(name)]
    if not names:
        raise ValueError(f"{text!r} names no topic; write topic names separated by commas")
    if wrong:
        raise ValueError(
            f"{', '.join(map(repr, wrong))} cannot be a Kafka topic; write up to 249 letters, digits, '.', '_' "
            "and '-', separated by commas (for a pattern use topics.regex)"
        )
    return names


def topic(text: str) -> str | None:
    """The name of a topic; None if there is none."""
    name = text.strip()
    if not name:
        return None
    if not _TOPIC.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a Kafka topic; write up to 249 letters, digits, '.', '_' and '-'")
    return name


def regex(text: str) -> str:
    """A regular expression that Java and Python read alike."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Python warns where a nested set means another thing in Java
            re.compile(text)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise ValueError(
            f"{text!r} is not a regular expression frazil understands: {error}; use what Java and Python share"
        ) from error
    return text


def servers(text: str) -> str:
    """`host:port` addresses separated by commas."""
    for server in text.split(","):
        match = _SERVER.fullmatch(server.strip())
        if not match or not 0 < int(match[3]) < 1 << 16:
            raise ValueError(f"{server.strip()!r} is no address; write host:port, several separated by commas")
    return text


def catalog(text: str) -> str:
    """The name of a Spark catalog."""
    if not _CATALOG.fullmatch(text):
        raise ValueError(f"{text!r} cannot be a Spark catalog; write the X of your spark.sql.catalog.X")
    return text


def namespace(text: str) -> str:
    """A namespace; dots separate its levels."""
    if not text.isprintable() or "" in text.split("."):
        raise ValueError(f"{text!r} is no namespace; write a name, or levels separated by dots")
    return text


def field_path(text: str) -> tuple[str, ...]:
    """Keys separated by dots, the outermost first; a key with a dot of its own in double quotes."""
    if not _FIELD_PATH.fullmatch(text) or not text.isprintable():
        raise ValueError(
            f"{text!r} is no path to a field; write keys separated by dots, one that holds a dot in double quotes, and "
            "none that holds a quote or a backslash"
        )
    return tuple(quoted or plain for quoted, plain in _KEY.findall(text))
