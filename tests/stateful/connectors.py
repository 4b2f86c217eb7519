"""Connectors over a world in memory: real cycles, in the order in which a connector's thread runs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from tests.memory import MemoryCatalog, MemoryCluster, MemoryRecord, ingestion
from tests.stateful.actors import Actor, reach
from tests.stateful.logs import LogHistory

from frazil.config import ConnectorSettings, load
from frazil.cycle import Ingestion
from frazil.cycle.destinations import Destinations, Routing, destinations
from frazil.errors import BrokerUnavailable, CatalogUnavailable, Fenced, FrazilError, Terminal, Transient
from frazil.model import Buffer, SourcePartition, TableName
from frazil.sources.base import TopicFacts
from frazil.tables.base import TableCatalog


class World:
    """What connectors share: a cluster, a catalog, a clock, and what only the judge of the law may know."""

    def __init__(self) -> None:
        self.now = 1000.0
        """The time that really goes by, in seconds."""

        self.ahead = 1_760_000_000.0
        """By how much the clock that all have is set."""

        self._ticks = 0
        self.cluster = MemoryCluster()
        self.catalog = MemoryCatalog(self._tick, monotonic=lambda: self.now)
        self.cluster.on_request = self._broker
        self.catalog.on_request = self._lake
        self.catalog.on_table_request = self._table
        self.broken: set[TableName] = set()
        """Tables whose every request fails."""

        self.broker_failures = 0
        """Requests to the broker that fail from now on."""

        self.catalog_failures = 0
        self.logs: defaultdict[tuple[str, SourcePartition], LogHistory] = defaultdict(LogHistory)
        """Every record there ever was, by topic id and partition."""

        self.compacted: set[tuple[str, SourcePartition, int]] = set()
        self.running: Runner | None = None
        """Whose code runs now."""

    def produce(self, partition: SourcePartition, *records: MemoryRecord | None) -> None:
        """Append records and remember them."""
        log = self.cluster.log(partition)
        first = log.append(*records)
        written = {offset: record for offset, record in log.records.items() if offset >= first}
        self.logs[self.cluster.topics[partition.topic].id, partition].append(written, log.latest)

    def truncate(self, partition: SourcePartition, end: int) -> None:
        """Lose the end of a log, which then has another leader."""
        log = self.cluster.log(partition)
        log.truncate(end)
        self.logs[self.cluster.topics[partition.topic].id, partition].truncate(log.latest)

    def compact(self, partition: SourcePartition, offset: int) -> None:
        """Make a gap of a record: from now on it may be in a table or not."""
        self.cluster.log(partition).compact(offset)
        self.compacted.add((self.cluster.topics[partition.topic].id, partition, offset))

    @property
    def clock(self) -> float:
        """What the clock says, in seconds since the epoch."""
        return self.now + self.ahead

    def _tick(self) -> float:
        """What it says when a table changes: no two changes are in one millisecond."""
        self._ticks += 1
        return self.clock + self._ticks / 1000

    def _broker(self, request: str) -> None:
        reach(request)
        if self.broker_failures:
            self.broker_failures -= 1
            raise BrokerUnavailable("memory", request, "it is down")

    def _lake(self, request: str) -> None:
        reach(request)
        if self.catalog_failures:
            self.catalog_failures -= 1
            raise CatalogUnavailable(request, "it is down")

    def _table(self, request: str, name: TableName) -> None:
        if name in self.broken:
            raise TableBroken(f"{request} {name}", "it is broken")


class TableBroken(CatalogUnavailable):
    """A request about a table that is broken while others are not."""


class Runner:
    """One process that runs a connector: opens it, runs its cycles, tries again, and ends as a connector does."""

    def __init__(
        self, world: World, settings: ConnectorSettings, buffer: Buffer | None, routing: Routing = destinations
    ) -> None:
        self.settings = settings
        self._routing = routing
        self.lost: list[tuple[SourcePartition, int, int]] = []
        """What it said that retention deleted: first and last offset."""

        self.replaced: list[tuple[SourcePartition, int, int]] = []
        """What it said that truncations gave to other records: first and last offset."""

        self.forgotten: list[tuple[SourcePartition, int, int]] = []
        """Those of them of which the log has forgotten where they begin."""

        self.error: FrazilError | None = None
        """Why it is trying again, or has ended."""

        self.ingestion: Ingestion | None = None
        self._world = world
        self._buffer = buffer
        self._actor: Actor | None = None

    @property
    def ended(self) -> bool:
        """Whether it has ended for good."""
        return isinstance(self.error, Terminal)

    @property
    def stands(self) -> bool:
        """Whether it stands within a turn."""
        return self._actor is not None and not self._actor.done

    @property
    def held_up(self) -> bool:
        """Whether one broken table keeps others from going on that could."""
        if self.stands or not isinstance(self.error, TableBroken) or self.ingestion is None:
            return False
        left_out = self.ingestion.failing.keys() | self._world.broken
        # A topic's own table waits for those of its values to be made.
        broken = [name.name for name in self._world.broken if self.settings.route_field]
        return any(
            name not in left_out and not any(each.startswith(f"{name.name}_") for each in broken)
            for name in self.ingestion.tables
        )

    @property
    def owner(self) -> str | None:
        """Its owner id, once it has opened."""
        return self.ingestion._opener.owner if self.ingestion else None

    def go(self, until: str | None = None) -> None:
        """Begin a turn, or go on with the one begun, up to a point or to its end."""
        if self._actor is None or self._actor.done:
            self._actor = Actor(self._turn)
        self._world.running = self
        self._actor.go(until)

    def crash(self) -> None:
        """Die where it stands."""
        if self._actor is not None:
            self._actor.crash()

    def _turn(self) -> None:
        """What `Connector._ingest` does until it sleeps, and what `Connector._run` makes of errors."""
        try:
            if self.ingestion is None:
                self.ingestion = self._open()
            elif self.error is not None:
                self.ingestion.recall()
            report = self.ingestion.cycle()
            self.error = report.failure
        except FrazilError as error:
            assert isinstance(error, Terminal | Transient), error  # noqa: PT017 (the machine goes on with it)
            self.error = error

    def _open(self) -> Ingestion:
        opening = ingestion(self.settings, self._world.cluster, self._world.catalog, self._buffer, self._routing)
        opening.discover()
        return opening


def routed(settings: ConnectorSettings, catalog: TableCatalog, topics: Sequence[TopicFacts]) -> Destinations:
    """Every topic feeds a table of its own, and all topics feed one more."""
    own = destinations(settings, catalog, topics)
    name = next(iter(own.topics)).namespace
    return Destinations({**own.topics, TableName(name, "ALL"): list(topics)}, own.errors)


@cache
def configured(name: str, table: str | None, options: tuple[tuple[str, str], ...]) -> ConnectorSettings:
    """The settings of a connector that reads the topics `a` and `b`, into one table if it is named; or into `to_$1`."""
    given: Mapping[str, str] = {
        "name": name,
        "connector.class": "frazil.KafkaConnector",
        "topics.regex": "[ab]",
        "bootstrap.servers": "memory:9092",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **({"snowflake.topic2table.map": f"([ab]):{table}"} if table else {}),
        **dict(options),
    }
    return load(given)


def is_fenced(runner: Runner) -> bool:
    """Whether a newer opener stopped it."""
    return isinstance(runner.error, Fenced)
