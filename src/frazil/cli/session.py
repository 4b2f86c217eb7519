"""Spark sessions of the commands: started with something to look at, and with Spark's chatter in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from frazil.cli.console import jvm_output_to
from frazil.errors import FrazilError, ProgramMissing
from frazil.tables.session import open_session


def start_spark(home: Path, master: str | None, extra: Mapping[str, str], console: Console) -> SparkSession:
    """Start Spark for a command.

    Raises:
        ProgramMissing: the JVM did not start; the message names the log.
        SparkConnectRefused: Spark was told to make a Spark Connect session.
    """
    log = home / "logs" / "spark.log"
    with console.status("Starting Spark (the first time it fetches Iceberg's jars) …"), jvm_output_to(log):
        try:
            return open_session(home, master, extra)
        except FrazilError:
            raise
        except Exception as error:
            remedy = f"See {log}; frazil needs Java 17 or newer on PATH or in JAVA_HOME."
            raise ProgramMissing("Spark's JVM", f"did not start ({type(error).__name__})", remedy) from error
