"""The columns of a select list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from frazil.snowflake.building import typed
from frazil.snowflake.expressions import Expressions
from frazil.snowflake.heads import head, upper
from frazil.snowflake.places import Refused, near
from frazil.snowflake.reading import shown
from frazil.snowflake.scope import Field, Scope, matching


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
    items: list[Item] = []
    written = texts if len(texts) == len(nodes) else [""] * len(nodes)
    for node, text in zip(nodes, written, strict=True):
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            items += _starred(node, scope)
        else:
            bare = node.this if isinstance(node, exp.Alias) else node
            items.append(Item(head(node, text or None), bare, x(bare)))
    return items


def note_aliases(nodes: Sequence[exp.Expr], scope: Scope) -> None:
    """Make the aliases of a select list known to the whole SELECT."""
    for node in nodes:
        if isinstance(node, exp.Alias):
            alias = node.args["alias"].name
            scope.aliases.setdefault(alias.lower(), []).append((alias, node.this))


def ordinal(node: exp.Expr, count: int, clause: str) -> int | None:
    """Which column of the select list a number means, from 0; None for anything else.

    Raises:
        Refused: there are not as many.
    """
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdecimal():
        return None
    place = int(node.name)
    if not 1 <= place <= count:
        raise Refused(f"{clause} {place}: the select list has {count} columns", node)
    return place - 1


def _starred(node: exp.Expr, scope: Scope) -> list[Item]:
    star = node if isinstance(node, exp.Star) else node.this
    table = node.args.get("table") if isinstance(node, exp.Column) else None
    if isinstance(node, exp.Column) and node.args.get("db"):
        raise Refused(f"{shown(node)}: name the table alone, or its alias", node)
    fields = list(scope.star(table))
    pattern = star.args.get("ilike")
    if pattern is not None:
        fields = [each for each in fields if _like(pattern, each.name)]
    excluded = [_only(each, fields) for each in star.args.get("except_") or ()]
    renamed = {id(_only(each.this, fields)): upper(each.args["alias"]) for each in star.args.get("rename") or ()}
    found = [
        Item(renamed.get(id(each), each.name), None, typed(each.used(), each.type))
        for each in fields
        if not any(each is other for other in excluded)
    ]
    if not found:
        raise Refused(f"{shown(node)} leaves no column", node)
    return found


def _like(pattern: exp.Expr, name: str) -> bool:
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise Refused("ILIKE after * takes a text in quotes", pattern)
    signs = {"%": ".*", "_": "."}
    wanted = "".join(signs.get(sign) or re.escape(sign) for sign in pattern.name)
    return re.fullmatch(wanted, name, re.IGNORECASE | re.DOTALL) is not None


def _only(node: exp.Expr, fields: Sequence[Field]) -> Field:
    wanted = node.this if isinstance(node, exp.Column) else node
    if not isinstance(wanted, exp.Identifier):
        raise Refused(f"{shown(node)} is no name of a column", node)
    found = matching(((each.name, each) for each in fields), wanted)
    if len(found) != 1:
        hint = near(wanted.name, [each.name for each in fields])
        raise Refused(f"* has {len(found) or 'no'} columns {wanted.name}{hint}", node)
    return found[0]
