"""INTERVAL literals: `'2 hours'`, `'1 year, 3 quarters, 4 days'`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from frazil.snowflake import kinds
from frazil.snowflake.building import typed
from frazil.snowflake.functions.parts import unit
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown

_PART: Final = re.compile(r"\s*([+-]?[0-9]{1,18})\s*([a-zA-Z]+)\s*(?:,|\Z|(?=[+\s-]*[0-9]))")


def interval(node: exp.Interval) -> exp.Expr:
    """An INTERVAL, one of DuckDB's or a sum of several.

    Raises:
        Refused: it is not a number with its unit, or several of them.
    """
    parts = [
        exp.Interval(this=exp.Literal.string(str(int(amount))), unit=exp.Var(this=_unit(word, node)))
        for amount, word in _parts(node)
    ]
    found: exp.Expr = parts[0]
    for each in parts[1:]:
        found = exp.Add(this=found, expression=each)
    return typed(exp.paren(found, copy=False) if len(parts) > 1 else found, kinds.INTERVAL)


def _parts(node: exp.Interval) -> Iterator[tuple[str, str]]:
    given, word = node.this, node.args.get("unit")
    if not isinstance(given, exp.Literal):
        raise _refused(node)
    written = f"{given.name} {word.name}" if word else given.name
    end = 0
    while end < len(written.rstrip()):
        part = _PART.match(written, end)
        if part is None:
            raise _refused(node)
        yield part[1], part[2]
        end = part.end()


def _unit(word: str, node: exp.Interval) -> str:
    written = node.this.copy()  # which knows its place
    written.set("this", word)
    found = unit("INTERVAL", written)
    if found == "NANOSECOND":
        raise Refused(f"{shown(node)}: an INTERVAL is in microseconds and longer units", node)
    return found


def _refused(node: exp.Interval) -> Refused:
    return Refused(
        f"{shown(node)}: write INTERVAL '3 days' or INTERVAL '1 year, 6 months', whole numbers and units", node
    )
