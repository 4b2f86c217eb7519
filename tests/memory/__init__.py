"""Source, staging and tables in memory: `frazil.cycle.Ingestion` runs over them in microseconds, without Spark.

Rules are the real ones; only the outside is made up. A connector on one topic:

    cluster, catalog = MemoryCluster(), MemoryCatalog()
    cluster.create_topic("orders").logs[0].append(MemoryRecord({"id": 1}))
    ingestion(settings, cluster, catalog).cycle()
    catalog.tables[TableName(("public",), "ORDERS")].rows()

What others do to the topics and tables meanwhile are methods of `MemoryCluster` and `MemoryTable`; what goes wrong is
in `MemoryCatalog.outcomes` and the `on_request` of both.
"""

from __future__ import annotations

from tests.memory.catalog import MemoryCatalog, MemoryTarget, Outcome
from tests.memory.connector import MemoryEnds, connector, ingestion
from tests.memory.source import SEQUENCES, MemoryCluster, MemoryLog, MemoryRecord, MemorySource, MemoryTopic
from tests.memory.staging import MemoryStaging
from tests.memory.table import MemoryFile, MemoryRow, MemoryTable, TableSnapshot, Unsorted

__all__ = [
    "SEQUENCES",
    "MemoryCatalog",
    "MemoryCluster",
    "MemoryEnds",
    "MemoryFile",
    "MemoryLog",
    "MemoryRecord",
    "MemoryRow",
    "MemorySource",
    "MemoryStaging",
    "MemoryTable",
    "MemoryTarget",
    "MemoryTopic",
    "Outcome",
    "TableSnapshot",
    "Unsorted",
    "connector",
    "ingestion",
]
