"""Statements out of lines that somebody types, or that come through a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from frazil.errors import InvalidQuery
from frazil.snowflake.statements import split, verb


def statements(lines: Iterable[str]) -> Iterator[str]:
    """Each statement as soon as its semicolon has come; the last one needs none.

    Raises:
        InvalidQuery: a quote is never closed.
    """
    text, ended = "", 0
    for number, line in enumerate(lines, 1):
        text += line
        if ";" in line and is_complete(text):
            yield from split("\n" * ended + text)
            text, ended = "", number
    yield from split("\n" * ended + text)


def changes(text: str) -> bool:
    """Whether a statement changes tables or pipes."""
    return verb(text) in ("CREATE", "ALTER", "DROP")


def is_complete(text: str) -> bool:
    """Whether a text ends with the semicolon of its last statement: what comes next would be one more."""
    try:
        return len(split(f"{text}\nselect 1")) > len(split(text)) > 0
    except InvalidQuery:  # a quote or a comment goes on
        return False
