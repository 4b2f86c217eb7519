"""Start Spark's JVM so that nobody else on the machine sees its settings.

pyspark would put every setting on the command line of the JVM and of the programs that start it, where `ps` shows it to
everybody. Spark reads the same settings from a file; this one is the account's own, and gone once they are read.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import javaproperties
from pyspark import SparkContext

from frazil.tables.jvm import spark_defaults


def launch(settings: Mapping[str, str]) -> None:
    """Start the JVM, unless it runs.

    Args:
        settings: all `spark.*` settings it starts with, those of `spark_defaults.settings` included: Spark reads no
            other file.
    """
    if SparkContext._gateway is not None:  # noqa: SLF001 (pyspark has no public way to its JVM)
        return
    # Its mode is 0600 whatever the umask.
    with tempfile.NamedTemporaryFile("w", prefix="frazil-", suffix=".properties", encoding="ascii") as file:
        javaproperties.dump(settings, file, timestamp=False)
        file.flush()
        with _submitting(["--properties-file", file.name, *spark_defaults.submitted().others]):
            SparkContext._ensure_initialized()  # noqa: SLF001


@contextmanager
def _submitting(arguments: Sequence[str]) -> Iterator[None]:
    """Have pyspark give spark-submit these arguments, instead of those in the environment, which the JVM inherits."""
    before = os.environ.get(spark_defaults.SUBMIT_ARGUMENTS)
    os.environ[spark_defaults.SUBMIT_ARGUMENTS] = shlex.join(arguments)
    try:
        yield
    finally:
        if before is None:
            del os.environ[spark_defaults.SUBMIT_ARGUMENTS]
        else:
            os.environ[spark_defaults.SUBMIT_ARGUMENTS] = before
