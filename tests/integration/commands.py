"""What `frazil run` and `frazil channels reset` do around connectors, without a process and a JVM of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from pyspark.sql import SparkSession
from tests.integration.conftest import Connect
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import write_properties

from frazil import Connector
from frazil.cli import main
from frazil.connector.adopting import Adopter
from frazil.connector.brokers import Brokers
from frazil.connector.registry import Registry
from frazil.connector.resetting import Reset, Resetter, Wanted, Where
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog


class Desk:
    """A home, the connectors that run from it, and the commands on their channels."""

    def __init__(self, spark: SparkSession, lake: Path, connect: Connect, directory: Path) -> None:
        self._spark = spark
        self._lake = lake
        self._connect = connect
        self._directory = directory
        self._registry = Registry(lake)
        self._catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)

    def run(self, topic: str, name: str, **settings: str) -> Connector:
        """Start a connector that the home knows of afterwards."""
        connector = self._connect(topic, name=name, begin=False, **settings)
        file = write_properties(
            self._directory / f"{name}.properties",
            name=name,
            topics=topic,
            bootstrap__servers=connector.settings.source.address,
            **KAFKA_JSON,
        )
        connector.on_state(self._registry.recorder(connector.settings, file, None))
        connector.start()
        return connector

    def reset(
        self,
        name: str,
        where: Where,
        *,
        topic: str | None = None,
        table: str | None = None,
        reason: str | None = None,
        dry: bool = False,
        force: bool = False,
    ) -> list[Reset]:
        resetter = Resetter(self._catalog, self._registry, Brokers())
        return resetter.reset(Wanted(name, topic, table), where, reason, dry=dry, force=force)

    def type(self, *arguments: str) -> int:
        """Run a command in this process; its exit code."""
        try:
            return main([*arguments, "--home", str(self._lake)])
        finally:
            structlog.reset_defaults()  # it logs to the standard error of the moment

    @contextmanager
    def opened(self, *_: object, **__: object) -> Iterator[Catalog]:
        """What `frazil.cli.catalogs.open_catalog` gives a command, without starting Spark again."""
        yield self._catalog

    @property
    def adopter(self) -> Adopter:
        return Adopter(self._catalog, self._registry)
