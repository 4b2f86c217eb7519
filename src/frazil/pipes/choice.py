"""The pipe of a table in a task: the user's, where there is one, or the default pipe."""

from __future__ import annotations

from frazil.model import Conversion, TableTask
from frazil.pipes.base import Pipe
from frazil.pipes.default.pipe import DefaultPipe


def pipe_of(part: TableTask, conversion: Conversion) -> Pipe:
    """The pipe that projects a task's records to one of its tables."""
    if part.pipe is None:
        return DefaultPipe(part.shape.columns, conversion, evolves=part.shape.evolves, column_budget=part.column_budget)
    # A worker whose tables all have default pipes needs no SQL.
    from frazil.pipes.sql.pipe import SqlPipe

    return SqlPipe(part.pipe, part.shape.columns, conversion)
