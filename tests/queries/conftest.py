"""An engine over a catalog of each module's own, whose tables Spark makes, and of which it is asked the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.conftest import AddCatalog
from tests.queries.tables import Tables

from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import iceberg_catalog


@pytest.fixture(scope="module")
def tables(spark: SparkSession, add_catalog: AddCatalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    """An empty catalog, and an engine over it."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    name = add_catalog({"type": "hadoop", "warehouse": str(warehouse)})
    java = iceberg_catalog(spark, name, Path("unused"))
    catalog = Catalog(java, spark.sparkContext._gateway, name)
    spark.sql(f"CREATE NAMESPACE {name}.public")
    with Engine(catalog, lambda: spark) as engine:
        yield Tables(spark, catalog, engine, warehouse)
