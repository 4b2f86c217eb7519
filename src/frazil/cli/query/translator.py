"""What the translation of a function may ask of the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pyspark.sql.types import DataType
from sqlglot import exp

from frazil.cli.query.dialect import shown
from frazil.cli.query.types import Types
from frazil.errors import InvalidQuery


class Translator(Protocol):
    """Turns expressions as the user wrote them into Spark's, within one SELECT."""

    types: Types

    def __call__(self, node: exp.Expr) -> exp.Expr:
        """The expression in Spark SQL."""

    def condition(self, node: exp.Expr) -> exp.Expr:
        """An expression that says whether, in Spark SQL."""

    def ordered(self, order: exp.Expr) -> exp.Order:
        """The keys of an ORDER BY in Spark SQL."""

    def subquery(self, node: exp.Expr) -> tuple[exp.Expr, list[DataType]]:
        """A query within an expression, and its columns' types; they are called c0, c1 and so on."""


Function = Callable[[Translator, Sequence[exp.Expr]], exp.Expr]
"""How a function is written in Spark SQL; its arguments are as the user wrote them."""


def direction(node: exp.Expr, by: exp.Expr) -> exp.Ordered:
    """A key of an ORDER BY, up or down as the user wrote; NULLs are the largest unless something else is said."""
    return exp.Ordered(this=by, desc=bool(node.args.get("desc")), nulls_first=bool(node.args.get("nulls_first")))


def arity(name: str, arguments: Sequence[exp.Expr], at_least: int, at_most: int | None = None) -> None:
    """Refuse a wrong number of arguments.

    Raises:
        InvalidQuery: it says how many the function takes.
    """
    if at_least <= len(arguments) and (at_most is None or len(arguments) <= at_most):
        return
    upwards = " or more" if at_most is None else "" if at_most == at_least else f" to {at_most}"
    raise InvalidQuery(f"{name} has {len(arguments)} arguments and takes {at_least}{upwards}")


def literal(name: str, node: exp.Expr) -> str:
    """The text of an argument that must be written in the query.

    Raises:
        InvalidQuery: it is no text literal.
    """
    if isinstance(node, exp.Literal) and node.is_string:
        return node.name
    raise InvalidQuery(f"{name} takes a text written in the query there, not {shown(node)}")


def whole(name: str, node: exp.Expr) -> int:
    """The number of an argument that must be written in the query.

    Raises:
        InvalidQuery: it is no whole number.
    """
    digits = node.this if isinstance(node, exp.Neg) else node
    if isinstance(digits, exp.Literal) and not digits.is_string and digits.name.isdecimal() and len(digits.name) < 10:
        return -int(digits.name) if isinstance(node, exp.Neg) else int(digits.name)
    raise InvalidQuery(f"{name} takes a whole number written in the query there, not {shown(node)}")
