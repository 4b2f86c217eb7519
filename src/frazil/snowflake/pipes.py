"""CREATE PIPE and the other statements about pipes, as values; nothing is looked up yet.

The query of a pipe has one relation, `TABLE(DATA_SOURCE(TYPE => 'STREAMING'))`, whose one column `$1` is the record.
Both are read as plain names that nobody can write, so that the query is parsed as any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from frazil.errors import InvalidQuery
from frazil.snowflake.allow import check
from frazil.snowflake.heads import items_in
from frazil.snowflake.places import Refused, invalid, pointed
from frazil.snowflake.reading import DIALECT, parse, shown, tokens, without_end
from frazil.snowflake.words import Words

RECORD: Final = "$1"
"""The column of the source: a record's JSON document."""

SOURCE: Final = "TABLE(DATA_SOURCE(TYPE => 'STREAMING'))"
"""The one relation a pipe reads."""

Matching: TypeAlias = Literal["none", "case_insensitive", "case_sensitive"]

_SOURCE_WORDS: Final = ("TABLE", "(", "DATA_SOURCE", "(", "TYPE", "=>")
_ON_ERROR: Final = ("CONTINUE", "SKIP_FILE", "ABORT_STATEMENT")
_PARTS: Final = frozenset({"kind", "expressions", "from_", "where"})
"""What the query of a pipe may have."""

_THERE_ARE: Final = "a pipe's query has a select list, FROM and WHERE"


@dataclass(frozen=True, slots=True)
class CreatePipe:
    """CREATE PIPE: what becomes of each record of a topic."""

    text: str
    """The statement as it was written."""

    name: exp.Table = field(repr=False)
    target: exp.Table = field(repr=False)
    """The table after COPY INTO."""

    query: exp.Select = field(repr=False)
    items: tuple[str, ...] = field(repr=False, default=())
    """The select list as it was written, without aliases."""

    condition: str = field(repr=False, default="")
    """What stands behind WHERE, as it was written; empty without it."""

    columns: tuple[exp.Identifier, ...] = field(repr=False, default=())
    """The columns after the table's name; empty where there is no list."""

    matching: Matching = "none"
    """MATCH_BY_COLUMN_NAME: whether items go to columns by their names instead of their places."""

    replaces: bool = False
    """OR REPLACE."""

    if_missing: bool = False
    """IF NOT EXISTS."""

    comment: str | None = None


@dataclass(frozen=True, slots=True)
class DropPipe:
    """DROP PIPE."""

    name: exp.Table = field(repr=False)
    if_there: bool = False
    """IF EXISTS."""


@dataclass(frozen=True, slots=True)
class ShowPipes:
    """SHOW PIPES."""

    like: str | None = None
    """A pattern for names, ignoring case."""

    scope: exp.Table | None = field(repr=False, default=None)
    """The namespace after IN."""


@dataclass(frozen=True, slots=True)
class DescribePipe:
    """DESCRIBE PIPE."""

    name: exp.Table = field(repr=False)


PipeStatement: TypeAlias = CreatePipe | DropPipe | ShowPipes | DescribePipe


def read_pipe_statement(text: str, words: Sequence[Token]) -> PipeStatement | None:
    """Read a statement about pipes; None if it is about something else.

    Raises:
        InvalidQuery: it is about pipes, and wrong.
    """
    w = Words(text, words)
    if w.take("CREATE"):
        replaces = w.take("OR", "REPLACE")
        return _create(w, replaces=replaces) if w.take("PIPE") else None
    if w.take("DROP", "PIPE"):
        if_there = w.take("IF", "EXISTS")
        dropped = DropPipe(w.table("the name of a pipe"), if_there)
        w.end()
        return dropped
    if w.take("SHOW", "PIPES"):
        return _show(w)
    if w.take("DESCRIBE", "PIPE") or w.take("DESC", "PIPE"):
        described = DescribePipe(w.table("the name of a pipe"))
        w.end()
        return described
    return None


