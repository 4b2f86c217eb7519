"""What the pure rules look at: one version of a table's metadata.

`frazil.tables.jvm` reads it from Iceberg, lazily, because every value asked for is a call into the JVM; tests and
`frazil.testing` hold it in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from frazil.model import Column

SOURCE_SNAPSHOT: Final = "source-snapshot-id"
"""The summary key in which Iceberg names the snapshot that was cherry-picked."""


class SnapshotState(Protocol):
    """One snapshot."""

    @property
    def id(self) -> int:
        """Iceberg's snapshot id."""

    @property
    def parent(self) -> int | None:
        """The snapshot it was built on."""

    @property
    def sequence_number(self) -> int:
        """Its place in the order of all commits to the table."""

    @property
    def timestamp(self) -> int:
        """When it was committed, in ms since the epoch."""

    def summary(self, key: str) -> str | None:
        """One value of its summary."""

    def added_file(self) -> str | None:
        """The name of one of the data files it added; None if it added none.

        Raises:
            CatalogUnavailable: its manifests could not be read.
        """


class TableState(Protocol):
    """One version of a table."""

    @property
    def uuid(self) -> str:
        """The table's own identity, which a replacement does not have."""

    @property
    def schema_id(self) -> int:
        """The current schema."""

    @property
    def spec_id(self) -> int:
        """The default partition spec."""

    @property
    def sort_order_id(self) -> int:
        """The default sort order."""

    @property
    def next_sequence_number(self) -> int:
        """The sequence number the next snapshot will have."""

    @property
    def current(self) -> SnapshotState | None:
        """The current snapshot of the main branch."""

    def snapshot(self, identity: int) -> SnapshotState | None:
        """A snapshot that is still reachable."""

    def columns(self) -> Sequence[Column]:
        """The current schema's columns."""

    def property(self, key: str) -> str | None:
        """One table property."""

    def properties_under(self, prefix: str) -> Mapping[str, str]:
        """The table properties whose keys begin with `prefix`, without it."""


def ancestors(state: TableState) -> Iterator[SnapshotState]:
    """The current snapshot and those it was built on, newest first, as far as they have not expired."""
    return _down_from(state, state.current)


def lineage(state: TableState, identity: int) -> Iterator[SnapshotState]:
    """A snapshot and those it was built on, newest first, as far as they have not expired."""
    return _down_from(state, state.snapshot(identity))


def _down_from(state: TableState, snapshot: SnapshotState | None) -> Iterator[SnapshotState]:
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent
        snapshot = None if parent is None else state.snapshot(parent)


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """A snapshot held in memory."""

    id: int
    parent: int | None
    sequence_number: int
    values: Mapping[str, str]
    timestamp: int = 0
    added: str | None = None
    """The name of one of the data files it added."""

    def summary(self, key: str) -> str | None:
        """One value of its summary."""
        return self.values.get(key)

    def added_file(self) -> str | None:
        """The name of one of the data files it added."""
        return self.added


@dataclass(frozen=True, slots=True)
class MemoryState:
    """A version of a table held in memory."""

    uuid: str
    current_id: int | None
    snapshots: Mapping[int, MemorySnapshot]
    properties: Mapping[str, str]
    schema: tuple[Column, ...] = ()
    schema_id: int = 0
    spec_id: int = 0
    sort_order_id: int = 0
    next_sequence_number: int = 1

    @property
    def current(self) -> MemorySnapshot | None:
        """The current snapshot."""
        return None if self.current_id is None else self.snapshots.get(self.current_id)

    def snapshot(self, identity: int) -> MemorySnapshot | None:
        """A snapshot that is still reachable."""
        return self.snapshots.get(identity)

    def columns(self) -> Sequence[Column]:
        """The schema's columns."""
        return self.schema

    def property(self, key: str) -> str | None:
        """One table property."""
        return self.properties.get(key)

    def properties_under(self, prefix: str) -> Mapping[str, str]:
        """The table properties whose keys begin with `prefix`, without it."""
        return {key.removeprefix(prefix): value for key, value in self.properties.items() if key.startswith(prefix)}
