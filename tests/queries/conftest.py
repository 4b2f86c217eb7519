"""One Spark session that makes tables and is asked the same, and an engine over a catalog of each module's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.queries.tables import Tables

from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import iceberg_catalog, open_session

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = open_session(tmp_path_factory.mktemp("home"), "local[2]", {})
    yield session
    session.stop()


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    """An empty catalog, and an engine over it."""
    # Spark keeps what it first found under a name.
    name, warehouse = f"queries{next(_numbers)}", tmp_path_factory.mktemp("warehouse")
    spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in {"type": "hadoop", "warehouse": str(warehouse), "cache-enabled": "false"}.items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    java = iceberg_catalog(spark, name, Path("unused"))
    catalog = Catalog(java, spark.sparkContext._gateway, name)
    spark.sql(f"CREATE NAMESPACE {name}.public")
    with Engine(catalog, lambda: spark) as engine:
        yield Tables(spark, catalog, engine, warehouse)
