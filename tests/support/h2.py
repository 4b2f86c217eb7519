"""A catalog's database over TCP: H2 in server mode, fetched once per user with the Ivy inside pyspark."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.jars import fetched

from frazil.dev.java import require_java
from frazil.dev.ports import LOOPBACK, answers, free_port
from frazil.testing.topics import wait_until

VERSION = "2.3.232"


def h2_jar() -> Path:
    """The database and its JDBC driver, in one jar."""
    return fetched("com.h2database", "h2", VERSION)


class Database:
    """An H2 server that keeps its databases in `directory`, and can be stopped and started on it again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"{LOOPBACK}:{self._port}"

    def start(self) -> None:
        """Start it, if it does not run."""
        if self._process is not None:
            return
        options = ["-tcp", "-tcpPort", str(self._port), "-baseDir", str(self._directory), "-ifNotExists"]
        command = [require_java(), f"-Dh2.bindAddress={LOOPBACK}", "-cp", str(h2_jar()), "org.h2.tools.Server"]
        null = subprocess.DEVNULL
        self._process = subprocess.Popen([*command, *options], stdout=null, stderr=null)
        wait_until(lambda: answers(self._port) or self._ended(), "the database to answer")
        assert not self._ended(), "the database ended"

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    @classmethod
    @contextmanager
    def running(cls, directory: Path) -> Iterator[Database]:
        """One that runs for the time of the block."""
        database = cls(directory)
        database.start()
        try:
            yield database
        finally:
            database.stop()
