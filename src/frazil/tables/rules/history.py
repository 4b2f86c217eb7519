"""The commits of one connector, read from a table's history: each once, in order, with what it did.

A commit is what a cycle made: it covers offsets, and mostly has rows. What opened a table or reset channels carries
tokens too, but covers nothing; what others commit carries none. Pure rules over a table's versions: a rollback or
an expiry in between is found out by looking at the next version.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from dataclasses import dataclass

from frazil.errors import HistoryExpired, HistoryMoved
from frazil.model import PartitionId, RecordOffset, SourcePartition
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.state import SnapshotState, TableState, ancestors, lineage
from frazil.tables.rules.tokens import ADOPTED, IMPORTED, RESET, Tokens, carried


@dataclass(frozen=True, slots=True, order=True)
class Covered:
    """What one commit covers of one channel: records that became rows or were rejected, and gaps."""

    topic: str
    partition: PartitionId
    start: RecordOffset | None
    """The first offset it covers; None if the commit before it has expired, so that nobody knows."""

    end: RecordOffset
    """The first offset it does not cover."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a connector to one table."""

    table: str
    """The table, with its namespace."""

    snapshot_id: int
    """Iceberg's id of the snapshot; what to store to go on after this commit."""

    sequence_number: int
    """Its place in the order of all commits to the table: later ones have greater numbers."""

    committed_at: dt.datetime
    """In UTC."""

    covered: tuple[Covered, ...]
    """The channels it moved, by topic and partition. Each one's ranges join from commit to commit."""

    rows: int
    """Rows it added; 0 if all it covers are rejected records, tombstones and gaps."""

    records: int | None
    """Records read. This and the following are None if the commit before it has expired."""

    errors: int | None
    """Records rejected."""

    lost: int | None
    """Offsets that retention deleted before they were read, and that were skipped."""

    owner_epoch: int
    """Raised by one by every start of the connector."""


class CommitCursor:
    """The commits after a snapshot, one by one, while the table goes on."""

    def __init__(self, table: str, connector: str, after: int) -> None:
        """Follow the connector of that key on a table of that name, after a snapshot of it."""
        self._table = table
        self._connector = connector
        self.last = after
        """The snapshot of the last commit that is done with."""

        self._head = after
        """The snapshot up to which the history was looked at."""

        self._waiting: deque[int] = deque()
        """Snapshots up to the head that were not read yet."""

        self._known: Tokens | None = None
        """The tokens as of the last one that was; None if they have expired."""

        self._next: Commit | None = None
        self._began = False

    def next(self, state: TableState) -> Commit | None:
        """The next commit of this version of the table, the same one until it is `done`; None if there is none yet.

        Raises:
            HistoryExpired: snapshots that are not done with are gone.
            HistoryMoved: the last one done with is not part of the history any more.
            TokensUnreadable: tokens are damaged or from a later version.
        """
        self._look(state)
        while self._next is None and self._waiting:
            self._next = self._read(self._required(state, self._waiting.popleft()))
        if self._next is not None:
            self._required(state, self._next.snapshot_id)
        return self._next

    def done(self) -> None:
        """Be done with what `next` gave."""
        if self._next is not None:
            self.last = self._next.snapshot_id
            self._next = None

    def _look(self, state: TableState) -> None:
        """Queue what is new."""
        if not self._began:
            self._start_over(state)
        elif state.current is None or state.current.id != self._head:
            try:
                self._extend(state)
            except (HistoryExpired, HistoryMoved):
                # What went away may be what is not done with.
                self._start_over(state)

    def _start_over(self, state: TableState) -> None:
        self._waiting.clear()
        self._next = None
        self._head = self.last
        self._extend(state)
        held = (carried(each, self._table, self._connector) for each in lineage(state, self.last))
        self._known = next((tokens for tokens in held if tokens), None)
        self._began = True

    def _extend(self, state: TableState) -> None:
        new = _between(state, self._head)
        if new is None:
            raise absent(state, self._table, self._head)
        self._waiting.extend(new)
        self._head = new[-1] if new else self._head

    def _read(self, snapshot: SnapshotState) -> Commit | None:
        """What the snapshot is to the connector; None where it covers nothing."""
        tokens = carried(snapshot, self._table, self._connector)
        if tokens is None:
            return None
        before, self._known = self._known, tokens
        if any(snapshot.summary(each) is not None for each in (RESET, ADOPTED, IMPORTED)):
            return None
        rows = int(snapshot.summary("added-records") or 0)
        covered = _covered_after(before, tokens) if before else _covered_last(tokens) if rows else ()
        if not covered:
            return None
        return Commit(
            table=self._table,
            snapshot_id=snapshot.id,
            sequence_number=snapshot.sequence_number,
            committed_at=dt.datetime.fromtimestamp(snapshot.timestamp / 1000, dt.UTC),
            covered=covered,
            rows=rows,
            records=_more(before, tokens, "parsed"),
            errors=_more(before, tokens, "errors"),
            lost=_more(before, tokens, "lost"),
            owner_epoch=tokens.epoch,
        )

    def _required(self, state: TableState, identity: int) -> SnapshotState:
        snapshot = state.snapshot(identity)
        if snapshot is None:
            raise absent(state, self._table, self.last)
        return snapshot


