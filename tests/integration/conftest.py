"""One Spark session for all tests of this folder, connectors on it, and their tables read back by others' eyes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.h2 import h2_jar
from tests.jars import fetched

from frazil import Connector
from frazil.dev.kafka import KafkaBroker
from frazil.tables.jvm.session import open_session
from frazil.testing import iceberg
from frazil.testing.oracle import verify
from frazil.testing.report import OracleReport

Connect = Callable[..., Connector]
AddCatalog = Callable[[dict[str, str]], str]

JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def aws_bundle() -> Path:
    """What Iceberg needs for S3 and Glue."""
    return fetched("org.apache.iceberg", "iceberg-aws-bundle", "1.12.0")


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the embedded catalog that this folder's tests share; tables are named after topics."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def spark(lake: Path) -> Iterator[SparkSession]:
    """A local Spark session with the embedded catalog."""
    # The tests of outages have a catalog in that database, others have tables on S3.
    session = open_session(lake, "local[2]", {"spark.jars": f"{h2_jar()},{aws_bundle()}"})
    yield session
    session.stop()


_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def add_catalog(spark: SparkSession) -> AddCatalog:
    """Tell Spark of one more catalog, under a name nobody has used: Spark keeps what it first found there."""

    def add(settings: dict[str, str]) -> str:
        name = f"remote{next(_numbers)}"
        spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
        for key, value in {"cache-enabled": "false", **settings}.items():
            spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
        return name

    return add


@pytest.fixture
def connect(spark: SparkSession, lake: Path, broker: KafkaBroker) -> Iterator[Connect]:
    """Start connectors: `connect(topic, name="x", **{"errors.tolerance": "all"})`; all are stopped at the end."""
    started: list[Connector] = []

    def start(topic: str, name: str | None = None, *, begin: bool = True, **settings: str) -> Connector:
        configuration = {
            "name": name or f"to_{topic}",
            "connector.class": "frazil.KafkaConnector",
            "topics": topic,
            "bootstrap.servers": broker.bootstrap_servers,
            "frazil.home": str(lake),
            "frazil.commit.interval.ms": "100",
            **JSON,
            **settings,
        }
        connector = Connector.from_properties(configuration, spark)
        started.append(connector)
        if begin:
            connector.start()
        return connector

    yield start
    for connector in started:
        connector.stop()


@pytest.fixture
def rows(spark: SparkSession) -> Callable[[str], list[dict[str, Any]]]:
    """A topic's table as Spark reads it, ordered by partition and offset, structs and variants as parsed JSON."""

    def read(topic: str) -> list[dict[str, Any]]:
        table = f"frazil.public.{topic.upper()}"
        texts = spark.sql(
            f"SELECT to_json(struct(*), map('ignoreNullFields', 'false')) AS row FROM {table} "
            "ORDER BY RECORD_METADATA.partition, RECORD_METADATA.offset"
        ).collect()
        return [json.loads(text["row"]) for text in texts]

    return read


@pytest.fixture
def judge(lake: Path) -> Callable[..., OracleReport]:
    """The oracle's verdict on a topic's table."""

    def look(connector: Connector, topic: str, **known: Any) -> OracleReport:
        metadata = iceberg.current_metadata(lake / "catalog.db", "public", topic.upper())
        return verify(metadata, connector.settings.key, topic, **known)

    return look
