"""Steps 1 and 2 of the cycle: discover topics, open their tables, take ownership, recall the tokens."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle.sweeping import Sweeper
from frazil.errors import Fenced, TableMissing, TableNotCreated, TableReplaced, TokensMoved, TopicMissing, TopicReplaced
from frazil.model import SourcePartition, TableName
from frazil.sources.base import Source, TopicFacts
from frazil.tables.base import Target, Targets
from frazil.tables.checks import Expectation
from frazil.tables.commit import commit
from frazil.tables.orphans import last_commit
from frazil.tables.session import DEFAULT_NAMESPACE
from frazil.tables.tokens import Channel, Tokens, read

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class OpenTable:
    """A table this connector owns, with the tokens it holds."""

    table: Target
    uuid: str
    tokens: Tokens
    epoch: int
    """Our owner epoch on this table."""

    topics: set[str] = field(default_factory=set)
    """The topics that feed it."""


class Opener:
    """Opens tables for one connector. Every opener has its own owner id; the newest one wins."""

    def __init__(self, settings: ConnectorSettings, catalog: Targets, source: Source) -> None:
        self._settings = settings
        self._catalog = catalog
        self._source = source
        self.sweeper = Sweeper(settings, catalog)
        self.owner = str(uuid.uuid4())
        self.opener = f"{socket.gethostname()} (pid {os.getpid()})"

    def table_for(self, topic: str) -> TableName:
        """The table a topic goes to."""
        target = self._settings.topic2table.resolve(topic, sanitised=self._settings.sanitize_table_names)
        namespace = self._catalog.namespace(self._settings.namespace or DEFAULT_NAMESPACE)
        return self._catalog.resolve(namespace, target.name, quoted=target.quoted)

    def open_new(self, tables: dict[TableName, OpenTable], topics: Iterable[TopicFacts]) -> None:
        """Open what is not open yet: the tables of topics that no table of `tables` is fed by."""
        by_table: dict[TableName, list[TopicFacts]] = {}
        for each in topics:
            if not any(each.topic in table.topics for table in tables.values()):
                by_table.setdefault(self.table_for(each.topic), []).append(each)
        for name, new in by_table.items():
            if name in tables:
                self.add_topics(tables[name], new)
            else:
                tables[name] = self.open(name, new)

    def open(self, name: TableName, topics: Sequence[TopicFacts]) -> OpenTable:
        """Take ownership of a table in an empty append that also fixes where each new channel starts.

        A rival that opens at the same moment makes one of the two look again and open after the other.

        Raises:
            TableNotCreated: there is none, and none is to be created.
        """
        create = None if self._settings.autocreate == "none" else self._settings.table_options.properties
        try:
            table = self._catalog.open(name, create, self._settings.conversion)
        except TableMissing as error:
            raise TableNotCreated(str(name), [each.topic for each in topics]) from error
        while True:
            state = table.state()
            known = read(state, str(name), self._settings.key)
            epoch = known.epoch + 1 if known else 1
            if known:
                require_same_topics(known, topics)
            tokens = self._with_starts(known or self._no_tokens(), topics)
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
                committed = self._commit(table, tokens, known.commit if known else None, epoch)
            except TokensMoved:
                table.refresh()
                continue
            self.sweeper.opened(table, last_commit(state, known, self._settings.key))
            _log.info("opened a table", connector=self._settings.name, table=str(name), owner_epoch=epoch)
            return OpenTable(table, table.uuid, committed, epoch, {facts.topic for facts in topics})

    def add_topics(self, opened: OpenTable, topics: Sequence[TopicFacts]) -> None:
        """Open topics that appeared after the table was opened, as the first ones were."""
        require_same_topics(opened.tokens, topics)
        tokens = replace(self._with_starts(opened.tokens, topics), commit=str(uuid.uuid4()))
        if tokens.topics != opened.tokens.topics:
            opened.tokens = self._commit(opened.table, tokens, opened.tokens.commit, opened.epoch)
        opened.topics.update(facts.topic for facts in topics)

    def recall(self, opened: OpenTable) -> None:
        """Read the tokens anew: after any error, and now and then while idle.

        Raises:
            Fenced: a newer opener owns the table.
            TableReplaced: the table of that name is another one.
        """
        opened.table.refresh()
        found = opened.table.uuid
        if found != opened.uuid:
            raise TableReplaced(str(opened.table.name), opened.uuid, found)
        tokens = read(opened.table.state(), str(opened.table.name), self._settings.key)
        if tokens is None:
            raise TableReplaced(str(opened.table.name), f"{opened.uuid} with our tokens", f"{found} without them")
        if tokens.epoch > opened.epoch:
            raise Fenced(self._settings.name, str(opened.table.name), opened.epoch, tokens.epoch, tokens.opener)
        opened.tokens = tokens

    def _commit(self, table: Target, tokens: Tokens, before: str | None, epoch: int) -> Tokens:
        expected = Expectation(self._settings.key, self.owner, epoch, before, (), table.uuid)
        return commit(table, (), tokens, expected).tokens

    def _no_tokens(self) -> Tokens:
        return Tokens(self._settings.name, "", self.owner, 0)

    def _with_starts(self, tokens: Tokens, topics: Sequence[TopicFacts]) -> Tokens:
        """The tokens with a start for every channel of topics that were never opened."""
        unopened = [facts for facts in topics if facts.topic not in tokens.topics]
        partitions = [SourcePartition(facts.topic, number) for facts in unopened for number in range(facts.partitions)]
        starts = self._source.starts(partitions) if partitions else {}
        for facts in unopened:
            for number in range(facts.partitions):
                partition = SourcePartition(facts.topic, number)
                channel = Channel(token=str(starts[partition] - 1))
                tokens = tokens.with_channel(partition, channel, facts.cluster, facts.id)
        return tokens


def starts_of(opened: OpenTable, facts: Mapping[str, TopicFacts]) -> dict[SourcePartition, int]:
    """The first offset not covered, for every channel of a table; partitions new to an opened topic start at 0."""
    starts = {}
    for topic in opened.topics & facts.keys():
        for number in range(facts[topic].partitions):
            partition = SourcePartition(topic, number)
            token = opened.tokens.channel(partition).token
            starts[partition] = 0 if token is None else int(token) + 1
    return starts


def positions_of(tables: Iterable[OpenTable]) -> dict[SourcePartition, int]:
    """The first offset not covered, for every channel of the tables that was ever opened."""
    return {
        SourcePartition(topic, number): int(channel.token) + 1
        for opened in tables
        for topic, tokens in opened.tokens.topics.items()
        if topic in opened.topics
        for number, channel in enumerate(tokens.channels)
        if channel.token is not None
    }


def require_same_topics(tokens: Tokens, topics: Sequence[TopicFacts]) -> None:
    """Refuse a topic that is another one than the tokens speak of.

    Raises:
        TopicReplaced: it was made again under its name, or belongs to another cluster.
    """
    for facts in topics:
        known = tokens.topics.get(facts.topic)
        if known is None:
            continue
        if known.cluster and facts.cluster and known.cluster != facts.cluster:
            raise TopicReplaced(facts.topic, "cluster id", known.cluster, facts.cluster)
        if known.id and facts.id and known.id != facts.id:
            raise TopicReplaced(facts.topic, "topic id", known.id, facts.id)


def require_topics(settings: ConnectorSettings, found: Mapping[str, object]) -> None:
    """Refuse to go on without the topics that were named.

    Raises:
        TopicMissing: some do not exist.
    """
    missing = [topic for topic in settings.topics if topic not in found]
    if missing:
        raise TopicMissing(missing, settings.bootstrap_servers)