def place_of(state: TableState, table: str, sequence_number: int) -> int:
    """The snapshot that was current when the table had had that many commits.

    Raises:
        HistoryMoved: the table was replaced since.
    """
    parent: int | None = None
    for snapshot in ancestors(state):
        if snapshot.sequence_number <= sequence_number:
            return snapshot.id
        parent = snapshot.parent
    # It has expired; what came after it has not, or whoever goes on there will find out.
    if parent is None:
        raise HistoryMoved(table, None, None)
    return parent


def absent(state: TableState, table: str, after: int) -> HistoryExpired | HistoryMoved:
    """Why a snapshot is not one that this version of the table goes back to."""
    history = {snapshot.id: snapshot.parent for snapshot in ancestors(state)}
    common = next((each.id for each in lineage(state, after) if each.id in history), None)
    oldest = next(reversed(history), None)
    if common is not None or oldest is None or history[oldest] is None:
        return HistoryMoved(table, after, common)
    return HistoryExpired(table, after, oldest)


def _between(state: TableState, after: int) -> list[int] | None:
    """The snapshots after one up to the current one, oldest first; None if some of them are not there."""
    found: list[int] = []
    parent: int | None = None
    for snapshot in ancestors(state):
        if snapshot.id == after:
            return found[::-1]
        found.append(snapshot.id)
        parent = snapshot.parent
    # It has expired itself, but nothing after it has.
    return found[::-1] if found and parent == after else None


def _covered_after(before: Tokens, tokens: Tokens) -> tuple[Covered, ...]:
    """The channels that a commit moved on from the one before: an opening none."""
    return tuple(
        Covered(each.topic, each.partition, before.start(each).first, tokens.start(each).first)
        for each, channel in _channels(tokens)
        if channel.token != before.channel(each).token
    )


def _covered_last(tokens: Tokens) -> tuple[Covered, ...]:
    """The channels that the commit of these tokens moved, by itself: all of them have its time."""
    channels = _channels(tokens)
    newest = max((channel.time or 0 for _, channel in channels), default=0)
    return tuple(
        Covered(each.topic, each.partition, None, tokens.start(each).first)
        for each, channel in channels
        if channel.time == newest
    )


def _channels(tokens: Tokens) -> list[tuple[SourcePartition, Channel]]:
    """The channels that were ever moved. Of one without a time, somebody has only said where it starts."""
    return sorted(
        (
            (partition, channel)
            for partition, channel in tokens.channels()
            if channel.token is not None and channel.time is not None
        ),
        key=lambda each: each[0],
    )


def _more(before: Tokens | None, tokens: Tokens, count: str) -> int | None:
    return None if before is None else _sum(tokens, count) - _sum(before, count)


def _sum(tokens: Tokens, count: str) -> int:
    return sum(getattr(channel, count) for _, channel in tokens.channels())
