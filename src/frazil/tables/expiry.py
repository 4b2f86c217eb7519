"""When old snapshots may go: as long as the mirrors tell the same tokens without them, and nobody follows so far back.

After a rollback the mirror of a connector is not that of the tokens that hold, until it commits again. Were the
snapshots gone by then that show it, its mirror would speak for rows that the table no longer has.
"""

from __future__ import annotations

from typing import Final

from frazil.errors import Terminal
from frazil.tables.state import TableState
from frazil.tables.tokens import PREFIX, mirrored, read

MOST_KEPT: Final = 10_000
"""Snapshots that are kept at most for who still needs them: every commit writes all of them anew."""


def told_by_snapshots(state: TableState, table: str) -> list[str]:
    """The connectors whose tokens, or that they are uncertain, only snapshots tell."""
    return [connector for connector in sorted(state.properties_under(PREFIX)) if not _mirrored(state, table, connector)]


def kept(state: TableState, needed: int | None) -> int:
    """How many of the newest snapshots stay, whatever their age.

    Args:
        state: the table's version.
        needed: the sequence number of the oldest snapshot that somebody still needs; None if nobody needs any.
    """
    if needed is None or state.current is None:
        return 1
    # Each commit raises the number by one, also those beside the main branch: it is never too few.
    return max(1, min(MOST_KEPT, state.current.sequence_number - needed + 1))


def _mirrored(state: TableState, table: str, connector: str) -> bool:
    try:
        return read(state, table, connector) == mirrored(state, table, connector)
    except Terminal:
        return False
