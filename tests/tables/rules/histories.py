"""Histories of a table, told commit by commit; what comes out is a state the pure rules look at."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.channels import with_channel

from frazil.model import Column, SourcePartition
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.state import SOURCE_SNAPSHOT, WAP, LogEntry, MemorySnapshot, MemoryState
from frazil.tables.rules.tokens import Tokens, encode, key_of

TABLE = "public.ORDERS"
CONNECTOR = "SINK"
PARTITION = SourcePartition("orders", 0)


@dataclass
class History:
    """A table that lives through commits; its snapshots are numbered from 1."""

    uuid: str = "the-table"
    snapshots: dict[int, MemorySnapshot] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    current: int | None = None
    schema: tuple[Column, ...] = ()
    log: list[LogEntry] = field(default_factory=list)
    references: dict[str, int] = field(default_factory=dict)
    """Branches besides the main one, and tags."""

    _last: int = 0
    _now: int = 0

    def ours(
        self,
        token: int,
        *,
        owner: str = "me",
        epoch: int = 1,
        connector: str = CONNECTOR,
        channel: Channel | None = None,
        **summary: str,
    ) -> Tokens:
        """A commit of a connector: rows, tokens, and their mirror, in one swap; `channel` has more than the token."""
        number = self._last + 1
        tokens = Tokens("sink", f"commit-{number}", owner, epoch, opener=f"{owner}'s host (pid 1)", snapshot_seq=number)
        tokens = with_channel(tokens, PARTITION, channel or Channel(str(token)), "cluster", "topic-id")
        self._append({key_of(connector): encode(tokens), **summary})
        self.properties[key_of(connector)] = encode(tokens)
        return tokens

    def foreign(self, **summary: str) -> int:
        """A commit of somebody else: a compaction, a delete, an append."""
        return self._append(summary)

    def cherry_pick(self, source: int, added: str | None = None) -> int:
        """Iceberg's cherry-pick names its source; it copies files, one of them `added`, not the rest of the summary."""
        return self._append({SOURCE_SNAPSHOT: str(source)}, added)

    def staged(self, tokens: Tokens | None = None) -> int:
        """A snapshot beside the main branch, as write-audit-publish makes them."""
        summary = {} if tokens is None else {key_of(CONNECTOR): encode(tokens)}
        return self._aside(self.current, {WAP: f"audit {self._last + 1}", **summary})

    def branch(self, name: str, at: int | None = None) -> int:
        """A commit of somebody else to a branch, which begins at `at` if there is none of that name."""
        self.references[name] = self._aside(self.references.get(name, at), {})
        return self.references[name]

    def roll_back(self, to: int) -> None:
        """Set main to a snapshot: an earlier one, or the one of a branch."""
        self.current = to
        self._log(self._tick())

    def expire(self, *numbers: int) -> None:
        """Expire snapshots; as Iceberg does, the log is cut off where one of them is in it."""
        for number in numbers:
            del self.snapshots[number]
        gone = [place for place, entry in enumerate(self.log) if entry.snapshot in numbers]
        self.log = self.log[gone[-1] + 1 :] if gone else self.log

    def begin_anew(self) -> None:
        """What CREATE OR REPLACE does in Iceberg: the main branch ends, the next snapshot has no parent."""
        self.current = None

    @property
    def state(self) -> MemoryState:
        return MemoryState(
            self.uuid,
            self.current,
            dict(self.snapshots),
            dict(self.properties),
            self.schema,
            last_updated=self._now,
            snapshot_log=tuple(self.log),
            others=dict(self.references),
        )

    def _append(self, summary: dict[str, str], added: str | None = None) -> int:
        self.current = self._aside(self.current, summary, added)
        self._log(self._now)
        return self._last

    def _aside(self, parent: int | None, summary: dict[str, str], added: str | None = None) -> int:
        self._last += 1
        now = self._tick()
        self.snapshots[self._last] = MemorySnapshot(self._last, parent, self._last, summary, now, added)
        return self._last

    def _tick(self) -> int:
        self._now += 1000
        return self._now

    def _log(self, timestamp: int) -> None:
        assert self.current is not None
        self.log.append(LogEntry(timestamp, self.current))


def token_of(tokens: Tokens | None) -> str | None:
    """The token of the one channel that histories move."""
    return None if tokens is None else tokens.channel(PARTITION).token
