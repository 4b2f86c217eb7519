"""Which connectors ran from a home, so that `frazil channels` can tell their state and reach their brokers.

Nothing correct depends on it: tokens are in the tables. No secret is kept, only the paths of the files that hold them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import psutil

from frazil.config import ConnectorSettings, load
from frazil.errors import FrazilError


@dataclass(frozen=True, slots=True)
class Registered:
    """One connector that ran from a home."""

    name: str
    key: str
    bootstrap_servers: str
    isolation_level: str
    connector: str | None
    """Path of its file, None when it was configured by a program."""

    worker: str | None
    state: str
    pid: int
    started: float
    """When the process of that pid started, in seconds since the epoch: pids come again."""

    def current_state(self) -> str:
        """Its state, STOPPED when its process is gone without having said so."""
        try:
            alive = abs(psutil.Process(self.pid).create_time() - self.started) < 1
        except psutil.Error:
            alive = False
        return self.state if alive or self.state in ("FAILED", "FENCED") else "STOPPED"

    def client(self) -> Mapping[str, str]:
        """What is needed to ask its broker: from its files if they can still be read, else the plain address."""
        plain = {"bootstrap.servers": self.bootstrap_servers, "isolation.level": self.isolation_level}
        if self.connector is None:
            return plain
        try:
            return load(Path(self.connector), Path(self.worker) if self.worker else None).consumer
        except FrazilError:
            return plain


class Registry:
    """The connectors of one home, a small JSON file each."""

    def __init__(self, home: Path) -> None:
        self._directory = home / "connectors"

    def recorder(
        self, settings: ConnectorSettings, connector: Path | None, worker: Path | None
    ) -> Callable[[str], None]:
        """A function that records the connector's state."""
        started = psutil.Process().create_time()

        def record(state: str) -> None:
            entry = Registered(
                name=settings.name,
                key=settings.key,
                bootstrap_servers=settings.bootstrap_servers,
                isolation_level=settings.isolation_level,
                connector=str(connector.resolve()) if connector else None,
                worker=str(worker.resolve()) if worker else None,
                state=state,
                pid=os.getpid(),
                started=started,
            )
            self._directory.mkdir(parents=True, exist_ok=True)
            partial = self._directory / f".{settings.key}.{os.getpid()}"
            partial.write_bytes(orjson.dumps(asdict(entry), option=orjson.OPT_INDENT_2))
            partial.replace(self._directory / f"{settings.key}.json")

        return record

    def connectors(self) -> dict[str, Registered]:
        """All that are registered, by key."""
        entries = (orjson.loads(path.read_bytes()) for path in sorted(self._directory.glob("*.json")))
        return {entry["key"]: Registered(**entry) for entry in entries}
