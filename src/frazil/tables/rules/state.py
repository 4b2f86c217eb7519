"""What the pure rules look at: one version of a table's metadata.

`frazil.tables.iceberg.java` reads it from Iceberg, lazily, because every value asked for is a call into the JVM;
tests and `frazil.testing` hold it in memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from frazil.model import Column

SOURCE_SNAPSHOT: Final = "source-snapshot-id"
"""The summary key in which Iceberg names the snapshot that was cherry-picked."""


MAIN: Final = "main"
"""The branch whose head is the current snapshot."""

WAP: Final = "wap.id"
"""The summary key of a snapshot that somebody staged beside main, to audit it and publish it later."""

PUBLISHED_WAP: Final = "published-wap-id"
"""The summary key in which a cherry-pick names the staged snapshot that it published."""


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


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A change of the main branch: to a snapshot committed to it, or to one that it was set to."""

    timestamp: int
    """When, in ms since the epoch; of a commit, exactly the snapshot's own time."""

    snapshot: int


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
    def last_changed(self) -> int:
        """The newest of its times, in ms since the epoch by the clocks of those who changed it."""

    @property
    def current(self) -> SnapshotState | None:
        """The current snapshot of the main branch."""

    @property
    def snapshot_log(self) -> Iterable[LogEntry]:
        """The changes of the main branch, oldest first; none from before the last one whose snapshot has expired."""

    @property
    def references(self) -> Mapping[str, int]:
        """The snapshots of all branches, the main one included, and of all tags, by name."""

    def snapshot(self, identity: int) -> SnapshotState | None:
        """A snapshot that is still reachable."""

    def columns(self) -> Sequence[Column]:
        """The current schema's columns."""

    def property(self, key: str) -> str | None:
        """One table property."""

    def properties_under(self, prefix: str) -> Mapping[str, str]:
        """The table properties whose keys begin with `prefix`, without it."""


def ancestors(state: TableState, without: Collection[int] = ()) -> Iterator[SnapshotState]:
    """The current snapshot and those it was built on, newest first, as far as they have not expired.

    Args:
        state: the version.
        without: snapshots to be taken for expired.
    """
    return itertools.takewhile(lambda snapshot: snapshot.id not in without, _down_from(state, state.current))


def lineage(state: TableState, identity: int) -> Iterator[SnapshotState]:
    """A snapshot and those it was built on, newest first, as far as they have not expired."""
    return _down_from(state, state.snapshot(identity))


def _down_from(state: TableState, snapshot: SnapshotState | None) -> Iterator[SnapshotState]:
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent
        snapshot = None if parent is None else state.snapshot(parent)


def was_set(state: TableState, history: Sequence[SnapshotState], without: Collection[int] = ()) -> bool:
    """Whether the main branch came to its history by being set to one of its snapshots, and not by commits to it.

    That is so after a rollback, and where main was set or forwarded to another branch. The log's first entry that is
    part of the history tells, for those before went with what has expired.

    Args:
        state: the version.
        history: the ancestors of the current snapshot.
        without: snapshots to be taken for expired.
    """
    times = {snapshot.id: snapshot.timestamp for snapshot in history}
    for entry in log_without(state, without) if without else state.snapshot_log:
        if entry.snapshot in times:
            return entry.timestamp != times[entry.snapshot]
    return False


def log_without(state: TableState, expired: Collection[int]) -> list[LogEntry]:
    """What an expiry leaves of the log: Iceberg cuts it off after the last entry whose snapshot is gone."""
    left: list[LogEntry] = []
    for entry in state.snapshot_log:
        if entry.snapshot in expired:
            left.clear()
        else:
            left.append(entry)
    return left


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
    last_updated: int = 0
    """When it was made, in ms since the epoch by the clock of whoever made it."""

    snapshot_log: tuple[LogEntry, ...] = ()
    others: Mapping[str, int] = field(default_factory=dict)
    """Branches besides the main one, and tags."""

    @property
    def last_changed(self) -> int:
        """The newest of its times."""
        return max([self.last_updated, *(entry.timestamp for entry in self.snapshot_log[-1:])])

    @property
    def references(self) -> Mapping[str, int]:
        """The snapshots of all branches and tags, by name."""
        return self.others if self.current_id is None else {**self.others, MAIN: self.current_id}

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
