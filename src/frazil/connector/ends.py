"""The two ends of a connector: the topics it reads and the catalog it writes to."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from frazil.config import ConnectorSettings
from frazil.sources.kafka.admin import KafkaSource
from frazil.tables.catalog import Catalog
from frazil.tables.session import choose_catalog, iceberg_catalog


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
    return Catalog(java, session.sparkContext._gateway, name)  # noqa: SLF001 (pyspark has no public way to its gateway)
