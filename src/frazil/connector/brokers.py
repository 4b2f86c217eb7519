"""How to ask the brokers of a connector that somebody else runs, or nobody."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from frazil.connector.registered import Registered
from frazil.errors import ResetRefused
from frazil.sources.kafka.source import KafkaSource

if TYPE_CHECKING:
    from frazil.config import ConnectorSettings

_GROUP = "frazil-channels"
"""A group that is never joined and commits nothing."""


class Brokers:
    """Finds a connector's brokers: in its file, if that is given, else in what the home knows of its last run."""

    def __init__(self, file: Path | None = None, worker: Path | None = None) -> None:
        self._settings = _load(file, worker) if file else None

    @contextmanager
    def source(self, connector: str, registered: Registered | None, topics: Collection[str]) -> Iterator[KafkaSource]:
        """The topics of a connector, by its key.

        Raises:
            ResetRefused: its brokers are not known, or the file is another connector's.
        """
        settings = self._settings
        if settings is not None and settings.key != connector:
            raise ResetRefused(
                f"the file given describes the connector {settings.name}, not {connector}",
                "Give --connector the file of the connector that is to be reset.",
            )
        known = settings or registered
        if known is None:
            raise ResetRefused(
                f"the brokers of {connector} are not known here",
                "Name its file: --connector FILE, and --worker FILE if that has bootstrap.servers.",
            )
        client = settings.consumer if settings else registered.client() if registered else {}
        source = source_of(client, topics, known.isolation_level)
        try:
            yield source
        finally:
            source.close()


def source_of(client: Mapping[str, str], topics: Collection[str], isolation: str) -> KafkaSource:
    """A source that only looks."""
    level: Literal["read_uncommitted", "read_committed"] = (
        "read_committed" if isolation == "read_committed" else "read_uncommitted"
    )
    return KafkaSource(client, _GROUP, tuple(topics), None, "earliest", level)


def _load(file: Path, worker: Path | None) -> ConnectorSettings:
    # Whoever asks for no broker need not wait a quarter of a second for all there is to configure.
    from frazil.config import load

    return load(file, worker)
