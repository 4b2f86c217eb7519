"""Step 1 of the cycle: which table each topic goes to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from frazil.config import ConnectorSettings
from frazil.errors import FrazilError, TableMissing, TableNameRefused, Terminal, Transient
from frazil.model import TableName
from frazil.pipes.stored import PREFIX, matching
from frazil.sources.base import TopicFacts
from frazil.tables.base import TableCatalog
from frazil.tables.defaults import DEFAULT_NAMESPACE
from frazil.tables.rules.names import meant, nearest

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Destinations:
    """The tables that topics go to."""

    topics: dict[TableName, list[TopicFacts]] = field(default_factory=dict)
    """Each table's topics."""

    errors: dict[TableName, FrazilError] = field(default_factory=dict)
    """Why some of the tables cannot be opened: no table can have the name, or the catalog does not say what it has."""

    generated: dict[str, TableName] = field(default_factory=dict)
    """The tables of those topics whose tables have no names but those generated from the topics'."""

    near: dict[TableName, TableName] = field(default_factory=dict)
    """Missing tables, each with the existing table whose name differs from theirs only by case."""

    def warn(self, connector: str) -> None:
        """Log the missing tables whose names differ only by case from those of existing tables."""
        for name, existing in self.near.items():
            _log.warning(
                "a table is missing, and the name of an existing table differs only by case",
                connector=connector,
                table=str(name),
                existing=str(existing),
                topics=sorted(each.topic for each in self.topics[name]),
            )


Routing: TypeAlias = Callable[[ConnectorSettings, TableCatalog, Sequence[TopicFacts]], Destinations]
"""What says which tables topics feed; `destinations` is one."""


def destinations(settings: ConnectorSettings, catalog: TableCatalog, topics: Sequence[TopicFacts]) -> Destinations:
    """The tables of topics, by the connector's settings and what is in the catalog."""
    configured = settings.namespace or DEFAULT_NAMESPACE
    failure: FrazilError | None = None
    pipes: Mapping[str, str] = {}
    try:
        namespace = catalog.namespace(configured)
        existing = catalog.list_tables(namespace)
        pipes = catalog.pipe_tables(namespace)
    except Transient as error:
        failure, namespace, existing = error, tuple(configured.split(".")), ()
    found = Destinations()
    for each in topics:
        try:
            name = table_of(settings, each.topic, namespace, existing, lower=catalog.lower_case)
            piped = _through_pipe(settings, catalog, each.topic, pipes, existing) if pipes else None
            name = piped or name
        except TableNameRefused as error:
            name = TableName(namespace, each.topic)
            found.errors[name] = error
        else:
            if piped is None and not settings.names_table_of(each.topic):
                found.generated[each.topic] = name
            if failure is not None:
                found.errors[name] = failure
            if other := nearest(name, existing):
                found.near[name] = other
        found.topics.setdefault(name, []).append(each)
    return found


def _through_pipe(
    settings: ConnectorSettings,
    catalog: TableCatalog,
    topic: str,
    pipes: Mapping[str, str],
    existing: Collection[TableName],
) -> TableName | None:
    """The table that a pipe takes a topic to, which is called like the table that the topic is mapped to."""
    target = settings.table_of(topic)
    pipe = matching(pipes, target.name, quoted=target.quoted)
    table = next((each for each in existing if pipe is not None and each.name == pipes[pipe]), None)
    if pipe is None or table is None:
        return None
    try:
        found = catalog.open(table, None, settings.conversion).state().property(PREFIX + pipe)
    except TableMissing:
        return None
    except Terminal:
        # Whatever it is, opening the table will say it.
        return table
    return table if found is not None else None


def table_of(
    settings: ConnectorSettings, topic: str, namespace: tuple[str, ...], existing: Collection[TableName], *, lower: bool
) -> TableName:
    """The table of one topic: the entry of the map, or a name of the topic's own, and the table which that means.

    Args:
        settings: the connector's.
        topic: its name.
        namespace: where the connector's tables are.
        existing: the tables that are there.
        lower: whether the catalog has names in lower case only.

    Raises:
        TableNameRefused: no table can have the name.
    """
    target = settings.table_of(topic)
    return meant(namespace, target.name, existing, quoted=target.quoted, lower=lower)
