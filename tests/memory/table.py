"""A table in memory: its versions, and what others do to it behind a connector's back."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from frazil.model import Column, IcebergType, RecordOffset, SchemaChange, SourcePartition
from frazil.pipes.changes import changed
from frazil.tables.base import RaceLost
from frazil.tables.rules.state import SOURCE_SNAPSHOT, WAP, LogEntry, MemorySnapshot, MemoryState, log_without

_SKEW: Final = 60_000
"""Milliseconds that Iceberg lets a version be older than the one before it."""

_ids = itertools.count(1)
"""Snapshots of all tables are told apart by their ids, as Iceberg's random ones are."""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One row."""

    connector: str
    """The key of the connector that wrote it; empty for rows of others."""

    partition: SourcePartition
    offset: RecordOffset
    values: Mapping[int, Any] = field(default_factory=dict)
    """By field id."""

    leader_epoch: int = 0
    """Of the record it was made of."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A data file."""

    rows: tuple[MemoryRow, ...]
    columns: tuple[Column, ...] = ()
    """The schema it was written for."""


@dataclass(slots=True)
class Files:
    """The storage that tables share: data files, reject files and lists, by path."""

    data: dict[str, MemoryFile] = field(default_factory=dict)
    rejects: dict[str, tuple[tuple[SourcePartition, int, int], ...]] = field(default_factory=dict)
    """Reject files: which records are in them."""

    small: dict[str, bytes] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)
    """Directories in which no task can write a data file."""

    def delete(self, path: str) -> None:
        """Delete a file, if it is there."""
        for files in (self.data, self.rejects, self.small):
            files.pop(path, None)


class Unsorted(Exception):
    """Iceberg takes no version that is more than a minute older than the one before."""


@dataclass(frozen=True, slots=True)
class TableSnapshot(MemorySnapshot):
    """A snapshot, with the files it holds."""

    files: tuple[str, ...] = ()
    schema_id: int = 0


