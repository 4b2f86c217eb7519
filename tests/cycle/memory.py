"""A connector on one topic, with broker and catalog in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.memory import MemoryCatalog, MemoryCluster, MemoryRecord, MemoryTable, ingestion

from frazil.config import ConnectorSettings, load
from frazil.cycle import Ingestion
from frazil.cycle.destinations import Destinations, Routing, destinations
from frazil.errors import CatalogUnavailable, FrazilError
from frazil.model import SourcePartition, TableName
from frazil.sources.base import TopicFacts
from frazil.tables.base import TableCatalog

TABLE = TableName(("public",), "ORDERS")


def settings(**keys: str) -> ConnectorSettings:
    """The settings of a connector `shop` on the topic `orders`; double underscores in keys stand for dots."""
    given = {
        "name": "shop",
        "connector.class": "frazil.KafkaConnector",
        "topics": "orders",
        "bootstrap.servers": "memory:9092",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    return load({**given, **{key.replace("__", "."): value for key, value in keys.items()}})


@dataclass
class World:
    """What outlives a connector."""

    cluster: MemoryCluster = field(default_factory=MemoryCluster)
    catalog: MemoryCatalog = field(default_factory=MemoryCatalog)
    routing: Routing = destinations
    """What says which tables topics feed."""

    def produce(self, count: int, partition: int = 0, topic: str = "orders") -> None:
        log = self.cluster.topics[topic].logs[partition]
        log.append(*(MemoryRecord({"id": log.latest + n}) for n in range(count)))

    def connector(self, **keys: str) -> Ingestion:
        """A process that opens the connector; it has read nothing yet."""
        return ingestion(settings(**keys), self.cluster, self.catalog, routing=self.routing)

    def run(self, **keys: str) -> Ingestion:
        """A process that opens the connector and reads what there is."""
        found = self.connector(**keys)
        found.cycle()
        return found

    @property
    def table(self) -> MemoryTable:
        return self.catalog.tables[TABLE]

    def offsets(self, partition: int = 0, topic: str = "orders") -> list[int]:
        """The offsets whose rows are in the table."""
        return sorted(row.offset for row in self.table.rows() if row.partition == SourcePartition(topic, partition))


class Feeding:
    """Has every topic feed the same tables; which ones may change between two openings."""

    def __init__(self, *tables: TableName) -> None:
        self.tables = tables

    def __call__(
        self, _settings: ConnectorSettings, _catalog: TableCatalog, topics: Sequence[TopicFacts]
    ) -> Destinations:
        return Destinations({name: list(topics) for name in self.tables})


class Trouble:
    """Fails requests about one table."""

    def __init__(self, world: World, name: TableName, *requests: str, error: FrazilError | None = None) -> None:
        self.error = error or CatalogUnavailable(f"read {name}", "its metadata file cannot be read")
        self.count = 0
        self._name, self._requests = name, requests
        world.catalog.on_table_request = self

    def __call__(self, request: str, name: TableName) -> None:
        if name == self._name and request in self._requests:
            self.count += 1
            raise self.error

    def end(self) -> None:
        self._requests = ()


class Clock:
    """The monotonic clock by which tables wait."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def orders(partition: int = 0) -> SourcePartition:
    return SourcePartition("orders", partition)


def token(found: Ingestion, partition: int = 0) -> str | None:
    """A channel's token, as the process has it."""
    (opened,) = found.tables.values()
    return opened.tokens.channel(orders(partition)).token
