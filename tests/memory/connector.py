"""One connector over what is in memory: its cycles alone, or with the thread that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from pyspark.sql import SparkSession
from tests.memory.catalog import MemoryCatalog
from tests.memory.source import MemoryCluster, MemorySource
from tests.memory.staging import MemoryStaging

from frazil.config import ConnectorSettings
from frazil.config.kafka import KafkaSettings
from frazil.connector import Connector
from frazil.cycle import Ingestion
from frazil.cycle.destinations import Routing, destinations
from frazil.model import Buffer
from frazil.sources.kafka.initial_offsets import StartPolicy


def ingestion(
    settings: ConnectorSettings,
    cluster: MemoryCluster,
    catalog: MemoryCatalog,
    buffer: Buffer | None = None,
    routing: Routing = destinations,
) -> Ingestion:
    """The cycles of one connector, as one process runs them; several may share a cluster and a catalog."""
    ends = MemoryEnds(settings, cluster, catalog)
    return Ingestion(settings, ends.catalog(), ends.source(), ends.job, buffer, routing)


def connector(settings: ConnectorSettings, cluster: MemoryCluster, catalog: MemoryCatalog) -> Connector:
    """A connector that can be started; functions cannot follow it, for there are no DataFrames."""
    without_spark = cast("SparkSession", None)
    return Connector(settings, without_spark, MemoryEnds(settings, cluster, catalog))


class MemoryEnds:
    """What a connector reads, stages with and writes to; see `frazil.connector.ends.Ends`."""

    def __init__(self, settings: ConnectorSettings, cluster: MemoryCluster, catalog: MemoryCatalog) -> None:
        self._settings = settings
        self._cluster = cluster
        self._catalog = catalog
        self.job = MemoryStaging(cluster, catalog.files)

    def source(self) -> MemorySource:
        """The topics of the connector."""
        settings, own = self._settings, self._settings.source
        assert isinstance(own, KafkaSettings)
        policy = StartPolicy(
            settings.key,
            settings.name,
            own.group_id,
            own.bootstrap_servers,
            settings.on_table_missing,
            settings.on_table_replaced,
        )
        return MemorySource(self._cluster, policy, own.topics, own.topics_regex, own.auto_offset_reset)

    def catalog(self) -> MemoryCatalog:
        """The catalog."""
        return self._catalog

    def in_thread(self, target: Callable[[], None]) -> Callable[[], None]:
        """The target as it is."""
        return target

    def answers(self) -> bool:
        """Memory is always there."""
        return True
