"""The commits of a connector to one table with their rows, from the table's history, by an eye of its own."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from frazil.config import ConnectorSettings
from frazil.connector.ends import catalog_of
from frazil.model import TableName
from frazil.tables.iceberg.rows import added_rows
from frazil.tables.iceberg.table import Table
from frazil.tables.rules.history import Commit, CommitCursor, place_of


class Commits:
    """What there is to deliver of one table. Not thread-safe: one thread reads it."""

    def __init__(
        self, settings: ConnectorSettings, session: SparkSession, name: TableName, after: int | None, since: int
    ) -> None:
        """Read after the snapshot `after`; where that is None, after the sequence number `since`."""
        self._settings = settings
        self._session = session
        self._name = name
        self._after = after
        self._since = since
        self.needed = 0
        """The sequence number of the last commit that is done with; 0 until it is known."""

        self._table: Table | None = None
        self._trail: CommitCursor | None = None

    @property
    def last(self) -> int | None:
        """The snapshot of the last commit that is done with; None until it is known."""
        return self._trail.last if self._trail else self._after

    def next(self) -> tuple[DataFrame, Commit] | None:
        """The next commit, the same one until it is `done`; None if there is none yet.

        Raises:
            CatalogUnavailable: the table cannot be read now.
            HistoryExpired, HistoryMoved: it cannot be said what comes next.
            TableMissing, TableReplaced: the table is gone.
        """
        table = self._newest()
        state = table.state()
        if self._trail is None:
            after = place_of(state, str(self._name), self._since) if self._after is None else self._after
            begins = state.snapshot(after)
            self.needed = begins.sequence_number if begins else 0
            self._trail = CommitCursor(str(self._name), self._settings.key, after)
        commit = self._trail.next(state)
        return None if commit is None else (added_rows(self._session, table, commit.snapshot_id), commit)

    def done(self, commit: Commit) -> None:
        """Be done with the commit that `next` gave."""
        if self._trail:
            self._trail.done()
        self.needed = commit.sequence_number

    def _newest(self) -> Table:
        """The table in its newest version. The connector's own eyes are its thread's."""
        if self._table is None:
            self._table = catalog_of(self._settings, self._session).table(self._name)
        else:
            self._table.refresh()
        return self._table
