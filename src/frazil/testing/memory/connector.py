"""One connector over what is in memory."""

from __future__ import annotations

from frazil.config import ConnectorSettings
from frazil.cycle import Ingestion
from frazil.model import Buffer
from frazil.testing.memory.catalog import MemoryCatalog
from frazil.testing.memory.source import MemoryCluster, MemorySource
from frazil.testing.memory.staging import MemoryStaging


def ingestion(
    settings: ConnectorSettings, cluster: MemoryCluster, catalog: MemoryCatalog, buffer: Buffer | None = None
) -> Ingestion:
    """The cycles of one connector, as one process runs them; several may share a cluster and a catalog."""
    source = MemorySource(
        cluster, settings.group_id, settings.topics, settings.topics_regex, settings.auto_offset_reset
    )
    return Ingestion(settings, catalog, source, MemoryStaging(cluster, catalog.files), buffer)
