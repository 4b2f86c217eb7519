"""Snowflake's syntax, parsed without a meaning for any function: which functions there are, `functions` says."""

from __future__ import annotations

from typing import Final

from sqlglot import Dialect, ErrorLevel, exp
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.snowflake import SnowflakeParser
from sqlglot.tokenizer_core import Token, TokenType

from frazil.errors import InvalidQuery

_LONGEST: Final = 80
"""Characters of a query that a message shows."""

_FIRST: Final = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN})


class _Parser(SnowflakeParser):
    """Every function is parsed as its name and its arguments, but for those with words among their arguments."""

    FUNCTIONS = {"FLATTEN": exp.Explode.from_arg_list}  # noqa: RUF012 (sqlglot's way to configure a parser)
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: SnowflakeParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION")
    }
    NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
        name: SnowflakeParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "ANY")
    }


class PlainSnowflake(Snowflake):
    """The dialect that queries are parsed with."""

    Parser = _Parser


_DIALECT: Final = Dialect.get_or_raise(PlainSnowflake)


def tokens(text: str) -> list[Token]:
    """The words of a query, each with its place in the text.

    Raises:
        InvalidQuery: a quote is never closed, or a character cannot be in a query.
    """
    if "\x00" in text or any(0xD800 <= ord(character) < 0xE000 for character in text):
        raise InvalidQuery("the query has a character that is no text (NUL or half of a surrogate pair)")
    try:
        return _DIALECT.tokenize(text)
    except SqlglotError as error:
        raise InvalidQuery(f"the query cannot be read: {_reason(error)}") from error


def parse(text: str) -> exp.Query:
    """The query's syntax tree.

    Raises:
        InvalidQuery: it is not exactly one SELECT.
    """
    words = tokens(text)
    while words and words[-1].token_type == TokenType.SEMICOLON:
        words.pop()
    if not words:
        raise InvalidQuery("the query is empty")
    if words[0].token_type not in _FIRST:
        raise InvalidQuery(f"the query is {words[0].text.upper()[:40]}, not one SELECT")
    if any(word.token_type == TokenType.SEMICOLON for word in words):
        raise InvalidQuery("the query is several statements, not one SELECT")
    try:
        (tree,) = _DIALECT.parser().parse(words, text)
    except SqlglotError as error:
        raise InvalidQuery(f"the query cannot be parsed: {_reason(error)}") from error
    except RecursionError:
        raise InvalidQuery("the query is nested too deeply to be parsed") from None
    if not isinstance(tree, exp.Query):
        raise InvalidQuery(f"the query is {type(tree).__name__.upper()}, not one SELECT")
    return tree


def shown(node: exp.Expr) -> str:
    """A piece of a query as a message names it."""
    try:
        text = node.sql(dialect=_DIALECT, comments=False, unsupported_level=ErrorLevel.IGNORE)
    except (SqlglotError, ValueError):
        # Some pieces have no text of their own.
        text = type(node).__name__
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _reason(error: SqlglotError) -> str:
    """What is wrong and where; the parser's own text marks the place with terminal escapes."""
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        said = str(first["description"]).rstrip(".")
        what = "something is missing" if said.startswith("Required keyword") else said[:1].lower() + said[1:]
        return f"{what}, line {first['line']}, column {first['col']}, at {str(first['highlight'])[:_LONGEST]!r}"
    return str(error).splitlines()[0].rstrip(".")
