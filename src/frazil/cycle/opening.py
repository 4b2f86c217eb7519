"""Steps 1 and 2 of the cycle: discover topics, open their tables, take ownership, recall the tokens."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle import sharing
from frazil.cycle.identity import require_same_topics
from frazil.cycle.opened import OpenTable
from frazil.cycle.renewal import Renewal
from frazil.cycle.starting import Starting, is_fresh
from frazil.cycle.sweeping import Sweeper
from frazil.cycle.together import Together, require
from frazil.errors import (
    Fenced,
    FrazilError,
    TableBegunAnew,
    TableMissing,
    TableNotCreated,
    TableReplaced,
    TokensMoved,
)
from frazil.model import TableName
from frazil.sources.base import Source, TopicFacts
from frazil.tables.base import Target, Targets
from frazil.tables.checks import Expectation
from frazil.tables.commit import commit
from frazil.tables.names import meant
from frazil.tables.orphans import last_commit
from frazil.tables.session import DEFAULT_NAMESPACE
from frazil.tables.tokens import Channel, Tokens, last_epoch, read

_log = structlog.get_logger(__name__)


class Opener:
    """Opens tables for one connector. Every opener has its own owner id; the newest one wins."""

    def __init__(self, settings: ConnectorSettings, catalog: Targets, source: Source, together: Together) -> None:
        self._settings = settings
        self._catalog = catalog
        self._together = together
        self._starting = Starting(settings, source)
        self.renewal = Renewal(settings)
        self.sweeper = Sweeper(settings, catalog)
        self.owner = str(uuid.uuid4())
        self.opener = f"{socket.gethostname()} (pid {os.getpid()})"

    def tables_for(self, topics: Sequence[TopicFacts]) -> dict[TableName, list[TopicFacts]]:
        """The tables that topics go to, each with its topics."""
        if not topics:
            return {}
        namespace = self._catalog.namespace(self._settings.namespace or DEFAULT_NAMESPACE)
        existing = self._catalog.list_tables(namespace)
        found: dict[TableName, list[TopicFacts]] = {}
        for each in topics:
            target = self._settings.topic2table.resolve(each.topic, sanitised=self._settings.sanitize_table_names)
            name = meant(namespace, target.name, existing, quoted=target.quoted, lower=self._catalog.lower_case)
            found.setdefault(name, []).append(each)
        return found

    def open_new(self, tables: dict[TableName, OpenTable], topics: Iterable[TopicFacts]) -> None:
        """Open what is not open yet: the tables of topics that no table of `tables` is fed by."""
        known = frozenset[str]().union(*(table.topics for table in tables.values()))
        by_table = [*self.tables_for([each for each in topics if each.topic not in known]).items()]
        for name, new in by_table:
            if name in tables:
                self.add_topics(tables[name], new)
        unopened = [(name, new) for name, new in by_table if name not in tables]
        opened = self._together.each(lambda each: self.open(*each), unopened)
        tables.update({each.table.name: each for each in opened if isinstance(each, OpenTable)})
        require(opened)

    def open(self, name: TableName, topics: Sequence[TopicFacts]) -> OpenTable:
        """Take ownership of a table in an empty append that also fixes where each new channel starts.

        A rival that opens at the same moment makes one of the two look again and open after the other.

        Raises:
            TableNotCreated: there is none, and none is to be created.
            TokensMissing: it lacks records that were landed, and the configuration says to stop.
        """
        table = self._found_or_created(name, topics)
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
            return OpenTable(table, table.uuid, committed, epoch, fed_by, committed.snapshot_seq)

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

    def recall(self, tables: dict[TableName, OpenTable]) -> None:
        """Read the tokens anew: after any error, and now and then while idle.

        A table that is gone or replaced is no longer one of `tables` afterwards, where the configuration says to open
        another one.

        Raises:
            Fenced: a newer opener owns a table.
            TableMissing: a table is gone.
            TableReplaced: the table of that name is another one.
        """
        names = [*tables]
        answers = self._together.each(lambda name: self._recall(tables[name]), names)
        require([each for each in answers if not self._is_overlooked(each)])
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, TableMissing | TableReplaced):
                _log.warning("a table is not there any more", connector=self._settings.name, cause=answer.message)
                del tables[name]

    def _is_overlooked(self, answer: FrazilError | None) -> bool:
        """Whether a table is gone or replaced and the configuration says to open another one."""
        return isinstance(answer, TableMissing | TableReplaced) and self.renewal.choice(answer) != "fail"

    def _recall(self, opened: OpenTable) -> None:
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

    def _found_or_created(self, name: TableName, topics: Sequence[TopicFacts]) -> Target:
        try:
            return self._catalog.open(name, None, self._settings.conversion)
        except TableMissing as error:
            if self._settings.autocreate == "none":
                raise TableNotCreated(str(name), [each.topic for each in topics]) from error
        # Refuses before anything is created; a table that is there would say less of what happened.
        self._starting.starts(str(name), topics, gone=True)
        return self._catalog.open(name, self._settings.table_options.properties, self._settings.conversion)

    def _commit(
        self,
        table: Target,
        tokens: Tokens,
        before: str | None,
        epoch: int,
        despite: tuple[type[TableBegunAnew], ...] = (),
    ) -> Tokens:
        expected = Expectation(self._settings.key, self.owner, epoch, before, (), table.uuid, despite=despite)
        return commit(table, (), tokens, expected).tokens

    def _no_tokens(self) -> Tokens:
        return Tokens(self._settings.name, "", self.owner, 0)

    def _with_starts(self, tokens: Tokens, table: str, topics: Sequence[TopicFacts], *, gone: bool) -> Tokens:
        """The tokens with a start for every channel of topics that were never opened."""
        unopened = {facts.topic: facts for facts in topics if facts.topic not in tokens.topics}
        starts = self._starting.starts(table, [*unopened.values()], gone=gone)
        return tokens.with_channels({each: Channel(token=str(start - 1)) for each, start in starts.items()}, unopened)
