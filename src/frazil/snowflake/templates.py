"""DuckDB's expressions written as text, with arguments in the places of single letters."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from sqlglot import Dialect, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

from frazil.snowflake.building import call, grouped, typed, variable

LETTERS: Final = "abcdefgh"
"""What a template calls its arguments."""

_LARGE: Final = 64
"""Nodes of an argument from which on it is not written twice."""


class _Parser(DuckDBParser):
    """Functions stay what they are called."""

    FUNCTIONS = {}  # noqa: RUF012 (sqlglot's way to configure a parser)
    NO_PAREN_FUNCTIONS = {}  # noqa: RUF012
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: DuckDBParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")
    }


class _PlainDuckDB(DuckDB):
    Parser = _Parser


_DIALECT: Final = Dialect.get_or_raise(_PlainDuckDB)


def template(written: str, arguments: Sequence[exp.Expr], kind: exp.DataType | None = None) -> exp.Expr:
    """DuckDB's expression with the arguments in the places of a, b, c and so on."""
    found = _parsed(written).copy()
    used = [each for each in found.find_all(exp.Column) if _is_place(each, len(arguments))]
    named = dict(zip(LETTERS, arguments, strict=False))
    times = {letter: sum(each.name == letter for each in used) for letter in named}
    if any(count > 1 and _is_once(named[letter]) for letter, count in times.items()):
        return _once(written, arguments, kind)
    for each in used:
        put = grouped(named[each.name]).copy()
        found = put if each is found else found
        each.replace(put)
    return typed(found, kind)


def _is_field(node: exp.Identifier) -> bool:
    """Whether a name is one of a struct's fields: behind a dot, or before the colon."""
    match node.parent:
        case exp.Dot():
            return node.arg_key == "expression"
        case exp.PropertyEQ():
            return node.arg_key == "this"
        case exp.Column() as column:
            return node.arg_key == "this" and bool(column.table)
    return False


def _is_place(node: exp.Column, count: int) -> bool:
    return not node.table and node.name in LETTERS[:count]


def _is_once(node: exp.Expr) -> bool:
    """Whether an argument is written once only: it is large, or gives something else each time."""
    nodes = list(node.walk())
    return len(nodes) > _LARGE or any(isinstance(each, exp.Anonymous) and each.this == "uuid" for each in nodes)


def _once(written: str, arguments: Sequence[exp.Expr], kind: exp.DataType | None) -> exp.Expr:
    """The same, but every argument is written once: else deep nesting would double the text at each level."""
    fields = [
        exp.PropertyEQ(this=exp.to_identifier(letter), expression=each)
        for letter, each in zip(LETTERS, arguments, strict=False)
    ]
    inner = [
        exp.Dot(this=variable("~given", None), expression=exp.to_identifier(letter, quoted=True))
        for letter, _ in zip(LETTERS, arguments, strict=False)
    ]
    body = template(
        written, [typed(exp.Paren(this=each), argument.type) for each, argument in zip(inner, arguments, strict=True)]
    )
    lambda_ = exp.Lambda(this=body, expressions=[exp.to_identifier("~given", quoted=True)])
    packed = call("list_value", call("struct_pack", *fields))
    return call("list_extract", call("list_transform", packed, lambda_), exp.Literal.number(1), kind=kind)


@functools.lru_cache(maxsize=2048)
def _parsed(written: str) -> exp.Expr:
    (found,) = _DIALECT.parse("SELECT " + written)
    assert isinstance(found, exp.Select)  # noqa: S101 (templates are ours)
    (only,) = found.selects
    return _with_own_names(only.pop())


def _with_own_names(node: exp.Expr) -> exp.Expr:
    """The template with names for what its lambdas are given that no column has."""
    given = {each.name for function in node.find_all(exp.Lambda) for each in function.expressions}
    for each in list(node.find_all(exp.Identifier)):
        if each.name in given and not _is_field(each):
            each.replace(exp.to_identifier(f"~{each.name}", quoted=True))
    return node
