"""Spark sessions of the commands: started with something to look at, and with Spark's chatter in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from frazil.cli.console import jvm_output_to
from frazil.errors import FrazilError, ProgramMissing
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.syncing import syncing
from frazil.tables.jvm.asked import Asked
from frazil.tables.jvm.session import choose_catalog, iceberg_catalog, open_session


def start_spark(home: Path, master: str | None, extra: Mapping[str, str], console: Console) -> SparkSession:
    """Start Spark for a command.

    Raises:
        ProgramMissing: the JVM did not start; the message names the log.
        SparkConnectRefused: Spark is configured to make a Spark Connect session.
    """
    log = home / "logs" / "spark.log"
    with console.status("Starting Spark (the first time it fetches Iceberg's jars) …"), jvm_output_to(log):
        remedy = f"See {log}; frazil needs Java 17 or newer on PATH or in JAVA_HOME."
        try:
            return open_session(home, master, extra)
        except ProgramMissing as error:
            raise ProgramMissing("Spark's JVM", "did not start", remedy) from error
        except FrazilError:
            raise
        except Exception as error:
            raise ProgramMissing("Spark's JVM", f"did not start ({type(error).__name__})", remedy) from error


@contextmanager
def open_session_catalog(wanted: Asked, console: Console) -> Iterator[tuple[SparkSession, Catalog]]:
    """A Spark session, and in it the catalog that is meant.

    Raises:
        ProgramMissing: the JVM did not start; the message names the log.
        SparkConnectRefused: Spark is configured to make a Spark Connect session.
        CatalogUnavailable: the catalog does not answer.
        CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
    """
    master = None if "spark.master" in wanted.spark else "local[2]"
    session = start_spark(wanted.home, master, wanted.spark, console)
    try:
        name = choose_catalog(session, wanted.catalog, wanted.database, wanted.spark)
        java = iceberg_catalog(session, name, wanted.home)
        gateway = session.sparkContext._gateway  # noqa: SLF001 (pyspark has no public way to its gateway)
        yield session, Catalog(java, gateway, name, sync_below=syncing(session, name))
    finally:
        session.stop()
