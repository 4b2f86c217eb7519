"""Which table a topic lands in: `snowflake.topic2table.map`, else a name generated from the topic.

The map is `topic:table` entries separated by commas, with blanks anywhere between. A topic or table in double quotes
may hold any character but a double quote; quoting a table also keeps its case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from frazil.config.names import sanitise
from frazil.errors import EmptyTopic

_BARE = re.compile(r'[^\s:,"]+')
_BLANK = re.compile(r"\s*")
_PATTERN_CHARACTERS = re.compile(r"[\\^$|?*+()\[\]{}]")
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Target:
    """The table a topic lands in."""

    name: str
    """Upper case unless it was quoted."""

    quoted: bool
    """True: the table of exactly this name. False: the one existing table that equals it ignoring case, else this."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One `topic:table` of the map."""

    topic: str
    table: str
    """As written, without its quotes."""

    table_quoted: bool

    @property
    def target(self) -> Target:
        """The table the entry names."""
        return Target(self.table if self.table_quoted else self.table.upper(), self.table_quoted)

    def __str__(self) -> str:
        """The entry as it can be written in the map."""
        topic = self.topic if _BARE.fullmatch(self.topic) else f'"{self.topic}"'
        return f"{topic}:" + (f'"{self.table}"' if self.table_quoted else self.table)


@dataclass(frozen=True, slots=True)
class Topic2Table:
    """The map, in the order it was written."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, text: str) -> Topic2Table:
        """The map that `text` describes, if it can be run: every topic is a literal name, every table a plain one.

        Raises:
            ValueError: the text is malformed, ambiguous, or asks for what is not built yet; the message lists it all.
        """
        entries = parse(text)
        reasons = [*_ambiguous(entries), *_not_built(entries)]
        if reasons:
            raise ValueError("; ".join(reasons))
        return cls(entries)

    def resolve(self, topic: str | None) -> Target:
        """The table for `topic`: its entry's, else the sanitised topic as an exact name.

        Raises:
            EmptyTopic: there is no topic to resolve.
        """
        if not topic:
            raise EmptyTopic
        for entry in self.entries:
            if entry.topic == topic:
                return entry.target
        return Target(sanitise(topic), quoted=True)

    def __str__(self) -> str:
        return ",".join(map(str, self.entries))


def parse(text: str) -> tuple[Entry, ...]:
    """The entries of `text` by grammar alone.

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


def _ambiguous(entries: Sequence[Entry]) -> Iterator[str]:
    """Topics given twice, and topics that another entry's topic matches when read as a regular expression.

    This compares a text with a pattern, as the original does; that two patterns share a topic is not found.
    """
    for index, new in enumerate(entries):
        for earlier in entries[:index]:
            if new.topic == earlier.topic:
                yield f"the topic {new.topic!r} is given twice; keep one of its entries"
                break
            if _matches(new.topic, earlier.topic) or _matches(earlier.topic, new.topic):
                yield (
                    f"the topics {earlier.topic!r} and {new.topic!r} overlap, as one read as a regular expression "
                    "matches the other; keep one of them"
                )


def _matches(pattern: str, topic: str) -> bool:
    try:
        return re.fullmatch(pattern, topic) is not None
    except (re.error, OverflowError, RecursionError):
        return False


def _not_built(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        if _PATTERN_CHARACTERS.search(entry.topic):
            yield f"{entry.topic!r} is a pattern, which is not built yet; write one topic:table entry for every topic"
        if "." in entry.table and not entry.table_quoted:
            yield (
                f"the table {entry.table!r} names another schema, which is not built yet; write the table alone, "
                "or in double quotes if the dot belongs to its name"
            )
        if not entry.table.isprintable() or len(entry.table) > _LONGEST_NAME:
            yield (
                f"the table {entry.table[:40]!r} is longer than {_LONGEST_NAME} characters or holds a control "
                "character; choose another name"
            )
