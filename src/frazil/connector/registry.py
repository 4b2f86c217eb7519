"""Which connectors ran from a home, so that `frazil channels` can tell their state and reach their brokers.

Nothing correct depends on it: tokens are in the tables. No secret is kept, only the paths of the files that hold them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import structlog

from frazil.connector import machine
from frazil.connector.recording import Recorder
from frazil.connector.registered import HeldPartition, LeftOut, Registered, WaitingOutput, parse
from frazil.connector.states import State

if TYPE_CHECKING:
    from frazil.config import ConnectorSettings

_log = structlog.get_logger(__name__)


class Registry:
    """The connectors of one home, a small JSON file each."""

    def __init__(self, home: Path) -> None:
        self._directory = home / "connectors"

    def recorder(
        self,
        settings: ConnectorSettings,
        connector: Path | None,
        worker: Path | None,
        left_out: Callable[[], tuple[LeftOut, ...]] = tuple,
        held: Callable[[], tuple[HeldPartition, ...]] = tuple,
        waiting_outputs: Callable[[], tuple[WaitingOutput, ...]] = tuple,
    ) -> Recorder:
        """What records the connector's state, called with each; it raises nothing.

        Args:
            settings: the connector's.
            connector: its file, if it has one.
            worker: the worker's, likewise.
            left_out: gives the tables that are left out by then.
            held: gives the partitions that wait for somebody.
            waiting_outputs: gives the accepted records that wait to be sent on.
        """
        entry = Registered(
            name=settings.name,
            key=settings.key,
            source=settings.source.kind,
            public_client=settings.source.public_client,
            connector=str(connector.resolve()) if connector else None,
            worker=str(worker.resolve()) if worker else None,
            state=State.STOPPED,
            pid=os.getpid(),
            started=psutil.Process().create_time(),
            host=machine.host(),
            space=machine.process_space(),
            application=settings.source.identity,
            topic2table=str(settings.topic2table),
            topic2table_regex=settings.topic2table_regex,
            routers=tuple((each.name, each.options) for each in settings.routers or ()),
            sanitizes=settings.sanitize_table_names,
        )
        return Recorder(self._directory / f"{settings.key}.json", entry, left_out, held, waiting_outputs)

    def connectors(self) -> dict[str, Registered]:
        """All that are registered, by key; of those whose file cannot be read, it is logged."""
        found: dict[str, Registered] = {}
        for path in sorted(self._directory.glob("*.json")):
            try:
                entry = parse(path.read_bytes())
            except (OSError, ValueError) as error:
                _log.warning("a connector's state file cannot be read", file=str(path), cause=str(error))
                continue
            found[entry.key] = entry
        return found
