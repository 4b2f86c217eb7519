"""The catalog that `frazil channels` and `frazil sql` read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from frazil.cli.session import start_spark
from frazil.config import worker_keys
from frazil.errors import NothingSetUp
from frazil.tables.catalog import Catalog
from frazil.tables.session import choose_catalog, iceberg_catalog


@contextmanager
def open_catalog(home: Path, worker: Path | None, console: Console) -> Iterator[tuple[SparkSession, Catalog]]:
    """A Spark session and the catalog of a home, or the one a worker file configures.

    Raises:
        NothingSetUp: there is no embedded catalog in `home` and no worker file names another.
    """
    given = worker_keys(worker) if worker else {}
    spark = {key: value for key, value in given.items() if key.startswith("spark.")}
    if not spark and not (home / "catalog.db").exists():
        raise NothingSetUp(
            f"there is no catalog in {home}",
            "Run a connector first (frazil run), or name the directory it used: --home or FRAZIL_HOME.",
        )
    session = start_spark(home, "local[2]" if "spark.master" not in spark else None, spark, console)
    try:
        name = choose_catalog(session, given.get("frazil.catalog"), None, spark)
        java = iceberg_catalog(session, name, home)
        yield session, Catalog(java, session.sparkContext._gateway, name)  # noqa: SLF001 (pyspark has no public way to its gateway)
    finally:
        session.stop()
