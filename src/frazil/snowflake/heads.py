"""Column heads as Snowflake gives them.

An alias or a column is its name, in upper case unless it is quoted; a path is its last key; everything else is its text
in upper case.
"""

from __future__ import annotations

import itertools
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from frazil.snowflake.reading import PlainSnowflake

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_AFTER: Final = frozenset(
    {
        TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.QUALIFY, TokenType.ORDER_BY,
        TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT,
        TokenType.SEMICOLON,
    }
)  # fmt: skip
"""Words that end a select list."""


_BEFORE: Final = frozenset({TokenType.DISTINCT, TokenType.ALL, TokenType.TOP})
"""Words between SELECT and its list; after TOP comes a number."""


def head(node: exp.Expr, written: str | None = None) -> str:
    """The head of an item of a select list; `written` is its text, if it is known."""
    named = _name(node)
    if named is not None:
        return named
    return written or node.sql(dialect=PlainSnowflake, comments=False).upper()


def upper(identifier: exp.Expr) -> str:
    """A name as Snowflake keeps it."""
    return identifier.name if identifier.args.get("quoted") else identifier.name.upper()


def _name(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Alias):
        return upper(node.args["alias"])
    if isinstance(node, exp.Column):
        return upper(node.this)
    return _last_key(node)


def _last_key(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Cast) and not isinstance(node.this, exp.Column):
        # A cast does not change what a path is called.
        return _last_key(node.this)
    if isinstance(node, exp.Paren):
        return _last_key(node.this)
    if isinstance(node, exp.Dot):
        return upper(node.expression)
    if isinstance(node, exp.JSONExtract) and isinstance(node.expression, exp.JSONPath):
        last = node.expression.expressions[-1]
        return upper(last) if isinstance(last, exp.JSONPathKey) and isinstance(last.this, str) else None
    if isinstance(node, exp.Bracket) and len(node.expressions) == 1 and node.expressions[0].is_string:
        return str(node.expressions[0].name)
    return None


def item_texts(words: list[Token], text: str) -> list[str]:
    """The items of a query's first select list as texts, in upper case but for names in quotes.

    They stand for the columns one by one where there are as many.
    """
    return [_upper_text(text, item) for item in items_in(words)]


def items_in(words: list[Token]) -> list[list[Token]]:
    """The words of the items of a query's first select list."""
    words = _after_with(words)
    depth = 0
    while depth < len(words) and words[depth].token_type == TokenType.L_PAREN:
        depth += 1
    items: list[list[Token]] = []
    current: list[Token] = []
    level, inside, after_top = 0, False, False
    for word in words:
        level += (word.token_type in _OPENING) - (word.token_type in _CLOSING)
        if not inside:
            inside = level == depth and word.token_type == TokenType.SELECT
        elif level < depth or (level == depth and word.token_type in _AFTER):
            break
        elif level == depth and word.token_type == TokenType.COMMA:
            items.append(current)
            current = []
        elif items or current or not (word.token_type in _BEFORE or after_top):
            current.append(word)
        after_top = word.token_type == TokenType.TOP
    return [item for item in [*items, current] if item]


def _after_with(words: list[Token]) -> list[Token]:
    """The query without the WITH before it, which ends at the first bracket that neither a comma nor AS follows."""
    if not words or words[0].token_type != TokenType.WITH:
        return words
    level = 0
    for place, (word, following) in enumerate(itertools.pairwise(words), 1):
        level += (word.token_type in _OPENING) - (word.token_type in _CLOSING)
        goes_on = following.token_type in (TokenType.COMMA, TokenType.ALIAS)
        if level == 0 and word.token_type == TokenType.R_PAREN and not goes_on:
            return words[place:]
    return []


def _upper_text(text: str, words: list[Token]) -> str:
    parts, end = [], words[0].start
    for word in words:
        parts.append(" " if text[end : word.start].strip() != text[end : word.start] else "")
        written = text[word.start : word.end + 1]
        parts.append(written if word.token_type == TokenType.IDENTIFIER else written.upper())
        end = word.end + 1
    return "".join(parts)
