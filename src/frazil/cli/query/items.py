"""The columns of a select list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from frazil.cli.query.dialect import shown
from frazil.cli.query.expressions import Expressions
from frazil.cli.query.heads import head, upper
from frazil.cli.query.scope import Field, Scope, matching
from frazil.cli.query.spark import typed
from frazil.errors import InvalidQuery


@dataclass(frozen=True, slots=True)
class Item:
    """One column of a select list."""

    name: str
    """What it is called in the result."""

    node: exp.Expr | None
    """As the user wrote it, without its alias; None for what a star stands for."""

    sql: exp.Expr


def listed(nodes: Sequence[exp.Expr], scope: Scope, x: Expressions, texts: Sequence[str]) -> list[Item]:
    """The columns of a select list, stars written out; `texts` are its items as the user wrote them, if known."""
    for node in nodes:
        if isinstance(node, exp.Alias):
            alias = node.args["alias"].name
            scope.aliases.setdefault(alias.lower(), []).append((alias, node.this))
    items: list[Item] = []
    written = texts if len(texts) == len(nodes) else [""] * len(nodes)
    for node, text in zip(nodes, written, strict=True):
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            items += _starred(node, scope)
        else:
            bare = node.this if isinstance(node, exp.Alias) else node
            items.append(Item(head(node, text or None), bare, x(bare)))
    return items


def ordinal(node: exp.Expr, count: int, clause: str) -> int | None:
    """Which column of the select list a number means, from 0; None for anything else.

    Raises:
        InvalidQuery: there are not as many.
    """
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdecimal():
        return None
    place = int(node.name)
    if not 1 <= place <= count:
        raise InvalidQuery(f"{clause} {place}: the select list has {count} columns")
    return place - 1


def _starred(node: exp.Expr, scope: Scope) -> list[Item]:
    star = node if isinstance(node, exp.Star) else node.this
    table = node.args.get("table") if isinstance(node, exp.Column) else None
    if isinstance(node, exp.Column) and node.args.get("db"):
        raise InvalidQuery(f"{shown(node)}: name the table alone, or its alias")
    fields = list(scope.star(table))
    excluded = [_only(each, fields) for each in star.args.get("except_") or ()]
    renamed = {id(_only(each.this, fields)): upper(each.args["alias"]) for each in star.args.get("rename") or ()}
    return [
        Item(renamed.get(id(each), each.name), None, typed(each.sql.copy(), each.type))
        for each in fields
        if not any(each is other for other in excluded)
    ]


def _only(node: exp.Expr, fields: Sequence[Field]) -> Field:
    wanted = node.this if isinstance(node, exp.Column) else node
    assert isinstance(wanted, exp.Identifier)  # noqa: S101 (the parser gives nothing else there)
    found = matching(((each.name, each) for each in fields), wanted)
    if len(found) != 1:
        raise InvalidQuery(f"* has {len(found) or 'no'} columns {wanted.name}: {shown(node)}")
    return found[0]
