"""What the translation of a piece of a SELECT may ask of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from frazil.snowflake.building import typed
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.typed import Types


class Translator(Protocol):
    """Turns expressions as the user wrote them into DuckDB's, within one SELECT."""

    types: Types

    def __call__(self, node: exp.Expr) -> exp.Expr:
        """The expression in DuckDB SQL."""

    def condition(self, node: exp.Expr) -> exp.Expr:
        """An expression that says whether, in DuckDB SQL."""

    def ordered(self, order: exp.Expr) -> exp.Order:
        """The keys of an ORDER BY in DuckDB SQL."""

    def bare_function(self, node: exp.Expr, order: exp.Order | None = None) -> exp.Expr:
        """A function, which may still need its OVER; `order` is what WITHIN GROUP says."""

    def subquery(self, node: exp.Expr) -> tuple[exp.Expr, Sequence[exp.DataType]]:
        """A query within an expression, and its columns' types; they are called c0, c1 and so on."""


def direction(node: exp.Expr, by: exp.Expr) -> exp.Ordered:
    """A key of an ORDER BY, up or down as the user wrote; NULLs are the largest unless something else is said."""
    return exp.Ordered(this=by, desc=bool(node.args.get("desc")), nulls_first=bool(node.args.get("nulls_first")))


def whole(what: str, node: exp.Expr) -> int:
    """A number that must be written in the query.

    Raises:
        Refused: it is no whole number.
    """
    digits = node.this if isinstance(node, exp.Neg) else node
    if isinstance(digits, exp.Literal) and not digits.is_string and digits.name.isdecimal() and len(digits.name) < 10:
        return -int(digits.name) if isinstance(node, exp.Neg) else int(digits.name)
    raise Refused(f"{what} takes a whole number written in the query there, not {shown(node)}", node)


def constant(node: exp.Expr) -> exp.Expr:
    """A value that is no place in a list of columns, as a bare number after GROUP BY or ORDER BY would be."""
    bare = node.unnest()
    if isinstance(bare, exp.Literal) and bare.type:
        return typed(exp.Cast(this=bare.copy(), to=bare.type.copy()), bare.type)
    return node
