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

CLASSES: Final[frozenset[type[exp.Expr]]] = frozenset(
    {exp.Count, exp.Sum, exp.Avg, exp.Max, exp.Min, exp.Upper, exp.Lower, exp.Coalesce, exp.RowNumber, exp.Lag, exp.Abs,
     exp.Round, exp.Rank, exp.Array, exp.Struct}
)  # fmt: skip
"""The kinds of nodes of functions that may be in a query."""

KNOWN: Final[frozenset[str]] = frozenset({"COUNT", "SUM", "AVG", "MAX", "MIN", "UPPER", "LOWER", "COALESCE"})
"""The names of all functions there are, in upper case."""
