"""The pipes of a catalog: those that users wrote, and the default pipes that topics come through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from frazil.connector.registered import Registered
from frazil.connector.token_scan import connector_tokens, tables_of
from frazil.cycle.pipes import stored_pipes
from frazil.model import TableName
from frazil.pipes.naming import default_pipe
from frazil.tables.iceberg.catalog import Catalog


@dataclass(frozen=True, slots=True)
class ListedPipe:
    """One pipe."""

    pipe: str
    table: str
    kind: Literal["user", "default"]
    topics: tuple[str, ...]
    """The topics whose records come through it, of connectors that have opened its table."""

    created: int | None
    """When a user created it, in ms since the epoch."""

    creator: str | None
    comment: str | None
    definition: str | None
    """The CREATE PIPE; None for a default pipe."""


def pipes_in(catalog: Catalog, connectors: Mapping[str, Registered]) -> list[ListedPipe]:
    """All pipes, by table and name; a default pipe only if it has topics.

    Args:
        catalog: where the tables are.
        connectors: those that are known, by key.

    Raises:
        CatalogUnavailable: the catalog does not say what tables it has.
    """
    topics = _topics(catalog, connectors)
    found = []
    for table in tables_of(catalog):
        by_pipe = dict(topics.get(table.name, {}))
        for name, stored in sorted(stored_pipes(table.state()).items()):
            mine = tuple(sorted(by_pipe.pop(name, ())))
            known = (stored.created or None, stored.creator or None, stored.comment, stored.sql)
            found.append(ListedPipe(name, str(table.name), "user", mine, *known))
        name = default_pipe(table.name.name)
        if name in by_pipe:
            listed = tuple(sorted(by_pipe[name]))
            found.append(ListedPipe(name, str(table.name), "default", listed, None, None, None, None))
    return found


def _topics(catalog: Catalog, connectors: Mapping[str, Registered]) -> Mapping[TableName, dict[str, set[str]]]:
    """The topics that come through each pipe, by table and pipe."""
    found: dict[TableName, dict[str, set[str]]] = {}
    for held in connector_tokens(catalog):
        for topic in {partition.topic for partition, _ in held.tokens.channels()}:
            pipe = held.pipe_of(topic, connectors.get(held.connector))
            found.setdefault(held.table.name, {}).setdefault(pipe, set()).add(topic)
    return found
