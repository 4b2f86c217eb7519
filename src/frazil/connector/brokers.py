"""How to ask the brokers of a connector that somebody else runs, or nobody."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.connector.registered import Registered
from frazil.errors import ResetRefused
from frazil.sources import kinds
from frazil.sources.base import Source

if TYPE_CHECKING:
    from frazil.config import ConnectorSettings


class Brokers:
    """Finds a connector's brokers: in its file, if that is given, else in what the home knows of its last run."""

    def __init__(self, file: Path | None = None, worker: Path | None = None) -> None:
        self._settings = _load(file, worker) if file else None

    @contextmanager
    def source(self, connector: str, registered: Registered | None, topics: Collection[str]) -> Iterator[Source]:
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
        if settings is not None:
            kind, client = settings.source.kind, settings.source.client
        elif registered is not None:
            kind, client = registered.source, registered.client()
        else:
            raise ResetRefused(
                f"where {connector} reads from is not known here",
                "Name its file: --connector FILE, and --worker FILE if that says where.",
            )
        source = kinds.observe(kind, client, topics)
        try:
            yield source
        finally:
            source.close()


def _load(file: Path, worker: Path | None) -> ConnectorSettings:
    # Whoever asks for no broker need not wait a quarter of a second for all there is to configure.
    from frazil.config import load

    return load(file, worker)
