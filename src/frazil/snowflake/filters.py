"""What a WHERE or an ON says of single columns of tables, so that files without such rows are not read."""

from __future__ import annotations

from sqlglot import exp

from frazil.snowflake.relations import Relations
from frazil.snowflake.scope import Scope
from frazil.snowflake.typed import Types


def note_filters(scope: Scope, types: Types, relations: Relations, where: exp.Expr | None) -> None:
    """Note with each table that is read what its rows must meet to be used."""
