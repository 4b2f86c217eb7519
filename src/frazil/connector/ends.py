"""The two ends of a connector: the topics it reads and the catalog it writes to."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from frazil.config import ConnectorSettings
from frazil.sources.kafka.admin import KafkaSource
from frazil.tables.catalog import Catalog
from frazil.tables.session import choose_catalog, iceberg_catalog, tables_at_once


def source_of(settings: ConnectorSettings) -> KafkaSource:
    """The topics of a connector."""
    return KafkaSource(
        settings.consumer,
        settings.group_id,
        settings.topics,
        settings.topics_regex,
        settings.auto_offset_reset,
        settings.isolation_level,
    )


def catalog_of(settings: ConnectorSettings, session: SparkSession) -> Catalog:
    """The catalog of a connector, for the calling thread.

    Raises:
        CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
        CatalogUnavailable: it does not answer.
    """
    name = choose_catalog(session, settings.catalog, settings.database, settings.spark)
    java = iceberg_catalog(session, name, Path(settings.home))
    gateway = session.sparkContext._gateway  # noqa: SLF001 (pyspark has no public way to its gateway)
    return Catalog(java, gateway, name, tables_at_once(session, name))
