"""Step 8 of the cycle: let the source know what is covered, for the tools that watch it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import structlog

from frazil.cycle.open_tables import OpenTable
from frazil.cycle.routes import covered_by_all
from frazil.errors import FrazilError
from frazil.model import TableName
from frazil.sources.base import Source
from frazil.tables.rules.tokens import Tokens

_log = structlog.get_logger(__name__)


class Acknowledging:
    """Tells the source how far the tables of one connector have come; failing to is no reason to stop.

    What could not be published goes along with the next commit, or after the next recall.
    """

    def __init__(
        self, source: Source, tables: Mapping[TableName, OpenTable], unopened: Callable[[], Iterable[Tokens]]
    ) -> None:
        """Publish what is covered in `tables`; `unopened` gives what is known of tables that could not be opened."""
        self._source = source
        self._unopened = unopened
        self._tables = tables
        self._unpublished: set[TableName] = set()
        """Tables with commits that were not published yet."""

        self._absent: set[str] = set()
        """Topics whose offsets were not published because the topics did not exist."""

        self.owes = False
        """Whether to publish in the next cycle even if that commits nothing."""

    def noting(self, recall: Callable[[], object]) -> None:
        """Have tokens read anew by `recall`: a commit whose answer was lost is met then."""
        before = {name: table.tokens.commit for name, table in self._tables.items()}
        try:
            recall()
        finally:
            after = {name: table.tokens.commit for name, table in self._tables.items()}
            self._unpublished |= {name for name, commit in after.items() if commit != before.get(name)}
            self.owes = self.owes or bool(self._unpublished)

    def publish(self, existing: Collection[str], committed: Iterable[TableName] = ()) -> None:
        """Publish the offsets of tables that have just committed, and of those that are owed.

        Args:
            existing: the topics that exist; a broker refuses the offsets of others.
            committed: the tables that have just committed.
        """
        self._unpublished.update(committed)
        self.owes = False
        topics = {topic for name in self._unpublished if name in self._tables for topic in self._tables[name].topics}
        topics |= self._absent
        self._absent = topics.difference(existing)
        topics -= self._absent
        # Of a topic that feeds a table nobody could open, nobody knows what all of its tables cover.
        known = topics - {topic for tokens in self._unopened() for topic in tokens.topics}
        try:
            self._source.acknowledge(covered_by_all(self._tables, known))
            self._unpublished.clear()
        except FrazilError as error:
            _log.warning("the consumer group's offsets were not published", cause=error.message)