class MemoryTable:
    """A table as a catalog keeps it; its state is replaced whole, by compare and swap."""

    def __init__(
        self, files: Files, clock: Callable[[], float], columns: Sequence[Column], properties: Mapping[str, str]
    ) -> None:
        self.files = files
        self.clock = clock
        self.state = MemoryState(
            str(uuid.uuid4()), None, {}, dict(properties), tuple(columns), last_updated=int(clock() * 1000)
        )
        self.history: dict[int, TableSnapshot] = {}
        """Every snapshot it ever had, those that expired too: for who wants to judge what happened."""

        self.schemas: dict[int, tuple[Column, ...]] = {0: self.state.schema}
        """Every schema it ever had."""

        self.heads: list[tuple[int, bool]] = []
        """Every snapshot that ever was the current one, in order, and whether it had been there before: likewise."""

    def replace(self, base: MemoryState, state: MemoryState) -> None:
        """Compare and swap.

        Raises:
            RaceLost: `base` is no longer the newest version.
            Unsorted: it is too much younger than `state`.
        """
        if self.state is not base:
            raise RaceLost
        require_sorted(base, state)
        self.state = state
        if state.current_id is not None and state.current_id != base.current_id:
            self.heads.append((state.current_id, state.current_id in base.snapshots))
        self.schemas[state.schema_id] = state.schema
        for snapshot in state.snapshots.values():
            if isinstance(snapshot, TableSnapshot):
                self.history[snapshot.id] = snapshot

    def rows(self, snapshot: int | None = None) -> list[MemoryRow]:
        """The rows of a snapshot, the current one when None, file by file; a file that is missing raises."""
        number = self.state.current_id if snapshot is None else snapshot
        paths = self.history[number].files if number is not None else ()
        return [row for path in paths for row in self.files.data[path].rows]

    def append(self, *rows: MemoryRow) -> int:
        """What any writer does; the new snapshot's id comes back."""
        return self._commit((*self._paths(), self.write(rows)), {"operation": "append"})

    def delete(self, doomed: Callable[[MemoryRow], bool]) -> int:
        """Delete rows, copying what is left."""
        return self._rewrite([row for row in self.rows() if not doomed(row)], "delete")

    def compact(self) -> int:
        """Write all rows into one new file."""
        return self._rewrite(self.rows(), "replace")

    def set_current(self, snapshot: int) -> None:
        """Roll back, or forth, to a snapshot that has not expired."""
        if snapshot == self.state.current_id:
            return
        now = self._now()
        log = (*self.state.snapshot_log, LogEntry(now, self.state.snapshots[snapshot].id))
        self.replace(self.state, replace(self.state, current_id=snapshot, snapshot_log=log, last_updated=now))

    def cherry_pick(self, snapshot: int) -> int:
        """Put the files a snapshot added on top of the current one; forward to it where it is the next anyway."""
        picked = self.history[snapshot]
        if picked.parent == self.state.current_id:
            self.set_current(snapshot)
            return snapshot
        before = set(self.history[picked.parent].files) if picked.parent in self.history else set()
        added = [path for path in picked.files if path not in before]
        return self._commit((*self._paths(), *added), {"operation": "append", SOURCE_SNAPSHOT: str(snapshot)})

    def append_aside(self, *rows: MemoryRow, parent: int | None = None) -> int:
        """Add a snapshot beside the main branch, on the current one or on `parent`."""
        return self._aside(rows, parent, {})

    def append_to_branch(self, branch: str, *rows: MemoryRow) -> int:
        """Append to a branch, which begins at the current snapshot if there is none of that name."""
        number = self._aside(rows, self.state.others.get(branch), {})
        self.refer(branch, number)
        return number

    def stage(self, name: str, *rows: MemoryRow) -> int:
        """Stage a snapshot to be published later, as write-audit-publish does."""
        return self._aside(rows, None, {WAP: name})

    def refer(self, name: str, snapshot: int) -> None:
        """Make, or move, a branch or a tag; it counts as one of either."""
        self.replace(self.state, replace(self.state, others={**self.state.others, name: snapshot}))

    def _aside(self, rows: Sequence[MemoryRow], parent: int | None, summary: Mapping[str, str]) -> int:
        beneath = self.state.current_id if parent is None else parent
        held = () if beneath is None else self.history[beneath].files
        base = replace(self.state, current_id=beneath)
        made = with_snapshot(base, (*held, self.write(rows)), {"operation": "append", **summary}, self.clock())
        back = replace(made, current_id=self.state.current_id, snapshot_log=self.state.snapshot_log)
        self.replace(self.state, back)
        return max(made.snapshots)

    def expire(self, snapshots: Collection[int]) -> None:
        """Forget snapshots; never the current one, nor those of branches and tags."""
        gone = set(snapshots) - {*self.state.references.values()}
        left = {number: each for number, each in self.state.snapshots.items() if number not in gone}
        log = tuple(log_without(self.state, gone))
        self.replace(self.state, replace(self.state, snapshots=left, snapshot_log=log, last_updated=self._now()))

    def older_than(self, timestamp: int) -> list[int]:
        """The snapshots that expiry of that age takes, with those of branches and tags kept."""
        kept = {*self.state.references.values()}
        return [
            number for number, each in self.state.snapshots.items() if each.timestamp < timestamp and number not in kept
        ]

    def begin_anew(self, columns: Sequence[Column]) -> None:
        """What CREATE OR REPLACE does: no current snapshot and new columns, but the same uuid and properties."""
        state = replace(self.state, current_id=None, schema=tuple(columns), schema_id=len(self.schemas))
        self.replace(self.state, state)

    def set_property(self, key: str, value: str | None) -> None:
        """Set a property; None removes it."""
        left = {name: each for name, each in self.state.properties.items() if name != key}
        self.replace(self.state, replace(self.state, properties=left if value is None else {**left, key: value}))

    def add_column(self, name: str, kind: IcebergType, *, required: bool = False) -> None:
        """Add a column."""
        self.reshape((*self.state.schema, Column(self.next_field_id(), name, kind, required)))

    def evolve(self, change: SchemaChange) -> None:
        """Change the columns."""
        for name, kind in change.add.items():
            self.add_column(name, kind)
        if change.grow or change.widen or change.relax:
            self.reshape(changed(self.state.schema, replace(change, add={})))

    def drop_column(self, name: str) -> None:
        """Drop a column."""
        self.reshape([each for each in self.state.schema if each.name != name])

    def rename_column(self, name: str, to: str) -> None:
        """Rename a column."""
        self.reshape([replace(each, name=to) if each.name == name else each for each in self.state.schema])

    def retype_column(self, name: str, kind: IcebergType) -> None:
        """Give a column another type."""
        self.reshape([replace(each, type=kind) if each.name == name else each for each in self.state.schema])

    def reshape(self, columns: Sequence[Column]) -> None:
        """Replace the schema by a new one."""
        self.replace(self.state, replace(self.state, schema=tuple(columns), schema_id=len(self.schemas)))

    def change_spec(self) -> None:
        """Replace the partition spec by another one; what it says is not modelled."""
        self.replace(self.state, replace(self.state, spec_id=self.state.spec_id + 1))

    def change_sort_order(self) -> None:
        """Replace the sort order by another one."""
        self.replace(self.state, replace(self.state, sort_order_id=self.state.sort_order_id + 1))

    def next_field_id(self) -> int:
        """A field id that no column ever had."""
        return max((column.id for columns in self.schemas.values() for column in columns), default=0) + 1

    def write(self, rows: Sequence[MemoryRow]) -> str:
        """Write a data file that is in no snapshot yet; its path comes back."""
        path = f"memory/{uuid.uuid4()}.parquet"
        self.files.data[path] = MemoryFile(tuple(rows), self.state.schema)
        return path

    def _rewrite(self, rows: Sequence[MemoryRow], operation: str) -> int:
        return self._commit((self.write(rows),), {"operation": operation})

    def _commit(self, files: Sequence[str], summary: Mapping[str, str]) -> int:
        made = with_snapshot(self.state, files, summary, self.clock())
        self.replace(self.state, made)
        return max(made.snapshots)

    def _now(self) -> int:
        return int(self.clock() * 1000)

    def _paths(self) -> tuple[str, ...]:
        return self.history[self.state.current_id].files if self.state.current_id is not None else ()


