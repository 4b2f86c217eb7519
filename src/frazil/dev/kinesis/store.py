"""Streams and records in an SQLite file.

A record's place is its shard's row and its ordinal in one integer, so that a shard's records lie together, in order.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from frazil.dev.kinesis.model import Consumer, Placed, Record, Shard, Stream

_ORDINALS: Final = 1 << 40
"""How many records a shard can have had."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS engine (only INTEGER PRIMARY KEY CHECK (only = 1), document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS streams (row INTEGER PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (
    place INTEGER PRIMARY KEY, shard INTEGER NOT NULL, arrival INTEGER NOT NULL,
    key TEXT, encrypted INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS arrivals ON records (shard, arrival);
"""


class Store:
    """What survives a restart.

    Args:
        path: The file; made if missing.
    """

    def __init__(self, path: Path) -> None:
        # Whoever calls holds the engine's lock, from whatever thread.
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        # A kill loses nothing; what a power cut takes from a stream on one's own machine can be produced again.
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def streams(self) -> list[Stream]:
        """All streams, their shards where they were left."""
        found = self._database.execute("SELECT document FROM streams ORDER BY row")
        streams = [_stream(json.loads(document)) for (document,) in found]
        for stream in streams:
            for shard in stream.shards:
                self._continue(shard)
        return streams

    def counters(self) -> dict[str, int]:
        """What the engine counted when it was last saved."""
        found = self._database.execute("SELECT document FROM engine").fetchone()
        return json.loads(found[0]) if found else {}

    def save(self, stream: Stream, counters: dict[str, int]) -> None:
        """Keep a stream's description, and the engine's counters with it."""
        document = json.dumps(dataclasses.asdict(stream))
        with self._transaction():
            self._database.execute("INSERT OR REPLACE INTO streams VALUES (?, ?)", (stream.row, document))
            self._database.execute("INSERT OR REPLACE INTO engine VALUES (1, ?)", (json.dumps(counters),))

    def remove(self, stream: Stream) -> None:
        """Forget a stream and its records."""
        with self._transaction():
            self._database.execute("DELETE FROM streams WHERE row = ?", (stream.row,))
            for shard in stream.shards:
                self.trim(shard, _ORDINALS - 1)

    def append(self, records: Iterable[tuple[Shard, Record]]) -> None:
        """Keep records, all or none."""
        rows = [
            (
                shard.row * _ORDINALS + record.ordinal,
                shard.row,
                record.arrival,
                record.key,
                record.encrypted,
                record.data,
            )
            for shard, record in records
        ]
        with self._transaction():
            self._database.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", rows)

    def read(self, shard: Shard, ordinal: int, limit: int) -> Iterator[Record]:
        """Records from the one with `ordinal` on, at most `limit`."""
        found = self._database.execute(
            "SELECT place, arrival, key, encrypted, data FROM records"
            " WHERE place >= ? AND place < ? ORDER BY place LIMIT ?",
            (shard.row * _ORDINALS + ordinal, (shard.row + 1) * _ORDINALS, limit),
        )
        for place, arrival, key, encrypted, data in found:
            yield Record(place % _ORDINALS, arrival, key, bool(encrypted), data)

    def first_since(self, shard: Shard, arrival: int, ordinal: int = 0) -> Placed | None:
        """The first record that arrived at `arrival` and has at least `ordinal`, or arrived later; None if none did."""
        found = self._database.execute(
            "SELECT arrival, place FROM records WHERE shard = ? AND (arrival, place) >= (?, ?)"
            " ORDER BY arrival, place LIMIT 1",
            (shard.row, arrival, shard.row * _ORDINALS + ordinal),
        ).fetchone()
        return Placed(found[0], found[1] % _ORDINALS) if found else None

    def trim(self, shard: Shard, ordinal: int) -> None:
        """Remove the records up to the one with `ordinal`."""
        self._database.execute(
            "DELETE FROM records WHERE place >= ? AND place <= ?",
            (shard.row * _ORDINALS, shard.row * _ORDINALS + ordinal),
        )

    def _continue(self, shard: Shard) -> None:
        last = self._database.execute(
            "SELECT place, arrival FROM records WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT 1",
            (shard.row * _ORDINALS, (shard.row + 1) * _ORDINALS),
        ).fetchone()
        shard.count, shard.arrival = (last[0] % _ORDINALS, last[1]) if last else (shard.trimmed, shard.arrival)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _stream(document: dict[str, Any]) -> Stream:
    shards = [Shard(**shard) for shard in document.pop("shards")]
    consumers = {name: Consumer(**consumer) for name, consumer in document.pop("consumers").items()}
    # Whatever was under way is done: the stopwatch of the process that began it has ended.
    for each in consumers.values():
        each.settles = 0.0
    return Stream(**{**document, "settles": 0.0}, shards=shards, consumers=consumers)
