"""Where the connector lives: a broker behind a proxy, an embedded catalog, and somebody else with a Spark session."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyspark.sql import SparkSession
from tests.soak.watch import Watch
from tests.support.connectors import KAFKA_JSON
from tests.support.proxy import Proxy

from frazil.cli.console import jvm_output_to
from frazil.config import load
from frazil.dev.kafka import KafkaBroker
from frazil.dev.ports import LOOPBACK, free_port
from frazil.tables.jvm.session import open_session
from frazil.testing.topics import create_topic

TOPIC = "soak"
STEADY = 3
"""Partitions of good records; one more is for transactions."""

CONNECTOR = {
    "name": "soak",
    "topics": TOPIC,
    **KAFKA_JSON,
    "errors.tolerance": "all",
    "behavior.on.null.values": "ignore",
    "consumer.override.isolation.level": "read_committed",
    "frazil.commit.interval.ms": "500",
}


class Habitat:
    """Everything around the connector, below one directory; for the time of a `with` block."""

    def __init__(self, directory: Path) -> None:
        """Put it below `directory`."""
        port = free_port()
        self.directory = directory
        self.broker = KafkaBroker(directory / "kafka", proxied=f"{LOOPBACK}:{port}")
        self.proxy = Proxy(self.broker.proxied_servers, port)
        self.connector = directory / "soak.properties"
        """The connector's file."""

        self.home = directory / "home"
        self.table = "frazil.public.SOAK"
        """As the other's SQL calls it."""

        settings = {**CONNECTOR, "bootstrap.servers": self.proxy.address, "frazil.home": str(self.home)}
        directory.mkdir(parents=True, exist_ok=True)
        self.connector.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self.key = load(self.connector).key
        self.watch = Watch(self.home / "catalog.db", "public", "SOAK", self.key)
        self._other: SparkSession | None = None

    def __enter__(self) -> Self:
        self.broker.start()
        self.proxy.__enter__()
        create_topic(self.broker.bootstrap_servers, TOPIC, STEADY + 1)
        with jvm_output_to(self.directory / "other.log"):
            self._other = open_session(self.home, "local[2]", {"spark.driver.memory": "768m"})
            self.sql("CREATE NAMESPACE frazil.public")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._other is not None:
            self._other.stop()
        self.proxy.__exit__(kind, error, trace)
        self.broker.stop()

    def sql(self, statement: str) -> list[Mapping[str, Any]]:
        """Have the other one, who knows nothing of frazil, run a statement on the catalog."""
        assert self._other is not None
        return [row.asDict() for row in self._other.sql(statement).collect()]

    @contextmanager
    def locked_catalog(self) -> Iterator[None]:
        """Nobody else can commit to any table in this block."""
        with closing(sqlite3.connect(self.home / "catalog.db", timeout=30, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                database.execute("ROLLBACK")


def now_in_sql() -> str:
    """This moment as a timestamp literal of Spark's, whose session is in UTC."""
    return time.strftime("TIMESTAMP '%Y-%m-%d %H:%M:%S'", time.gmtime())
