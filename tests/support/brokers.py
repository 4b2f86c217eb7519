"""Brokers of tests: such as live for minutes, and the one that all processes of a run share."""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

from frazil.dev.kafka import KafkaBroker, serves_metadata
from frazil.testing.topics import FAST_CLEANING, wait_until

_FETCHED_WITHIN: Final = 300.0
"""Seconds a broker may take that has to fetch its jars."""


def short_lived(directory: Path, port: int = 0, **options: Any) -> KafkaBroker:
    """A broker whose JVM compiles with little effort, and so starts at half the cost."""
    return KafkaBroker(directory, port, jvm=("-Xmx512m", "-XX:TieredStopAtLevel=1"), **options)


class SharedBroker:
    """A broker that compacts and deletes quickly; it starts once any process of the run wants it.

    The process that starts the others keeps it, for it is the last to end.
    """

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="frazil-broker-"))
        self._broker = short_lived(self._directory / "broker", properties=FAST_CLEANING)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def place(self) -> tuple[str, int]:
        """What another process finds it by."""
        return str(self._broker.directory), self._broker.port

    def end(self) -> None:
        """Stop it and remove what it wrote."""
        self._ended.set()
        self._thread.join()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _serve(self) -> None:
        while not self._ended.wait(0.1):
            if _wanted(self._broker.directory).exists():
                with self._broker:
                    self._ended.wait()


def found(place: tuple[str, int]) -> KafkaBroker:
    """The shared broker, in a process that did not start it."""
    directory, port = place
    broker = KafkaBroker(Path(directory), port)
    _wanted(broker.directory).touch()
    wait_until(lambda: serves_metadata(broker.bootstrap_servers), "the broker of all tests", _FETCHED_WITHIN)
    return broker


def _wanted(directory: Path) -> Path:
    return directory.with_name("wanted")
