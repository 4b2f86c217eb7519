"""What frazil starts with where nobody says otherwise: its catalog, its jars, its JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Final

EMBEDDED: Final = "frazil"
"""The catalog used when the user configured none: Iceberg's JDBC catalog on a SQLite file."""

DEFAULT_NAMESPACE: Final = "public"
PACKAGES: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,org.xerial:sqlite-jdbc:3.50.3.0"
COMPILER: Final = "-XX:TieredStopAtLevel=1"
"""Our JVMs schedule and commit; the work is in Python and DuckDB. The quick compiler starts seconds sooner and leaves
the cores to the tasks."""

CATALOGS: Final = "spark.sql.catalog."
"""How the keys of catalogs begin."""

SPARK_CATALOG: Final = "org.apache.iceberg.spark.SparkCatalog"
"""Iceberg's catalog in Spark, which is one of Iceberg's own under a name."""


def embedded_catalog(home: Path) -> dict[str, str]:
    """The Spark configuration of the embedded catalog below `home`."""
    root = home.resolve()
    catalog = CATALOGS + EMBEDDED
    return {
        catalog: SPARK_CATALOG,
        f"{catalog}.type": "jdbc",
        # Readers and rival writers in other processes wait for the lock instead of failing at once.
        f"{catalog}.uri": f"jdbc:sqlite:{root / 'catalog.db'}?journal_mode=WAL&busy_timeout=20000",
        f"{catalog}.warehouse": f"file://{root / 'warehouse'}",
        f"{catalog}.jdbc.schema-version": "V1",
        # Another process may commit at any time: a cached table would answer with what was.
        f"{catalog}.cache-enabled": "false",
    }
