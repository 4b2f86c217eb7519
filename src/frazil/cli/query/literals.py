"""Values written in a query."""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.spark import text, typed
from frazil.errors import InvalidQuery

_NUMBER: Final = re.compile(r"(?P<whole>[0-9]*)(?P<point>\.(?P<part>[0-9]*))?(?P<power>[eE][+-]?[0-9]+)?")


def literal(node: exp.Expr) -> exp.Expr:
    """A literal of Spark SQL.

    Raises:
        InvalidQuery: a number is none, or is too long.
    """
    if isinstance(node, exp.Null):
        return typed(exp.null(), t.NullType())
    if isinstance(node, exp.Boolean):
        return typed(exp.Boolean(this=bool(node.this)), t.BooleanType())
    if isinstance(node, exp.RawString) or node.is_string:
        return text(node.name)
    return _number(node.name)


def _number(written: str) -> exp.Expr:
    found = _NUMBER.fullmatch(written)
    digits = (found["whole"] or "") + (found["part"] or "") if found else ""
    if not found or not digits or len(digits) > 38:
        raise InvalidQuery(f"{written[:60]} is no number of at most 38 digits")
    if found["power"]:
        return typed(
            exp.Literal.number(f"{found['whole'] or '0'}.{found['part'] or '0'}{found['power']}"), t.DoubleType()
        )
    whole = (found["whole"] or "").lstrip("0") or "0"
    if not found["part"]:
        return exp.Literal.number(whole)
    return exp.Literal.number(f"{whole}.{found['part']}")
