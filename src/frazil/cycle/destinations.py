"""Step 1 of the cycle: which table each topic goes to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from frazil.config import ConnectorSettings
from frazil.errors import FrazilError, TableNameRefused, Transient
from frazil.model import TableName
from frazil.sources.base import TopicFacts
from frazil.tables.base import TableCatalog
from frazil.tables.defaults import DEFAULT_NAMESPACE
from frazil.tables.rules.names import meant


@dataclass(frozen=True, slots=True)
class Destinations:
    """The tables that topics go to."""

    topics: dict[TableName, list[TopicFacts]] = field(default_factory=dict)
    """Each table's topics."""

    errors: dict[TableName, FrazilError] = field(default_factory=dict)
    """Why some of the tables cannot be opened: no table can have the name, or the catalog does not say what it has."""

    generated: dict[str, TableName] = field(default_factory=dict)
    """The tables of those topics whose tables have no names but those generated from the topics'."""


Routing: TypeAlias = Callable[[ConnectorSettings, TableCatalog, Sequence[TopicFacts]], Destinations]
"""What says which tables topics feed; `destinations` is one."""


def destinations(settings: ConnectorSettings, catalog: TableCatalog, topics: Sequence[TopicFacts]) -> Destinations:
    """The tables of topics, by the connector's settings and what is in the catalog."""
    configured = settings.namespace or DEFAULT_NAMESPACE
    failure: FrazilError | None = None
    try:
        namespace = catalog.namespace(configured)
        existing = catalog.list_tables(namespace)
    except Transient as error:
        failure, namespace, existing = error, tuple(configured.split(".")), ()
    found = Destinations()
    for each in topics:
        try:
            name = table_of(settings, each.topic, namespace, existing, lower=catalog.lower_case)
        except TableNameRefused as error:
            name = TableName(namespace, each.topic)
            found.errors[name] = error
        else:
            if not settings.topic2table.has(each.topic):
                found.generated[each.topic] = name
            if failure is not None:
                found.errors[name] = failure
        found.topics.setdefault(name, []).append(each)
    return found


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
    target = settings.topic2table.resolve(topic, sanitised=settings.sanitize_table_names)
    return meant(namespace, target.name, existing, quoted=target.quoted, lower=lower)
