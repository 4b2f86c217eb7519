"""Which tables the topics of a connector feed that are routed by a value, and how new ones come to be.

A topic's own table leads: its tokens name the tables of the values. A new table is born with the own table's tokens,
then it is named there, and only then it gets records (docs/decisions/0018-routing-by-value.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.branches import Branch, tables_of, with_tables
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.cycle.table_pool import TablePool
from frazil.errors import (
    FrazilError,
    TableNotCreated,
    TableNotOfRoute,
    TableNotSupported,
    TableOfRejects,
    TableOfRoute,
)
from frazil.model import Route, TableName
from frazil.sources.base import TopicFacts

_REFUSALS = (TableNotCreated, TableNotOfRoute, TableNotSupported, TableOfRejects, TableOfRoute)
"""What keeps a value from having a table for good: its records are rejected, and the others go on."""

_log = structlog.get_logger(__name__)


class Branching:
    """Knows the tables of one connector's topics and their values.

    Where topics that transforms give records decide, a value is the name of the table that such a topic is mapped to.
    """

    def __init__(
        self, settings: ConnectorSettings, opener: Opener, opened: dict[TableName, OpenTable], together: TablePool
    ) -> None:
        """Know those among the tables that are `opened`, and add to them."""
        self._settings = settings
        self._opener = opener
        self._opened = opened
        self._together = together
        self._own: dict[str, TableName] = {}
        """The own table of each topic."""

        self._refused: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """By topic, why no table can have a generated name."""

    @property
    def is_on(self) -> bool:
        """Whether topics are routed by a value."""
        return self._settings.routes

    def lead(self, topic: str, own: TableName) -> None:
        """Have a topic led by its own table."""
        if self.is_on:
            self._own[topic] = own

    def own(self, topic: str) -> TableName:
        """The own table of a topic that is routed."""
        return self._own[topic]

    def leads(self, name: TableName, topic: str) -> bool:
        """Whether a table is the own one of a topic that is routed."""
        return self._own.get(topic) == name

    def known(self, topic: str) -> dict[TableName, str]:
        """The tables of a topic's values, with the values; none as long as its own table is not open."""
        own = self._own.get(topic)
        found = self._opened[own].tokens.topics.get(topic) if own in self._opened else None
        return tables_of(own, found) if own is not None and found is not None else {}

    def branch(self, name: TableName, topics: Sequence[TopicFacts]) -> Branch | None:
        """What a table is to have of its topics; None if all.

        Raises:
            TableOfRoute: it would be the own table of one topic, and that of a value of another one.
        """
        values = {facts.topic: value for facts in topics if (value := self.known(facts.topic).get(name)) is not None}
        if not values:
            return None
        if led := [facts.topic for facts in topics if self.leads(name, facts.topic)]:
            raise TableOfRoute(str(name), led, next(iter(values.values())))
        born = {topic: self._opened[self._own[topic]].tokens.topics[topic] for topic in values}
        return Branch(next(iter(values.values())), born, is_known=True)

    def route(self, topic: str) -> Route | None:
        """How the records of a topic find their tables; None while nobody knows, or if it is not routed."""
        own = self._own.get(topic)
        if own is None or own not in self._opened or not self.is_on:
            return None
        found = self._opened[own].tokens.topics.get(topic)
        if found is None:
            return None
        path, naming = self._settings.route_field or (), self._settings.naming
        return with_tables(Route(path, own, self._settings.most_routed, {}, self._refused[topic], naming), found)

    def forget_unknown(self) -> list[TableName]:
        """Let go of tables that no own table names any more, as after a rollback; they are found again by their names.

        Returns:
            Those that no topic feeds now.
        """
        if not self.is_on:
            return []
        known = {topic: self.known(topic) for topic in self._own}
        gone = []
        for name, each in [*self._opened.items()]:
            strange = {
                topic for topic in each.topics if not self.leads(name, topic) and name not in known.get(topic, {})
            }
            if strange:
                each.topics -= strange
                if not each.topics:
                    del self._opened[name]
                    gone.append(name)
        return gone

    def admit(self, topic: TopicFacts, new: Mapping[str, str]) -> None:
        """Have tables for new values of a topic, as far as the bound goes.

        Args:
            topic: the topic.
            new: the values, by the names that were generated for them.

        Raises:
            FrazilError: one of the tables could not be opened just now, or the own table could not name them.
        """
        route = self.route(topic.topic)
        if route is None:
            return
        own = self._opened[route.own]
        born = {topic.topic: own.tokens.topics[topic.topic]}
        chosen = sorted(new.items())[: route.most - len(route.tables)]
        names = dict(zip((name for name, _ in chosen), self._opener.routed(route.own, [*dict(chosen)]), strict=True))
        self._opener.expect(names.values())
        answers = self._together.each(lambda each: self._open(names[each[0]], topic, Branch(each[1], born)), chosen)
        opened: dict[str, OpenTable] = {}
        failure: FrazilError | None = None
        for (name, value), answer in zip(chosen, answers, strict=True):
            if isinstance(answer, OpenTable):
                opened[value] = answer
            elif isinstance(answer, _REFUSALS):
                self._refused[topic.topic][name] = answer.message
                _log.warning("a value gets no table", topic=topic.topic, value=value, cause=answer.message)
            else:
                failure = answer
        if opened:
            routes = {value: each.table.name.name for value, each in opened.items()}
            self._opener.move(own, own.tokens.with_routes(topic.topic, routes))
            for each in opened.values():
                each.topics.add(topic.topic)
                self._opened[each.table.name] = each
            _log.info("tables for new values", topic=topic.topic, values=sorted(opened))
        if failure is not None:
            raise failure

    def _open(self, name: TableName, topic: TopicFacts, branch: Branch) -> OpenTable:
        opened = self._opened.get(name)
        if opened is None:
            return self._opener.open(name, [topic], branch)
        if led := next((each for each in self._own if self.leads(name, each)), None):
            raise TableOfRoute(str(name), [led], branch.value)
        self._opener.add_topics(opened, [topic], branch)
        return opened
