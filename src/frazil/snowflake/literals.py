"""Values written in a query."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import decimal_number, double, null, number, text, truth, typed
from frazil.snowflake.places import Refused

_NUMBER: Final = re.compile(r"(?P<whole>[0-9]*)(?P<point>\.(?P<part>[0-9]*))?(?P<power>[eE][+-]?[0-9]+)?")
_MOST: Final = 38


def literal(node: exp.Expr) -> exp.Expr:
    """A literal of DuckDB's.

    Raises:
        Refused: a number is none, or is too long.
    """
    if isinstance(node, exp.Null):
        return null()
    if isinstance(node, exp.Boolean):
        return truth(bool(node.this))
    if isinstance(node, exp.RawString) or node.is_string:
        return text(node.name)
    return _number(node)


def written_number(node: exp.Literal) -> exp.Expr:
    """A text as the number that it has, exactly; the text if it has none."""
    written = node.name.strip()
    bare = written.removeprefix("-")
    if not _NUMBER.fullmatch(bare):
        return node
    try:
        found = _number(exp.Literal.number(bare))
    except Refused:
        return node
    return typed(exp.paren(exp.Neg(this=found)), found.type) if bare != written else found


def _number(node: exp.Expr) -> exp.Expr:
    written = node.name
    found = _NUMBER.fullmatch(written)
    digits = (found["whole"] or "") + (found["part"] or "") if found else ""
    if not found or not digits or len(digits.lstrip("0")) > _MOST:
        raise Refused(f"{written[:60]} is not a number of at most {_MOST} digits", node)
    if found["power"]:
        return double(f"{found['whole'] or '0'}.{found['part'] or '0'}{found['power']}")
    whole = (found["whole"] or "").lstrip("0") or "0"
    return decimal_number(f"{whole}.{found['part']}") if found["part"] else number(int(whole))
