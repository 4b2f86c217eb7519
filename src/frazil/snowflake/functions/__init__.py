"""Functions by Snowflake's names: which there are, and where DuckDB's counterpart means something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from sqlglot import exp

from frazil.snowflake.typed import Types

Override: TypeAlias = Callable[[exp.Expr, Types], exp.Expr]
"""Writes a function in DuckDB SQL; its arguments are written already, each with its type."""

OVERRIDES: Final[Mapping[type[exp.Expr], Override]] = {}
"""By sqlglot's kind of node."""

NAMED: Final[Mapping[str, Override]] = {}
"""By Snowflake's name, in upper case: the reader leaves these as a name and arguments."""

CLASSES: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    exp.Array: frozenset({"expressions", "bracket_notation"}),
    exp.Struct: frozenset({"expressions"}),
}
"""The kinds of nodes of functions that may be in a query, and the parts each may have."""

WORDS: Final[Mapping[str, frozenset[int]]] = {}
"""Of functions in NAMED: the places of arguments that are words, like the unit of DATEADD."""

KNOWN: Final[frozenset[str]] = frozenset(NAMED)
"""The names of all functions there are, in upper case."""
