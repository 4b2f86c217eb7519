"""Start Spark's JVM without showing its settings to other accounts of the machine.

pyspark would put every setting on the command line of the JVM and of the programs that start it, where `ps` shows it to
every account. Spark reads the same settings from a file. This one is in memory only, open to this account alone, and
gone with this process, however it ends.
"""

from __future__ import annotations

import os
import shlex
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
    with os.fdopen(os.memfd_create("frazil.properties"), "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        javaproperties.dump(settings, file, timestamp=False)
        file.flush()
        # spark-submit and the JVM both read it, each from the start: an inherited descriptor would share its position.
        path = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        with _submitting(["--properties-file", path, *spark_defaults.submitted().others]):
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
