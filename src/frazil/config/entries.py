"""The grammar of `snowflake.topic2table.map`: `topic:table` entries separated by commas, with blanks anywhere between.

A topic or table in double quotes may hold any character but a double quote; quoting a table also keeps its case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BARE = re.compile(r'[^\s:,"]+')
_BLANK = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One `topic:table` of the map."""

    topic: str
    table: str
    """As written, without its quotes."""

    table_quoted: bool

    def __str__(self) -> str:
        """The entry as it can be written in the map."""
        topic = self.topic if _BARE.fullmatch(self.topic) else f'"{self.topic}"'
        return f"{topic}:" + (f'"{self.table}"' if self.table_quoted else self.table)


def parse(text: str) -> tuple[Entry, ...]:
    """The entries of `text` by grammar alone; blank text has none, and a comma may stand at the end.

    Raises:
        ValueError: a token or separator is missing; the message holds position and text.
    """
    return tuple(_Parser(text).entries())


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._skip_blank()

    def entries(self) -> Iterator[Entry]:
        while not self._at_end():
            topic, _ = self._token("a topic")
            self._separator(":")
            table, quoted = self._token("a table")
            yield Entry(topic, table, quoted)
            if not self._at_end():
                self._separator(",")

    def _token(self, what: str) -> tuple[str, bool]:
        """The next token, and whether it was quoted."""
        if self._text.startswith('"', self._position):
            end = self._text.find('"', self._position + 1)
            if end < 0:
                raise self._unexpected("this quote is never closed")
            if end == self._position + 1:
                raise self._unexpected("nothing between the quotes")
            return self._take(end + 1)[1:-1], True
        match = _BARE.match(self._text, self._position)
        if not match:
            raise self._unexpected(f"{what} or the end expected" if what == "a topic" else f"{what} expected")
        return self._take(match.end()), False

    def _separator(self, character: str) -> None:
        if not self._text.startswith(character, self._position):
            raise self._unexpected(f"{character!r} expected")
        self._take(self._position + 1)

    def _take(self, end: int) -> str:
        taken, self._position = self._text[self._position : end], end
        self._skip_blank()
        return taken

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._position)
        self._position = match.end() if match else self._position

    def _at_end(self) -> bool:
        return self._position == len(self._text)

    def _unexpected(self, what: str) -> ValueError:
        return ValueError(
            f'{what} at position {self._position} of {self._text!r}; write topic:table,"other topic":table'
        )
