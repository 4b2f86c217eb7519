"""Whose tokens are in which tables of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import structlog

from frazil.connector.registered import Registered
from frazil.errors import CatalogUnavailable, FrazilError, TableMissing, Terminal
from frazil.names import sanitise
from frazil.pipes.naming import default_pipe
from frazil.pipes.stored import PREFIX as PIPES
from frazil.pipes.stored import of_channel
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.table import Table
from frazil.tables.rules.tokens import PREFIX, Tokens, read

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectorTokens:
    """The tokens of one connector in one table."""

    table: Table
    connector: str
    """The connector's key."""

    tokens: Tokens
    pipes: tuple[str, ...]
    """The names of the users' pipes that the table has."""

    def pipe_of(self, topic: str, known: Registered | None) -> str:
        """The pipe that a topic's records come through.

        Args:
            topic: one that the connector brings here.
            known: what is known of the connector; None where it never ran from here, and then it is taken for one whose
                topics are mapped to no tables.
        """
        if not self.pipes:
            return default_pipe(self.table.name.name)
        return of_channel(self.pipes, known.mapped(topic) if known else sanitise(topic), self.table.name.name)


def tables_of(catalog: Catalog) -> Iterator[Table]:
    """All tables of a catalog that can be read; of the others, which may be anybody's, it is logged.

    Raises:
        CatalogUnavailable: the catalog does not say what tables it has.
    """
    for namespace in catalog.namespaces():
        for name in catalog.list_tables(namespace):
            try:
                table = catalog.table(name)
            except TableMissing:  # dropped since they were listed
                continue
            except CatalogUnavailable as error:
                _log.error("a table is passed over: it cannot be read", table=str(name), cause=str(error))
                continue
            yield table


def connector_tokens(catalog: Catalog, despite: tuple[type[Terminal], ...] = ()) -> Iterator[ConnectorTokens]:
    """The tokens of all connectors in all tables; where some cannot be read, it is logged.

    Args:
        catalog: where the tables are.
        despite: errors in whose place the mirror is taken, as for `frazil.tables.rules.tokens.read`.
    """
    for table in tables_of(catalog):
        state = table.state()
        pipes = tuple(state.properties_under(PIPES))
        for connector in sorted(state.properties_under(PREFIX)):
            try:
                tokens = read(state, str(table.name), connector, despite)
            except FrazilError as error:
                _log.error("the tokens of a connector cannot be read", connector=connector, cause=str(error))
                continue
            if tokens is not None:
                yield ConnectorTokens(table, connector, tokens, pipes)
