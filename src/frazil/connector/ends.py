"""The two ends of a connector: the topics it reads and the catalog it writes to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

from frazil.config import ConnectorSettings
from frazil.cycle.job import Job, StagingJob
from frazil.sources import kinds
from frazil.sources.base import Source
from frazil.tables.base import TableCatalog
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.syncing import syncing
from frazil.tables.jvm.session import answers, choose_catalog, iceberg_catalog, tables_at_once


class ConnectorJob(Job, Protocol):
    """The staging job of a connector that runs."""

    def prepare(self) -> None:
        """Make workers ready, before the first records ask for it; may raise what `run` raises."""

    def cancel(self) -> None:
        """Abandon the running cycle; may be called from any thread."""

    def staged(self) -> tuple[int, int]:
        """Records, and bytes of their values, staged so far."""


class Ends(Protocol):
    """What a connector reads from, stages with and writes to: a source, Spark and Iceberg, or a test's, in memory."""

    @property
    def job(self) -> ConnectorJob:
        """What stages its tasks."""

    def source(self) -> Source:
        """The topics it reads, newly connected."""

    def catalog(self) -> TableCatalog:
        """The catalog it writes to, for the calling thread.

        Raises:
            CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
            CatalogUnavailable: it does not answer.
        """

    def in_thread(self, target: Callable[[], None]) -> Callable[[], None]:
        """The target of a thread, so that what it does there is not mixed up with what its starter does."""

    def answers(self) -> bool:
        """Whether what stages and commits is still there."""


class SparkEnds:
    """The source that the settings are for, and a Spark session that stages and commits; see `Ends`."""

    def __init__(self, settings: ConnectorSettings, session: SparkSession) -> None:
        self._settings = settings
        self._session = session
        self.job = StagingJob(session, settings.key)

    def source(self) -> Source:
        """The topics of the connector, newly connected."""
        return kinds.open_source(self._settings)

    def catalog(self) -> Catalog:
        """The catalog of the connector, for the calling thread."""
        return catalog_of(self._settings, self._session)

    def in_thread(self, target: Callable[[], None]) -> Callable[[], None]:
        """The target of a thread that does not share Spark's job group with its starter."""
        threaded: Callable[[], None] = inheritable_thread_target(self._session)(target)
        return threaded

    def answers(self) -> bool:
        """Whether the session's JVM is still there."""
        return answers(self._session)


def catalog_of(settings: ConnectorSettings, session: SparkSession) -> Catalog:
    """The catalog of a connector, for the calling thread.

    Raises:
        CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
        CatalogUnavailable: it does not answer.
    """
    name = choose_catalog(session, settings.catalog, settings.database, settings.spark)
    java = iceberg_catalog(session, name, Path(settings.home))
    gateway = session.sparkContext._gateway  # noqa: SLF001 (pyspark has no public way to its gateway)
    sync_below = syncing(session, name) if settings.disk_sync else None
    return Catalog(java, gateway, name, tables_at_once(session, name), sync_below)
