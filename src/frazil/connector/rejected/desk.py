"""What people ask of rejected records: which there are, in groups or one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import structlog

from frazil.config import ConnectorSettings
from frazil.config.kafka import KafkaSettings
from frazil.connector.registry import Registry
from frazil.connector.rejected.finding import (
    FoundErrors,
    Ledgers,
    all_errors,
    errors_of,
    require_error_table,
    settings_of,
)
from frazil.connector.rejected.listing import Described, RejectGroup, described, groups
from frazil.connector.rejected.reading import BYTES, of_table, of_topic
from frazil.errors import CatalogUnavailable, ErrorTableUnfit, FrazilError, ReplayRefused, TableMissing
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which rejected records are meant."""

    table: str | None = None
    """A table that has an error table; with neither, all of them."""

    topic: str | None = None
    """A dead-letter topic; then no table is asked for."""

    where: str | None = None
    """A condition in Snowflake's SQL over the columns of an error table."""


@dataclass(frozen=True, slots=True)
class RejectSource:
    """Where some of them are."""

    name: str
    table: str | None
    """The table they were rejected for; None where each of them says so itself, or nothing does."""

    batches: Iterator[pa.RecordBatch]


class RejectDesk:
    """Answers what is asked of the rejected records of a catalog's tables, with what a home knows of connectors."""

    def __init__(
        self, catalog: Catalog, engine: Engine, registry: Registry, given: ConnectorSettings | None = None
    ) -> None:
        """Look nothing up yet.

        Args:
            catalog: where the tables are.
            engine: reads error tables.
            registry: knows the files of connectors.
            given: the settings of the connector that is meant, if its file was named.
        """
        self.catalog = catalog
        self.engine = engine
        self.ledgers = Ledgers(catalog)
        self._registered = registry.connectors()
        self._given = given

    def settings_of(self, connector: str) -> ConnectorSettings:
        """The settings of a connector, by its name; raises what `frazil.connector.rejected.finding` does."""
        return settings_of(connector, self._registered, self._given)

    def groups(self, asked: Asked) -> list[RejectGroup]:
        """The rejected records in groups.

        Raises:
            ReplayRefused: there is no such table or topic.
            InvalidQuery: the condition is none.
            CatalogUnavailable, StorageUnavailable, SourceUnavailable: they cannot be read.
        """
        return [
            group
            for each in self.sources(asked, whole=False)
            for group in groups(each.batches, each.table, self.ledgers.has)
        ]

    def records(self, asked: Asked, limit: int) -> Iterator[Described]:
        """The first of them one by one; raises what `groups` does."""
        found = (
            reject
            for each in self.sources(asked, whole=True)
            for batch in each.batches
            for reject in described(batch, each.table, self.ledgers.has)
        )
        yield from itertools.islice(found, limit)

    def sources(self, asked: Asked, *, whole: bool) -> Iterator[RejectSource]:
        """Where the rejected records are; `whole` with what they were made of.

        Of all tables, those that only have the name of an error table are passed over and logged.

        Raises:
            ErrorTableUnfit: the table that is asked for is one of those.
        """
        if asked.topic is not None:
            yield RejectSource(asked.topic, None, of_topic(self._of(asked.topic), asked.topic, asked.where))
            return
        for each in self._found(asked.table):
            batches = of_table(self.engine, each.errors, asked.where, () if whole else BYTES)
            yield RejectSource(str(each.errors), str(each.table), batches)

    def _found(self, table: str | None) -> Iterator[FoundErrors]:
        if table is not None:
            found = errors_of(self.catalog, table)
            require_error_table(self.catalog, found.errors)
            yield found
            return
        for each in all_errors(self.catalog):
            try:
                require_error_table(self.catalog, each.errors)
            except TableMissing:  # dropped since they were listed
                continue
            except (ErrorTableUnfit, CatalogUnavailable) as error:
                _log.warning("a table is passed over", table=str(each.errors), cause=error.message)
                continue
            yield each

    def _of(self, topic: str) -> ConnectorSettings:
        """The settings of the connector that a dead-letter topic is of."""
        if self._given is not None:
            return self._given
        for each in self._registered.values():
            if each.connector is None:
                continue
            try:
                settings = self.settings_of(each.name)
            except FrazilError:
                continue  # it may be another one's
            if isinstance(settings.source, KafkaSettings) and settings.source.dead_letter_topic == topic:
                return settings
        raise ReplayRefused(
            f"no connector that ran from this home sends rejected records to {topic}",
            "Name the file of one whose brokers have the topic: --connector FILE.",
        )
