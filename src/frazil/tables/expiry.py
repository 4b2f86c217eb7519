"""When old snapshots may go: as long as the mirrors tell the same tokens without them.

After a rollback the mirror of a connector is not that of the tokens that hold, until it commits again. Were the
snapshots gone by then that show it, its mirror would speak for rows that the table no longer has.
"""

from __future__ import annotations

from frazil.errors import Terminal
from frazil.tables.state import TableState
from frazil.tables.tokens import PREFIX, mirrored, read


def told_by_snapshots(state: TableState, table: str) -> list[str]:
    """The connectors whose tokens, or that they are uncertain, only snapshots tell."""
    return [connector for connector in sorted(state.properties_under(PREFIX)) if not _mirrored(state, table, connector)]


def _mirrored(state: TableState, table: str, connector: str) -> bool:
    try:
        return read(state, table, connector) == mirrored(state, table, connector)
    except Terminal:
        return False
