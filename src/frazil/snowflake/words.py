"""The words of a statement, read one after the other: for statements whose syntax no parser of ours has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from frazil.errors import InvalidQuery
from frazil.snowflake.places import pointed

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_MOST_DIGITS: Final = 18
_NO_NAMES: Final = _OPENING | _CLOSING | {TokenType.STRING, TokenType.NUMBER, TokenType.COMMA, TokenType.DOT}


class Words:
    """Where reading a statement has come to."""

    def __init__(self, text: str, words: Sequence[Token]) -> None:
        """Read the `words` of a `text`, of which none is a semicolon."""
        self.text = text
        self._words = words
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        """Whether all words have been read."""
        return self._at >= len(self._words)

    def take(self, *words: str) -> bool:
        """Whether these words come next, ignoring case; if so they are read."""
        coming = self._words[self._at : self._at + len(words)]
        if [_plain(each) for each in coming] != list(words):
            return False
        self._at += len(words)
        return True

    def comes(self, word: str) -> bool:
        """Whether that word comes next, ignoring case."""
        return not self.is_at_end and _plain(self._words[self._at]) == word

    def need(self, *words: str) -> None:
        """Read these words.

        Raises:
            InvalidQuery: something else comes next.
        """
        if not self.take(*words):
            raise self.wrong(" ".join(words))

    def name(self, what: str) -> exp.Identifier:
        """Read a name without dots; `what` is what a message calls it.

        Raises:
            InvalidQuery: something else comes next.
        """
        if self.is_at_end or self._words[self._at].token_type in _NO_NAMES:
            raise self.wrong(what)
        word = self._words[self._at]
        self._at += 1
        found = exp.to_identifier(word.text, quoted=word.token_type == TokenType.IDENTIFIER)
        found.meta.update(start=word.start, end=word.end, line=word.line, col=word.col)
        return found

    def table(self, what: str) -> exp.Table:
        """Read the name of something in a namespace: name, namespace.name or catalog.namespace.name."""
        parts = [self.name(what)]
        while self.take("."):
            parts.append(self.name(what))
        if len(parts) > 3:
            raise InvalidQuery(f"{what} has at most three parts", self.pointed(self._at - 1))
        keys = ("this", "db", "catalog")
        return exp.Table(**dict(zip(keys, reversed(parts), strict=False)))

    def word(self, what: str) -> str:
        """Read one word or text, in upper case.

        Raises:
            InvalidQuery: there is none.
        """
        if self.is_at_end or self._words[self._at].token_type in _OPENING | _CLOSING:
            raise self.wrong(what)
        self._at += 1
        return str(self._words[self._at - 1].text).upper()

    def string(self, what: str) -> str:
        """Read a text in quotes.

        Raises:
            InvalidQuery: something else comes next.
        """
        if self.is_at_end or self._words[self._at].token_type != TokenType.STRING:
            raise self.wrong(what)
        self._at += 1
        return str(self._words[self._at - 1].text)

    def text_or_none(self) -> str | None:
        """Read a text in quotes, if one comes next."""
        if self.is_at_end or self._words[self._at].token_type != TokenType.STRING:
            return None
        return self.string("a text")

    def number_or_none(self) -> str | None:
        """Read a number without a sign, if one comes next."""
        if self.is_at_end or self._words[self._at].token_type != TokenType.NUMBER:
            return None
        self._at += 1
        return str(self._words[self._at - 1].text)

    def whole(self, what: str) -> int:
        """Read a whole number without a sign; `what` is what a message calls it.

        Raises:
            InvalidQuery: something else comes next.
        """
        before = self._at
        number = self.number_or_none()
        if number is None or not (number.isascii() and number.isdecimal()) or len(number) > _MOST_DIGITS:
            self._at = before
            raise self.wrong(what)
        return int(number)

    def parenthesised(self, what: str) -> list[Token]:
        """Read what is in parentheses, and give its words.

        Raises:
            InvalidQuery: no parenthesis comes next, or it is never closed.
        """
        first, level = self._at, 0
        if self.is_at_end or self._words[self._at].token_type != TokenType.L_PAREN:
            raise self.wrong(f"{what} in parentheses")
        for place in range(first, len(self._words)):
            kind = self._words[place].token_type
            level += (kind in _OPENING) - (kind in _CLOSING)
            if level == 0:
                self._at = place + 1
                return list(self._words[first + 1 : place])
        raise InvalidQuery("the parenthesis is never closed", self.pointed(first))

    def end(self) -> None:
        """See that there is nothing more.

        Raises:
            InvalidQuery: there is.
        """
        if not self.is_at_end:
            raise InvalidQuery(f"{self._words[self._at].text[:60]} is not supported there", self.pointed(self._at))

    def wrong(self, wanted: str) -> InvalidQuery:
        """That something else is wanted where reading has come to."""
        if not self._words:
            return InvalidQuery(f"{wanted} is missing: there is nothing")
        if self.is_at_end:
            return InvalidQuery(f"{wanted} is missing at the end", self.pointed(len(self._words) - 1))
        return InvalidQuery(f"{wanted} is missing before {self._words[self._at].text[:60]}", self.pointed(self._at))

    def pointed_next(self) -> str:
        """The place of what comes next; of the last word at the end."""
        return self.pointed(min(self._at, len(self._words) - 1)) if self._words else ""

    def pointed(self, place: int) -> str:
        """The place of a word in the text."""
        word = self._words[place]
        return pointed(self.text, word.start, word.end)


def _plain(word: Token) -> str:
    """What a word is, in upper case; a name in quotes and a text are no keywords."""
    return "" if word.token_type in (TokenType.IDENTIFIER, TokenType.STRING) else str(word.text).upper()
