"""PIVOT and UNPIVOT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from frazil.snowflake.places import Refused
from frazil.snowflake.scope import Source
from frazil.snowflake.typed import Types

if TYPE_CHECKING:
    from frazil.snowflake.relations import Output


def pivoted(types: Types, node: exp.Expr, relation: exp.Expr, source: Source) -> tuple[exp.Expr, list[Output]]:
    """The rows of a relation, grouped by all other columns, with a column for each value."""
    raise Refused("PIVOT is not supported", node)


def unpivoted(types: Types, node: exp.Expr, relation: exp.Expr, source: Source) -> tuple[exp.Expr, list[Output]]:
    """A row for each of some columns."""
    raise Refused("UNPIVOT is not supported", node)
