"""Step 2 of the cycle: open one table, take ownership of it, recall its tokens."""

from __future__ import annotations

import math
import os
import socket
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle import sharing, whole_records
from frazil.cycle.branches import ROUTE, Branch, born_of
from frazil.cycle.destinations import Destinations, Routing
from frazil.cycle.identity import require_same_topics
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.orphan_cleanup import OrphanCleanup
from frazil.cycle.pipes import is_default, stored_pipes
from frazil.cycle.table_policy import TablePolicy
from frazil.cycle.targets import require_free, require_target
from frazil.errors import (
    Fenced,
    TableBegunAnew,
    TableMissing,
    TableNotCreated,
    TableNotOfRoute,
    TableOfRoute,
    TableReplaced,
    TokensMoved,
)
from frazil.model import SourcePartition, TableName
from frazil.sources.base import Source, TopicFacts
from frazil.tables.base import TableCatalog, WritableTable
from frazil.tables.commit import commit
from frazil.tables.iceberg.table import CREATED_BY
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.checks import Expectation
from frazil.tables.rules.names import meant
from frazil.tables.rules.orphans import last_commit
from frazil.tables.rules.state import TableState
from frazil.tables.rules.tokens import Tokens, TopicTokens, last_epoch, read

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
        self._expected: set[TableName] = set()

    def destinations(self, topics: Sequence[TopicFacts]) -> Destinations:
        """The tables that topics go to."""
        return self._routing(self._settings, self._catalog, topics)

    def routed(self, own: TableName, names: Sequence[str]) -> list[TableName]:
        """The tables that generated names mean, beside a topic's own table."""
        existing = self._catalog.list_tables(own.namespace)
        lower = self._catalog.lower_case
        return [meant(own.namespace, name, existing, quoted=False, lower=lower) for name in names]

    def expect(self, names: Iterable[TableName]) -> None:
        """Know tables that are about to be opened, perhaps at a time; none takes the name of another's error table."""
        self._expected.update(names)

    def open(self, name: TableName, topics: Sequence[TopicFacts], branch: Branch | None = None) -> OpenTable:
        """Take ownership of a table in an empty append that also fixes where each new channel starts.

        A rival that opens at the same moment makes one of the two look again and open after the other.

        Args:
            name: the table's.
            topics: those that feed it.
            branch: whose records it has, if it does not have all of its topics.

        Raises:
            TableNotCreated: there is none, and none is to be created.
            TableWithoutContent: whole records cannot go to it.
            TableMissing: it had a branch of a topic, and the configuration says to stop where it is gone.
            TokensMissing: it lacks records that were landed, and the configuration says to stop.
            TableOfRoute: it has a branch of a topic, and now is to have all of one.
            TableNotOfRoute: it has something else than the branch.
            TableOfRejects: it is an error table.
        """
        table = self._found_or_created(name, topics, branch)
        require_target(table.state(), name)
        stored = stored_pipes(table.state())
        if any(is_default(self._settings, name, facts.topic, stored) for facts in topics):
            whole_records.prepare(table, self._settings.conversion)
        while True:
            state = table.state()
            known, despite = self.renewal.known(state, str(name))
            self._require_branch(state, name, topics, branch, known)
            epoch = last_epoch(state, self._settings.key, known) + 1
            if known:
                require_same_topics(known, topics)
            gone = known is None and is_fresh(state)
            born = self._born(table, branch, known, gone=gone)
            tokens = self._with_starts(known or self._no_tokens(), str(name), topics, born, gone=gone)
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

    def add_topics(self, opened: OpenTable, topics: Sequence[TopicFacts], branch: Branch | None = None) -> None:
        """Open topics that appeared after the table was opened, as the first ones were."""
        require_same_topics(opened.tokens, topics)
        self._require_branch(opened.table.state(), opened.table.name, topics, branch, opened.tokens)
        born = branch.born if branch else {}
        tokens = self._with_starts(opened.tokens, str(opened.table.name), topics, born, gone=False)
        if tokens.topics != opened.tokens.topics:
            self.move(opened, tokens)
        opened.topics.update(facts.topic for facts in topics)

    def move(self, opened: OpenTable, tokens: Tokens) -> None:
        """Commit other tokens without a row."""
        tokens = replace(tokens, commit=str(uuid.uuid4()), owner=self.owner, opener=self.opener, epoch=opened.epoch)
        opened.tokens = self._commit(opened.table, tokens, opened.tokens.commit, opened.epoch)
        opened.holds = False

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
        opened.looked_at = -math.inf
        # Equal commits mean equal tokens, but for what was looked at since and had nothing for the table.
        if tokens.commit != opened.tokens.commit:
            opened.tokens, opened.holds = tokens, False
        # After a rollback, those that were opened since are to be opened again.
        opened.topics &= tokens.topics.keys()

    def with_unopened(self, tokens: Tokens | None, topics: Sequence[TopicFacts]) -> Tokens:
        """The tokens of a table, if there are any, and channels without one for topics that could not be opened."""
        known = tokens or self._no_tokens()
        unopened = {facts.topic: facts for facts in topics if facts.topic not in known.topics}
        partitions = [partition for each in unopened.values() for partition in each.source_partitions()]
        return known.with_channels(dict.fromkeys(partitions, Channel()), unopened)

    def _found_or_created(self, name: TableName, topics: Sequence[TopicFacts], branch: Branch | None) -> WritableTable:
        try:
            return self._catalog.open(name, None, self._settings.conversion)
        except TableMissing as error:
            if self._settings.autocreate == "none":
                raise TableNotCreated(str(name), [each.topic for each in topics]) from error
            if branch is not None and branch.is_known and self._settings.on_table_missing == "fail":
                raise
        require_free(self._settings, self._catalog, name, self._expected)
        properties = self._settings.table_options.properties
        if branch is not None:
            properties = {**properties, ROUTE: branch.value}
        # Refuses before anything is created; a table that is there would say less of what happened.
        self._source.resolve_starts([each for each in topics if not _is_born(branch, each)], str(name), gone=True)
        return self._catalog.open(name, properties, self._settings.conversion)

    def _born(
        self, table: WritableTable, branch: Branch | None, known: Tokens | None, *, gone: bool
    ) -> Mapping[str, TopicTokens]:
        """The tokens, by topic, that a table begins with; of one that has lost its own, the settings decide."""
        if branch is None:
            return {}
        lost = branch.is_known and any(known is None or topic not in known.topics for topic in branch.born)
        choice = self._settings.on_table_missing if gone else self._settings.on_table_replaced
        if lost and choice == "fail":
            raise TableReplaced(str(table.name), "one with our tokens", f"{table.uuid} without them")
        return {} if lost else branch.born

    def _require_branch(
        self,
        state: TableState,
        name: TableName,
        topics: Sequence[TopicFacts],
        branch: Branch | None,
        known: Tokens | None,
    ) -> None:
        """Refuse a table that has the records of something else."""
        value = state.property(ROUTE)
        if branch is None:
            if value is not None and self._settings.routes:
                raise TableOfRoute(str(name), [each.topic for each in topics], value)
            return
        fed = known is not None and all(each.topic in known.topics for each in topics)
        if value != branch.value and (value is not None or not fed):
            raise TableNotOfRoute(str(name), branch.value, value)

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

    def _with_starts(
        self,
        tokens: Tokens,
        table: str,
        topics: Sequence[TopicFacts],
        born: Mapping[str, TopicTokens],
        *,
        gone: bool,
    ) -> Tokens:
        """The tokens with a start for every channel of topics that were never opened, some of them with given ones."""
        unopened = {facts.topic: facts for facts in topics if facts.topic not in tokens.topics}
        elsewhere = [facts for topic, facts in unopened.items() if topic not in born]
        starts = self._source.resolve_starts(elsewhere, table, gone=gone)
        channels = {each: Channel().set_to(start, unopened[each.topic].kept_since) for each, start in starts.items()}
        for topic in unopened.keys() & born.keys():
            for number, channel in born[topic].channels.items():
                channels[SourcePartition(topic, number)] = born_of(channel)
        return tokens.with_channels(
            channels, {**unopened, **{each: born[each] for each in unopened.keys() & born.keys()}}
        )


def _is_born(branch: Branch | None, facts: TopicFacts) -> bool:
    return branch is not None and facts.topic in branch.born


def is_fresh(state: TableState) -> bool:
    """Whether frazil made the table and nobody committed to it yet: an opening did not come to its end."""
    return state.current is None and state.property(CREATED_BY) == "true"
