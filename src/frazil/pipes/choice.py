"""The pipe of a table: the user's, where there is one, or one of frazil's own."""

from __future__ import annotations

from frazil.model import MOST_COLUMNS, Conversion, PipeSpec, TableRules, WriteShape
from frazil.pipes.base import Pipe
from frazil.pipes.content import ContentPipe
from frazil.pipes.default.pipe import DefaultPipe
from frazil.pipes.evolution import conversion_for


def pipe_of(
    shape: WriteShape,
    users: PipeSpec | None,
    given: Conversion,
    column_budget: int = MOST_COLUMNS,
    rules: TableRules = TableRules(),  # noqa: B008 (it is frozen)
) -> Pipe:
    """The pipe that projects records to a table.

    Args:
        shape: the table's.
        users: the user's pipe that records come through; None for one of frazil's own.
        given: how the connector converts records.
        column_budget: how many columns the table may still get.
        rules: what becomes of values that the table has no place for.
    """
    columns, conversion = shape.columns, conversion_for(given, shape)
    if users is not None:
        # A worker whose tables all have pipes of frazil's own needs no SQL.
        from frazil.pipes.sql.pipe import SqlPipe

        return SqlPipe(users, columns, conversion)
    if conversion.whole_records:
        return ContentPipe(columns, conversion)
    return DefaultPipe(columns, conversion, evolves=shape.evolves, column_budget=column_budget, rules=rules)