def read_pipe(text: str) -> CreatePipe:
    """Read a CREATE PIPE, as it is kept.

    Raises:
        InvalidQuery: it is none, or has something that is not on the list.
    """
    found = read_pipe_statement(text, without_end(tokens(text)))
    if not isinstance(found, CreatePipe):
        raise InvalidQuery("the text is no CREATE PIPE")
    return found


def interactive_pipe(w: Words, table: exp.Table) -> CreatePipe:
    """Read the AS of a CREATE INTERACTIVE TABLE: the pipe of the table's name.

    Raises:
        InvalidQuery: there is no query that a pipe can have.
    """
    w.need("AS")
    inside = w.parenthesised("the query")
    w.end()
    source_query(w.text, inside)
    name = table.sql(dialect=DIALECT)
    query = w.text[inside[0].start : inside[-1].end + 1]
    return read_pipe(f"CREATE PIPE {name} AS COPY INTO {name} FROM ({query})")


def source_query(text: str, words: Sequence[Token]) -> exp.Select:
    """The query of a pipe, of which these are the words.

    Raises:
        InvalidQuery: it has something that a pipe cannot have.
    """
    if not words:
        raise InvalidQuery("the pipe's query is empty: COPY INTO t FROM (SELECT … FROM " + SOURCE + ")")
    tree = parse(text, _with_names(text, words))
    try:
        check(tree)
        return _checked(tree)
    except Refused as refused:
        raise invalid(refused, text) from refused
    except RecursionError:
        raise InvalidQuery("the query is nested too deeply") from None


def _create(w: Words, *, replaces: bool) -> CreatePipe:
    if_missing = w.take("IF", "NOT", "EXISTS")
    name = w.table("the name of the pipe")
    comment = _comment(w)
    if w.take("AUTO_INGEST", "="):
        w.word("TRUE or FALSE")
        raise InvalidQuery("AUTO_INGEST is for pipes that load files; a pipe here reads topics as records come")
    w.need("AS")
    w.need("COPY", "INTO")
    target = w.table("the name of the table")
    columns = tuple(_names(w)) if w.comes("(") else ()
    w.need("FROM")
    inside = w.parenthesised("the query")
    query = source_query(w.text, inside)
    items = _written(w.text, inside, query)
    matching = _options(w)
    if matching != "none" and columns:
        raise InvalidQuery("a list of columns goes by place, MATCH_BY_COLUMN_NAME by name: give one of the two")
    return CreatePipe(
        w.text, name, target, query, items, _condition(w.text, inside), columns, matching, replaces, if_missing, comment
    )


def _condition(text: str, words: Sequence[Token]) -> str:
    for place, word in enumerate(words[:-1]):
        # There is no query within.
        if word.token_type == TokenType.WHERE:
            return text[words[place + 1].start : words[-1].end + 1]
    return ""


def _written(text: str, words: Sequence[Token], query: exp.Select) -> tuple[str, ...]:
    found: list[str] = []
    listed = items_in(list(words))
    for place, item in enumerate(query.expressions):
        written = listed[place] if len(listed) == len(query.expressions) else []
        if not written:
            found.append(shown(item))
            continue
        if isinstance(item, exp.Alias):
            written = written[:-1]
            if written[-1].token_type == TokenType.ALIAS:
                written = written[:-1]
        found.append(text[written[0].start : written[-1].end + 1])
    return tuple(found)


def _comment(w: Words) -> str | None:
    return w.string("the comment") if w.take("COMMENT", "=") else None


def _opens(w: Words) -> bool:
    return w.comes("(")


def _names(w: Words) -> list[exp.Identifier]:
    inside = Words(w.text, w.parenthesised("the columns"))
    found = [inside.name("a column")]
    while inside.take(","):
        found.append(inside.name("a column"))
    inside.end()
    return found


