"""A JVM without Spark, reached through py4j, which ends with the process that started it, however that ends."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from py4j.java_gateway import GatewayParameters, JavaGateway

from frazil.errors import ProgramMissing
from frazil.tables.defaults import COMPILER
from frazil.tables.jvm import spark_defaults
from frazil.tables.jvm.spark_home import java

_MEMORY: Final = re.compile(r"[0-9]+[kmgKMG]")
_COLLECTOR: Final = re.compile(r"-XX:[+-]Use\w+GC\b")

_OPTIONS: Final = (
    COMPILER,
    f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
)
# It listens on 127.0.0.1, and says on its standard output, which only we read, at which port and with what token.
_SERVER: Final = ("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0")


class PlainJvm:
    """A JVM of our own; with `end` it is gone, and without it as soon as nobody holds its standard input."""

    def __init__(self, class_path: Sequence[str], options: Sequence[str], log: Path) -> None:
        """Start it; what it complains of goes to the end of the file `log`.

        Raises:
            ProgramMissing: there is no Java.
        """
        self._log = log
        command = [java(), "-cp", os.pathsep.join(class_path), *_OPTIONS, *options, *_SERVER]
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("ab") as errors:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    # What is meant for spark-submit may have secrets.
                    env={key: text for key, text in os.environ.items() if key != spark_defaults.SUBMIT_ARGUMENTS},
                    # Ctrl-C is for us to answer: a commit may be under way.
                    process_group=0,
                )
        except OSError as error:
            raise self._missing(f"cannot be started ({error})") from error
        self._gateway: Any = None

    @property
    def gateway(self) -> Any:
        """py4j's, which reaches it; waits until the JVM is there.

        Raises:
            ProgramMissing: it did not start; the message names the log.
        """
        if self._gateway is None:
            said = self._process.stdout
            assert said is not None  # noqa: S101 (it was asked for)
            port, token = said.readline().strip(), said.readline().strip()
            # What else a library prints is for nobody, and must not have it wait for a reader.
            said.close()
            if not port.isdigit() or not token:
                raise self._missing("did not start")
            parameters = GatewayParameters(port=int(port), auth_token=token.decode(), auto_convert=True)
            self._gateway = JavaGateway(gateway_parameters=parameters)
        return self._gateway

    def end(self) -> None:
        """End it at once: what was asked of it is done, or is not wanted any more."""
        self._forget()
        self._process.kill()
        self._process.wait()

    def finish(self, seconds: float) -> None:
        """Have it end by itself, as one does that writes an archive of its classes.

        Raises:
            subprocess.TimeoutExpired: it takes longer; it is ended then.
        """
        self._forget()
        try:
            self._process.communicate(timeout=seconds)
        finally:
            self.end()

    def _forget(self) -> None:
        """Stop telling it of objects that Python no longer needs."""
        if self._gateway is not None:
            self._gateway._gateway_client.is_connected = False  # noqa: SLF001 (py4j's own way tells the JVM first)

    def _missing(self, found: str) -> ProgramMissing:
        return ProgramMissing(
            "a JVM", found, f"See {self._log}; frazil needs Java 17 or newer on PATH or in JAVA_HOME."
        )


def jvm_options(settings: Mapping[str, str], archive: str) -> list[str]:
    """The options of a JVM: frazil's, those on an archive of classes, and what Spark's settings say of the driver's."""
    memory = settings.get("spark.driver.memory", "1g")
    theirs = " ".join(settings.get(f"spark.driver.{key}JavaOptions", "") for key in ("default", "extra"))
    return [
        f"-Xmx{memory if _MEMORY.fullmatch(memory) else '1g'}",
        # Of the collectors the one that starts soonest; a JVM that is given two does not start.
        *(() if _COLLECTOR.search(theirs) else ("-XX:+UseSerialGC",)),
        *shlex.split(f"{archive} {theirs}"),
    ]
