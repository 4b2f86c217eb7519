"""Snowflake's syntax: from a text to a tree, with the places of its pieces."""

from __future__ import annotations

from typing import Final

from sqlglot import Dialect, ErrorLevel, exp
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.snowflake import SnowflakeParser
from sqlglot.tokenizer_core import Token, TokenType

from frazil.errors import InvalidQuery
from frazil.snowflake.functions import NAMED
from frazil.snowflake.places import near, pointed

_LONGEST: Final = 80
"""Characters of a query that a message shows."""


_TYPES: Final = (
    "NUMBER", "DECIMAL", "NUMERIC", "INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "FLOAT", "DOUBLE", "REAL",
    "VARCHAR", "STRING", "TEXT", "CHAR", "BOOLEAN", "DATE", "TIME", "DATETIME", "TIMESTAMP", "TIMESTAMP_NTZ",
    "TIMESTAMP_LTZ", "TIMESTAMP_TZ", "BINARY", "VARBINARY", "VARIANT", "OBJECT", "ARRAY",
)  # fmt: skip


class _Parser(SnowflakeParser):
    """Functions that have rules of their own here are left as names and arguments, but for those with words within."""

    FUNCTIONS = {  # noqa: RUF012 (sqlglot's way to configure a parser)
        name: build for name, build in SnowflakeParser.FUNCTIONS.items() if name not in NAMED
    }
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: SnowflakeParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION")
    }
    NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
        name: SnowflakeParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "ANY")
    }


class PlainSnowflake(Snowflake):
    """The dialect that queries are read in."""

    Parser = _Parser


DIALECT: Final = Dialect.get_or_raise(PlainSnowflake)


def tokens(text: str) -> list[Token]:
    """The words of a text, each with its place.

    Raises:
        InvalidQuery: a quote is never closed, or a character cannot be in a query.
    """
    if "\x00" in text or any(0xD800 <= ord(character) < 0xE000 for character in text):
        raise InvalidQuery("the query has a character that is not text (NUL or half of a surrogate pair)")
    try:
        return DIALECT.tokenize(text)
    except SqlglotError as error:
        raise InvalidQuery(f"the query cannot be read: {_first_line(error)}") from error


def parse(text: str, words: list[Token]) -> exp.Expr:
    """The syntax tree of one statement.

    Raises:
        InvalidQuery: it is none.
    """
    try:
        (tree,) = DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse(words, text)
    except SqlglotError as error:
        raise InvalidQuery(*_reason(error, text)) from error
    except RecursionError:
        raise InvalidQuery("the query is nested too deeply to be parsed") from None
    if tree is None:
        raise InvalidQuery("the query is empty")
    return tree


def without_end(words: list[Token]) -> list[Token]:
    """The words without semicolons at the end."""
    found = list(words)
    while found and found[-1].token_type == TokenType.SEMICOLON:
        found.pop()
    return found


def shown(node: exp.Expr) -> str:
    """A piece of a query as a message names it."""
    try:
        text = node.sql(dialect=DIALECT, comments=False, unsupported_level=ErrorLevel.IGNORE)
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError):
        # Some pieces have no text of their own.
        text = type(node).__name__
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _reason(error: SqlglotError, text: str) -> tuple[str, str]:
    """What is wrong, and the place; the parser's own text marks the place with terminal escapes."""
    if not (isinstance(error, ParseError) and error.errors):
        return f"the query cannot be parsed: {_first_line(error)}", ""
    first = error.errors[0]
    said = str(first["description"]).rstrip(".")[:200]
    what = "something is missing" if said.startswith("Required keyword") else said[:1].lower() + said[1:]
    highlight = str(first["highlight"] or "")
    if said.startswith("Expected type"):
        what = f"there is no type {highlight[:40]}{near(highlight, _TYPES)}"
    line, column = int(first["line"] or 1), int(first["col"] or 1)
    # The parser's column is where the word ends.
    start = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + max(column - len(highlight), 0)
    return f"the query cannot be parsed: {what}", pointed(text, start, start + max(len(highlight), 1) - 1)


def _first_line(error: SqlglotError) -> str:
    return (str(error).splitlines() or ["nothing more is known"])[0].rstrip(".")[:200]
