"""When did the connector commit rows? Read from the table's own metadata, with nothing of frazil's."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frazil.testing import iceberg

_LOOK_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Landing:
    """A snapshot of the connector's with rows in it."""

    snapshot: int
    sequence: int
    time: float
    """When it was made, in seconds since the epoch."""


class Watch:
    """Looks at one table of an embedded catalog."""

    def __init__(self, catalog: Path, namespace: str, table: str, connector: str) -> None:
        """Watch a table of the SQLite file `catalog` for commits of the connector of that key."""
        self._where = (catalog, namespace, table)
        self._tokens = f"frazil.tokens.{connector}"
        self._path: Path | None = None
        self._metadata: dict[str, Any] = {}

    def metadata(self) -> Mapping[str, Any]:
        """The table's newest metadata; empty as long as there is no table."""
        try:
            path = iceberg.current_metadata(*self._where)
            if path != self._path:
                self._metadata, self._path = iceberg.read_metadata(path), path
        except (LookupError, FileNotFoundError, sqlite3.OperationalError):
            # Not created yet; or another version came between, or somebody is at it. The next look sees more.
            pass
        return self._metadata

    def sequence(self) -> int:
        """The number of the last commit to the table, whoever made it."""
        return int(self.metadata().get("last-sequence-number", 0))

    def landings(self) -> list[Landing]:
        """Those that have not expired, oldest first; rolled back or not."""
        return [self._landing(each) for each in self.metadata().get("snapshots", []) if self._is_landing(each)]

    def history(self) -> list[Landing]:
        """Those the current snapshot was built on, newest first."""
        ancestors = iceberg.ancestors(dict(self.metadata()))
        return [self._landing(each) for each in ancestors if self._is_landing(each)]

    def wait_beyond(self, sequence: int, seconds: float, going_on: Callable[[], bool]) -> Landing | None:
        """Wait for the first landing after a commit; None if none came in time, or it is not worth waiting."""
        deadline = time.monotonic() + seconds
        while True:
            worth = going_on() and time.monotonic() < deadline
            found = next((each for each in self.landings() if each.sequence > sequence), None)
            if found or not worth:
                return found
            time.sleep(_LOOK_EVERY)

    def _is_landing(self, snapshot: Mapping[str, Any]) -> bool:
        summary = snapshot["summary"]
        return self._tokens in summary and int(summary.get("added-records", 0)) > 0

    def _landing(self, snapshot: Mapping[str, Any]) -> Landing:
        return Landing(snapshot["snapshot-id"], snapshot["sequence-number"], snapshot["timestamp-ms"] / 1000)
