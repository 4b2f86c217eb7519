"""How large a query becomes: aliases, functions and operators write their arguments more than once.

Nested in each other they double what is within at every level, so a text of a line could take minutes and all memory.
"""

from __future__ import annotations

import functools
from typing import Final

from sqlglot import exp

from frazil.snowflake.places import Refused
from frazil.snowflake.typed import empty_duckdb

_LOOKS: Final = 3_000
_LOOKS_TIMES: Final = 5
"""Expressions that any query may have once its aliases are written out, and for each piece of its text."""

_PIECES: Final = 50_000
_PIECES_TIMES: Final = 100
"""Pieces of DuckDB SQL that one expression may have, and for each piece of the text: documents take thousands."""

_SIZE: Final = "size"
_MACRO: Final = 2
"""How often DuckDB's own macros write an argument, at most of those used here."""


class Growth:
    """Watches one query become DuckDB SQL."""

    def __init__(self, written: exp.Expr) -> None:
        """Bound what becomes of the query as it is written."""
        length = sum(1 for _ in written.walk())
        self._most_looks = _LOOKS + _LOOKS_TIMES * length
        self._most_pieces = _PIECES + _PIECES_TIMES * length
        self._looked = 0

    def check(self, found: exp.Expr, node: exp.Expr) -> None:
        """Look at what one expression has become.

        Args:
            found: the expression in DuckDB SQL.
            node: the expression as it is written.

        Raises:
            Refused: it is too large.
        """
        # What stands in several places, as an alias does, is translated as often.
        self._looked += 1
        if self._looked > self._most_looks or _size(found) > self._most_pieces:
            reason = "the query is too large: its aliases and functions write what is nested in them several times"
            raise Refused(f"{reason}. Nest less, or compute parts in a WITH", node)


def _size(node: exp.Expr) -> int:
    """Pieces of an expression once DuckDB has written out its macros; kept at each piece."""
    known: int | None = node.meta.get(_SIZE)
    if known is not None:
        return known
    size = 1 + sum(map(_size, node.iter_expressions()))
    if isinstance(node, exp.Func) and not isinstance(node, exp.If) and not _macros().isdisjoint(_names(node)):
        size *= _MACRO
    node.meta[_SIZE] = size
    return size


def _names(node: exp.Func) -> list[str]:
    named = [str(node.this)] if isinstance(node, exp.Anonymous) else type(node).sql_names()
    return [each.lower() for each in named]


@functools.cache
def _macros() -> frozenset[str]:
    rows = (
        empty_duckdb()
        .cursor()
        .execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type = 'macro'")
    )
    return frozenset(name for (name,) in rows.fetchall())
