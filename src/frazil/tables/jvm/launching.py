"""Start Spark's JVM without showing its settings to other accounts of the machine.

pyspark would put every setting on the command line of the JVM and of the programs that start it, where `ps` shows it to
every account. Spark reads the same settings from a file. This one is in memory only, open to this account alone, and
gone with this process, however it ends.

pyspark's own JVM also dies of a SIGTERM that a service manager sends to every process of the service. This one ignores
it: a commit may be under way. It ends when this process does, which holds its standard input.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import javaproperties
from pyspark import SparkContext
from pyspark.serializers import UTF8Deserializer, read_int

from frazil.errors import ProgramMissing
from frazil.tables.jvm import spark_defaults
from frazil.tables.jvm.spark_home import spark_home

_DEAF: Final = ("sh", "-c", """trap '' INT TERM; exec "$@" """, "sh")
"""Begins a command that ignores signals, as a JVM does that inherits it."""

_LOOK_EVERY: Final = 0.05
"""Seconds between two looks at whether the JVM listens."""


def launch(settings: Mapping[str, str]) -> None:
    """Start the JVM, unless it runs.

    Args:
        settings: all `spark.*` settings it starts with, those of `spark_defaults.settings` included: Spark reads no
            other file.

    Raises:
        ProgramMissing: the JVM ended before it listened.
    """
    if SparkContext._gateway is not None:  # noqa: SLF001 (pyspark has no public way to its JVM)
        return
    if spark_defaults.is_submitted():
        SparkContext._ensure_initialized()  # noqa: SLF001
        return
    with os.fdopen(os.memfd_create("frazil.properties"), "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        javaproperties.dump(settings, file, timestamp=False)
        file.flush()
        # spark-submit and the JVM both read it, each from the start: an inherited descriptor would share its position.
        path = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        process, port, secret = _submit(["--properties-file", path, *spark_defaults.submitted().others])
    with _listening_at(port, secret):
        SparkContext._ensure_initialized()  # noqa: SLF001
    vars(SparkContext._gateway)["proc"] = process  # noqa: SLF001 (as where pyspark has started it)


def _submit(arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], int, str]:
    """Have spark-submit start the JVM; the process, the port where it listens and the secret it asks for."""
    with tempfile.TemporaryDirectory(prefix="frazil-") as directory:
        listening = Path(directory, "listening")
        environment = {name: text for name, text in os.environ.items() if name != spark_defaults.SUBMIT_ARGUMENTS}
        environment |= {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(listening)}
        command = [*_DEAF, str(spark_home() / "bin" / "spark-submit"), *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
        while not listening.exists():
            if process.poll() is not None:
                raise ProgramMissing(
                    "Spark's JVM", f"ended with status {process.returncode}", "Its standard error says why."
                )
            time.sleep(_LOOK_EVERY)
        with listening.open("rb") as file:
            return process, read_int(file), UTF8Deserializer().loads(file)


@contextmanager
def _listening_at(port: int, secret: str) -> Iterator[None]:
    """Have pyspark connect to a JVM that runs."""
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    try:
        yield
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