def with_snapshot(base: MemoryState, files: Sequence[str], summary: Mapping[str, str], now: float) -> MemoryState:
    """The version after a commit on `base` that leaves `files` in the table; `now` in seconds since the epoch."""
    held = base.current.files if isinstance(base.current, TableSnapshot) else ()
    snapshot = TableSnapshot(
        id=next(_ids),
        parent=base.current_id,
        sequence_number=base.next_sequence_number,
        values=dict(summary),
        timestamp=int(now * 1000),
        added=next((path.rpartition("/")[2] for path in files if path not in held), None),
        files=tuple(files),
        schema_id=base.schema_id,
    )
    return replace(
        base,
        current_id=snapshot.id,
        snapshots={**base.snapshots, snapshot.id: snapshot},
        next_sequence_number=base.next_sequence_number + 1,
        last_updated=snapshot.timestamp,
        snapshot_log=(*base.snapshot_log, LogEntry(snapshot.timestamp, snapshot.id)),
    )


def require_sorted(base: MemoryState, state: MemoryState) -> None:
    """Refuse what Iceberg refuses: a log, or a version, that goes back in time by more than a minute.

    Raises:
        Unsorted: it does.
    """
    times = [entry.timestamp for entry in state.snapshot_log]
    if any(later - earlier < -_SKEW for earlier, later in pairwise([*times, state.last_updated])):
        raise Unsorted("[BUG] Expected sorted snapshot log entries.")
    if state.last_updated - base.last_updated < -_SKEW:
        raise Unsorted("Invalid update timestamp: before the latest metadata log entry timestamp")
