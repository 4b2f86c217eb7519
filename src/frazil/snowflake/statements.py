"""Statements: what a text asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from frazil.errors import InvalidQuery
from frazil.snowflake.allow import check
from frazil.snowflake.compiled import Compiled
from frazil.snowflake.definitions.reading import read_definition
from frazil.snowflake.definitions.values import Definition
from frazil.snowflake.heads import item_texts
from frazil.snowflake.lake import Lake
from frazil.snowflake.pipes import PipeStatement, read_pipe_statement
from frazil.snowflake.places import Refused, invalid, pointed
from frazil.snowflake.reading import parse, tokens, without_end
from frazil.snowflake.select import Compiler
from frazil.snowflake.words import Words

_QUERIES: Final = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.VALUES})
_THERE_ARE: Final = (
    "there are SELECT, WITH, VALUES, SHOW, DESCRIBE, EXPLAIN, CREATE TABLE, CREATE PIPE, ALTER TABLE, DROP TABLE and "
    "DROP PIPE"
)

_OF_KINDS: Final = frozenset({"CREATE", "ALTER", "DROP"})
"""Words that say nothing without the next one."""


@dataclass(frozen=True, slots=True)
class Select:
    """A query that has nothing in it which is not on the list."""

    text: str
    tree: exp.Expr = field(repr=False)
    items: tuple[str, ...] = ()
    """Its select list as the user wrote it, in upper case."""

    def compile(self, lake: Lake) -> Compiled:
        """Turn it into DuckDB SQL.

        Raises:
            InvalidQuery: it names what does not exist, or has what DuckDB cannot mean.
        """
        try:
            return Compiler(lake, self.tree).compiled(self.items)
        except Refused as refused:
            raise invalid(refused, self.text) from refused
        except RecursionError:
            raise InvalidQuery("the query is nested too deeply") from None


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is written."""

    text: str
    quoted: bool = False
    """Whether case counts."""


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW TABLES, COLUMNS or SCHEMAS."""

    kind: Literal["tables", "columns", "schemas"]
    like: str | None = None
    """A pattern for names, ignoring case."""

    scope: tuple[Name, ...] = ()
    """What comes after IN: the parts of a namespace's name, or of a table's for columns."""

    of_table: bool = False
    """Whether `scope` is a table."""

    rows: int | None = None
    """LIMIT."""


@dataclass(frozen=True, slots=True)
class ShowChannels:
    """SHOW CHANNELS."""

    like: str | None = None
    """A pattern for names, ignoring case."""

    table: tuple[Name, ...] = ()
    """The parts of the name of the table after IN TABLE."""


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE TABLE."""

    table: tuple[Name, ...]
    """The parts of its name."""


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN of a query."""

    query: Select


Statement: TypeAlias = Select | Show | ShowChannels | Describe | Explain | PipeStatement | Definition


def split(text: str) -> list[str]:
    """The statements of a text, without the semicolons between them.

    Each is as far from its beginning as in the text, so that what is said of a place in it holds for the text.

    Raises:
        InvalidQuery: a quote is never closed, or a character cannot be in a query.
    """
    found, begin, last = [], None, 0
    for word in tokens(text):
        if word.token_type == TokenType.SEMICOLON:
            if begin is not None:
                found.append(_blank(text[:begin]) + text[begin:last])
            begin = None
        else:
            begin = word.start if begin is None else begin
            last = word.end + 1
    return [*found, _blank(text[:begin]) + text[begin:last]] if begin is not None else found


def verb(text: str) -> str:
    """What a text begins with to do, in upper case: `CREATE`, `SELECT`; empty where it has no statement.

    Raises:
        InvalidQuery: a quote is never closed, or a character cannot be in a query.
    """
    return next((str(word.text).upper() for word in tokens(text)), "")


def _blank(text: str) -> str:
    return "\n" * text.count("\n") + " " * len(text.rpartition("\n")[2])


def read(text: str) -> Statement:
    """Read one statement; nothing is looked up yet.

    Raises:
        InvalidQuery: it is none, or has something that is not on the list.
    """
    words = without_end(tokens(text))
    if not words:
        raise InvalidQuery("the query is empty")
    semicolon = next((word for word in words if word.token_type == TokenType.SEMICOLON), None)
    if semicolon:
        raise InvalidQuery("the query is several statements, not one", pointed(text, semicolon.start, semicolon.end))
    first = words[0].text.upper()
    try:
        if words[0].token_type in _QUERIES:
            return _query(text, words)
        if (about_pipes := read_pipe_statement(text, words)) is not None:
            return about_pipes
        if (definition := read_definition(text, words)) is not None:
            return definition
        if first == "EXPLAIN":
            return _explain(text, words[0].end + 1)
        if first == "SHOW":
            if len(words) > 1 and words[1].text.upper() == "CHANNELS":
                return _show_channels(Words(text, words))
            return _show(text, words)
        if first in ("DESCRIBE", "DESC"):
            return _describe(text, words)
    except Refused as refused:
        raise invalid(refused, text) from refused
    except RecursionError:
        raise InvalidQuery("the query is nested too deeply") from None
    named = f"{first} {words[1].text.upper()}" if first in _OF_KINDS and len(words) > 1 else first
    raise InvalidQuery(f"{named[:40]} is not supported; {_THERE_ARE}", pointed(text, words[0].start, words[0].end))


def _query(text: str, words: list[Token]) -> Select:
    tree = parse(text, words)
    if not isinstance(tree, exp.Query | exp.Values):
        raise InvalidQuery(f"{type(tree).__name__.upper()} is not supported; {_THERE_ARE}")
    check(tree)
    return Select(text, tree, tuple(item_texts(words, text)))


def _explain(text: str, end: int) -> Explain:
    """EXPLAIN, of which the tokenizer leaves the rest as it is; `end` is where the word ends."""
    using = re.match(r"\s+using\s+\w+\s", text[end:], re.IGNORECASE)
    begin = end + (using.end() if using else 0)
    # Places in the text stay what they are.
    blank = "".join(each if each == "\n" else " " for each in text[:begin]) + text[begin:]
    words = without_end(tokens(blank))
    if not words or words[0].token_type not in _QUERIES:
        raise InvalidQuery("EXPLAIN explains a SELECT", pointed(text, 0, max(end - 1, 0)))
    return Explain(_query(blank, words))


def _show(text: str, words: list[Token]) -> Show:
    tree = parse(text, words)
    kind = str(tree.this).lower() if isinstance(tree, exp.Show) else words[-1].text.lower()
    if not isinstance(tree, exp.Show) or kind not in ("tables", "columns", "schemas"):
        there = "there are SHOW TABLES, SHOW COLUMNS, SHOW SCHEMAS, SHOW PIPES and SHOW CHANNELS"
        raise InvalidQuery(f"SHOW {kind.upper()[:40]} is not supported; {there}", pointed(text, 0, words[-1].end))
    unknown = {part for part, value in tree.args.items() if value} - _SHOWN
    if unknown:
        part = min(unknown).replace("_", " ").upper()
        raise InvalidQuery(f"SHOW takes LIKE, IN and LIMIT, not {part}", pointed(text, 0, words[-1].end))
    like, limit, scope = tree.args.get("like"), tree.args.get("limit"), tree.args.get("scope")
    scope_kind = str(tree.args.get("scope_kind") or "").upper()
    of_table = scope_kind == "TABLE" or (scope_kind == "" and kind == "columns" and scope is not None)
    return Show(
        kind,  # type: ignore[arg-type]
        like.name if like else None,
        _names(scope) if scope else (),
        of_table,
        int(limit.expression.name) if limit and limit.expression.name.isdecimal() else None,
    )


def _show_channels(w: Words) -> ShowChannels:
    w.need("SHOW", "CHANNELS")
    like = w.string("a pattern in quotes") if w.take("LIKE") else None
    table: tuple[Name, ...] = ()
    if w.take("IN"):
        w.take("TABLE")
        table = _names(w.table("the name of a table"))
    w.end()
    return ShowChannels(like, table)


_SHOWN: Final = frozenset({"this", "like", "scope", "scope_kind", "limit", "terse"})


def _describe(text: str, words: list[Token]) -> Describe:
    tree = parse(text, words)
    kind = str(tree.args.get("kind") or "table").upper()
    if not isinstance(tree, exp.Describe) or not isinstance(tree.this, exp.Table) or kind not in ("TABLE", "VIEW"):
        raise InvalidQuery("DESCRIBE describes a table: DESCRIBE TABLE name", pointed(text, 0, words[-1].end))
    return Describe(_names(tree.this))


def _names(table: exp.Expr) -> tuple[Name, ...]:
    parts = table.parts if isinstance(table, exp.Table | exp.Column) else [table]
    return tuple(Name(part.name, bool(part.args.get("quoted"))) for part in parts)
