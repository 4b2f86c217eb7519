"""Connectors on the Spark session of all tests, and their tables read back by others' eyes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from tests.support.connectors import KAFKA_JSON
from tests.support.streams import reading

from frazil import Connector
from frazil.dev.kafka import KafkaBroker
from frazil.dev.kinesis import LocalKinesis
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing import iceberg
from frazil.testing.oracle import verify
from frazil.testing.report import OracleReport

Connect = Callable[..., Connector]


@pytest.fixture
def connect(spark: SparkSession, lake: Path, broker: KafkaBroker) -> Iterator[Connect]:
    """Start connectors: `connect(topic, name="x", **{"errors.tolerance": "all"})`; all are stopped at the end."""
    started: list[Connector] = []

    def start(topic: str, name: str | None = None, *, begin: bool = True, **settings: str) -> Connector:
        configuration = {
            "name": name or f"to_{topic}",
            "topics": topic,
            "bootstrap.servers": broker.bootstrap_servers,
            "frazil.home": str(lake),
            "frazil.commit.interval.ms": "100",
            **KAFKA_JSON,
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


@pytest.fixture(scope="module")
def kinesis() -> Iterator[LocalKinesis]:
    """A local stream without quotas; modules that need another one have their own."""
    with LocalKinesis(quotas=False) as running:
        yield running


@pytest.fixture
def stream(kinesis: LocalKinesis) -> str:
    """A stream of two shards."""
    name = f"s_{uuid4().hex[:8]}"
    kinesis.provide(name, shards=2)
    return name


@pytest.fixture
def follow_stream(spark: SparkSession, lake: Path) -> Iterator[Connect]:
    """Start connectors on streams: `follow_stream(kinesis, stream, **settings)`; all are stopped at the end."""
    started: list[Connector] = []

    def start(kinesis: LocalKinesis, stream: str, **settings: str) -> Connector:
        connector = Connector.from_properties(reading(kinesis, stream, lake, **settings), spark)
        started.append(connector)
        connector.start()
        return connector

    yield start
    for connector in started:
        connector.stop()


Say = Callable[[str], list[dict[str, object]]]


@pytest.fixture
def say(spark: SparkSession, lake: Path) -> Iterator[Say]:
    """Type a statement into `frazil sql`: `say("SHOW PIPES")` gives its rows."""
    catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)
    with Engine(catalog, lambda: spark) as engine:
        yield lambda text: engine.answer(text).batches.read_all().to_pylist()
