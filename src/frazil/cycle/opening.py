"""Step 2 of the cycle: open one table, take ownership of it, recall its tokens."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import replace

import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle import sharing, whole_records
from frazil.cycle.destinations import Destinations, Routing
from frazil.cycle.identity import require_same_topics
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.orphan_cleanup import OrphanCleanup
from frazil.cycle.pipes import stored_pipes
from frazil.cycle.table_policy import TablePolicy
from frazil.errors import (
    Fenced,
    TableBegunAnew,
    TableMissing,
    TableNotCreated,
    TableReplaced,
    TokensMoved,
)
from frazil.model import TableName
from frazil.sources.base import Source, TopicFacts
from frazil.tables.base import TableCatalog, WritableTable
from frazil.tables.commit import commit
from frazil.tables.iceberg.table import CREATED_BY
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.checks import Expectation
from frazil.tables.rules.orphans import last_commit
from frazil.tables.rules.state import TableState
from frazil.tables.rules.tokens import Tokens, last_epoch, read

_log = structlog.get_logger(__name__)


class Opener:
    """Opens tables for one connector. Every opener has its own owner id; the newest one wins."""

    def __init__(self, settings: ConnectorSettings, catalog: TableCatalog, source: Source, routing: Routing) -> None:
        self._settings = settings
        self._catalog = catalog
        self._source = source
        self._routing = routing
        self.renewal = TablePolicy(settings)
        self.sweeper = OrphanCleanup(settings, catalog)
        self.owner = str(uuid.uuid4())
        self.opener = f"{socket.gethostname()} (pid {os.getpid()})"

    def destinations(self, topics: Sequence[TopicFacts]) -> Destinations:
        """The tables that topics go to."""
        return self._routing(self._settings, self._catalog, topics)

    def open(self, name: TableName, topics: Sequence[TopicFacts]) -> OpenTable:
        """Take ownership of a table in an empty append that also fixes where each new channel starts.

        A rival that opens at the same moment makes one of the two look again and open after the other.

        Raises:
            TableNotCreated: there is none, and none is to be created.
            TableWithoutContent: whole records cannot go to it.
            TokensMissing: it lacks records that were landed, and the configuration says to stop.
        """
        table = self._found_or_created(name, topics)
        whole_records.prepare(table, self._settings.conversion)
        while True:
            state = table.state()
            known, despite = self.renewal.known(state, str(name))
            epoch = last_epoch(state, self._settings.key, known) + 1
            if known:
                require_same_topics(known, topics)
            gone = known is None and is_fresh(state)
            tokens = self._with_starts(known or self._no_tokens(), str(name), topics, gone=gone)
            tokens = replace(
                tokens,
                name=self._settings.name,
                commit=str(uuid.uuid4()),
                owner=self.owner,
                opener=self.opener,
                epoch=epoch,
            )
            faults.reach("during_open")
            try:
                committed = self._commit(table, tokens, known.commit if known else None, epoch, despite)
            except (TokensMoved, Fenced):
                # Also a rival of the same epoch: this process opens, so it comes after whoever has opened.
                table.refresh()
                continue
            sharing.warn(str(name), table.state(), self._settings.key)
            self.sweeper.opened(table, last_commit(state, known, self._settings.key))
            _log.info("opened a table", connector=self._settings.name, table=str(name), owner_epoch=epoch)
            fed_by = {facts.topic for facts in topics}
            pipes = tuple(stored_pipes(table.state()))
            return OpenTable(table, table.uuid, committed, epoch, fed_by, pipes, committed.snapshot_seq)

    def add_topics(self, opened: OpenTable, topics: Sequence[TopicFacts]) -> None:
        """Open topics that appeared after the table was opened, as the first ones were."""
        require_same_topics(opened.tokens, topics)
        tokens = self._with_starts(opened.tokens, str(opened.table.name), topics, gone=False)
        if tokens.topics != opened.tokens.topics:
            self.move(opened, tokens)
        opened.topics.update(facts.topic for facts in topics)

    def move(self, opened: OpenTable, tokens: Tokens) -> None:
        """Commit other tokens without a row."""
        tokens = replace(tokens, commit=str(uuid.uuid4()), owner=self.owner, opener=self.opener, epoch=opened.epoch)
        opened.tokens = self._commit(opened.table, tokens, opened.tokens.commit, opened.epoch)

    def recall(self, opened: OpenTable) -> None:
        """Read the tokens of a table anew: after any error, and now and then while idle.

        Raises:
            Fenced: a newer opener owns it.
            TableMissing: it is gone.
            TableReplaced: the table of that name is another one.
        """
        name = str(opened.table.name)
        opened.table.refresh()
        found = opened.table.uuid
        if found != opened.uuid:
            raise TableReplaced(name, opened.uuid, found)
        tokens = read(opened.table.state(), name, self._settings.key)
        if tokens is None:
            raise TableReplaced(name, f"{opened.uuid} with our tokens", f"{found} without them")
        if tokens.epoch > opened.epoch:
            raise Fenced(self._settings.name, name, opened.epoch, tokens.epoch, tokens.opener)
        opened.tokens = tokens
        # After a rollback, those that were opened since are to be opened again.
        opened.topics &= tokens.topics.keys()

    def with_unopened(self, tokens: Tokens | None, topics: Sequence[TopicFacts]) -> Tokens:
        """The tokens of a table, if there are any, and channels without one for topics that could not be opened."""
        known = tokens or self._no_tokens()
        unopened = {facts.topic: facts for facts in topics if facts.topic not in known.topics}
        partitions = [partition for each in unopened.values() for partition in each.source_partitions()]
        return known.with_channels(dict.fromkeys(partitions, Channel()), unopened)

    def _found_or_created(self, name: TableName, topics: Sequence[TopicFacts]) -> WritableTable:
        try:
            return self._catalog.open(name, None, self._settings.conversion)
        except TableMissing as error:
            if self._settings.autocreate == "none":
                raise TableNotCreated(str(name), [each.topic for each in topics]) from error
        # Refuses before anything is created; a table that is there would say less of what happened.
        self._source.resolve_starts(topics, str(name), gone=True)
        return self._catalog.open(name, self._settings.table_options.properties, self._settings.conversion)

    def _commit(
        self,
        table: WritableTable,
        tokens: Tokens,
        before: str | None,
        epoch: int,
        despite: tuple[type[TableBegunAnew], ...] = (),
    ) -> Tokens:
        expected = Expectation(self._settings.key, self.owner, epoch, before, (), table.uuid, despite=despite)
        return commit(table, (), tokens, expected).tokens

    def _no_tokens(self) -> Tokens:
        return Tokens(self._settings.name, "", self.owner, 0, source=self._source.kind)

    def _with_starts(self, tokens: Tokens, table: str, topics: Sequence[TopicFacts], *, gone: bool) -> Tokens:
        """The tokens with a start for every channel of topics that were never opened."""
        unopened = {facts.topic: facts for facts in topics if facts.topic not in tokens.topics}
        starts = self._source.resolve_starts([*unopened.values()], table, gone=gone)
        channels = {each: Channel(token=str(start.last), closed=start.ended) for each, start in starts.items()}
        return tokens.with_channels(channels, unopened)


def is_fresh(state: TableState) -> bool:
    """Whether frazil made the table and nobody committed to it yet: an opening did not come to its end."""
    return state.current is None and state.property(CREATED_BY) == "true"