def _options(w: Words) -> Matching:
    """The options after the query."""
    matching: Matching = "none"
    while not w.is_at_end:
        if w.take("MATCH_BY_COLUMN_NAME", "="):
            matching = _one_of(w, "MATCH_BY_COLUMN_NAME", ("CASE_INSENSITIVE", "CASE_SENSITIVE", "NONE"))  # type: ignore[assignment]
        elif w.take("ON_ERROR", "="):
            _one_of(w, "ON_ERROR", _ON_ERROR)
        elif w.take("CLUSTER_AT_INGEST_TIME", "="):
            _one_of(w, "CLUSTER_AT_INGEST_TIME", ("TRUE", "FALSE"))
        else:
            w.end()
    return matching


def _one_of(w: Words, option: str, values: Sequence[str]) -> str:
    place = w.pointed_next()
    found = w.word(f"a value of {option}")
    if found not in values:
        raise InvalidQuery(f"{option} is {', '.join(values[:-1])} or {values[-1]}, not {found[:40]}", place)
    return found.lower()


def _show(w: Words) -> ShowPipes:
    like = w.string("a pattern in quotes") if w.take("LIKE") else None
    scope = None
    if w.take("IN"):
        if not w.take("SCHEMA"):
            w.take("DATABASE")
        scope = w.table("the name of a schema")
    w.end()
    return ShowPipes(like, scope)


def _with_names(text: str, words: Sequence[Token]) -> list[Token]:
    """The words with names for `$1` and for the source."""
    found: list[Token] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word.token_type == TokenType.PARAMETER and word.text == "$":
            place += 1
            number = words[place] if place < len(words) else word
            if number.text != "1" or number.start != word.end + 1:
                after = number.text[:20] if number is not word else ""
                raise InvalidQuery(
                    f"${after} is not supported: the source has one column, $1", pointed(text, word.start, number.end)
                )
            found.append(_name(RECORD, word, number))
        elif (length := _source_length(words[place:])) > 0:
            found.append(_name(SOURCE, word, words[place + length - 1]))
            place += length - 1
        else:
            found.append(word)
        place += 1
    return found


def _name(name: str, first: Token, last: Token) -> Token:
    return Token(TokenType.VAR, name, last.line, last.col, first.start, last.end, first.comments)


def _source_length(words: Sequence[Token]) -> int:
    """How many words make the source, if they begin with it."""
    if [each.text.upper() for each in words[: len(_SOURCE_WORDS)]] != list(_SOURCE_WORDS):
        return 0
    rest = words[len(_SOURCE_WORDS) :]
    is_streaming = len(rest) > 2 and rest[0].token_type == TokenType.STRING and rest[0].text.upper() == "STREAMING"
    return len(_SOURCE_WORDS) + 3 if is_streaming and [each.text for each in rest[1:3]] == [")", ")"] else 0


def _checked(tree: exp.Expr) -> exp.Select:
    if not isinstance(tree, exp.Select):
        raise Refused(f"{type(tree).__name__.upper()}: {_THERE_ARE}", tree)
    for part, value in tree.args.items():
        if value not in (None, False, []) and part not in _PARTS:
            raise Refused(f"{part.rstrip('_').upper()} is not supported in a pipe: {_THERE_ARE}", tree)
    clause = tree.args.get("from_")
    source = clause.this if clause else None
    if not is_source(source):
        written = f", not {shown(source)}" if source is not None else ""
        raise Refused(f"a pipe reads FROM {SOURCE}{written}", source or tree)
    for node in tree.walk():
        if isinstance(node, exp.Query) and node is not tree:
            raise Refused("a pipe reads its source only, a record at a time: it has no query within", node)
        if isinstance(node, exp.Window):
            raise Refused("a pipe sees a record at a time: it has no OVER", node)
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Anonymous):
            raise Refused("* is what the default pipe does: a pipe names what goes to each column", node)
    return tree


def is_source(node: exp.Expr | None) -> bool:
    """Whether a relation is the source of a pipe."""
    return (
        isinstance(node, exp.Table)
        and isinstance(node.this, exp.Identifier)
        and node.this.name == SOURCE
        and not node.this.args.get("quoted")
        and not any(node.args.get(part) for part in ("db", "sample", "pivots", "when", "changes"))
    )
