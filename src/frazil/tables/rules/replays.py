"""Which rejected records of a table were replayed: ledgers, and which of them holds. Pure.

A ledger is a small file that names every record a connector's rejects were replayed of, and the ledger before it. What
names the ledger is the very commit that appends the rows: `frazil.replayed.<CONNECTOR>` in its snapshot's summary and,
mirrored in the same swap, among the table's properties. A record is in the ledger if its row is in the table, and only
then.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson

from frazil.errors import LedgerUnreadable
from frazil.model import RecordOffset, RecordPlace, SourcePartition
from frazil.sources import kinds
from frazil.tables.rules.state import SnapshotState, TableState, ancestors
from frazil.tables.rules.tokens import Tokens

PREFIX: Final = "frazil.replayed."
"""What the summary key and the table property begin with; the connector's key follows."""

AUDIT: Final = "frazil.replay"
"""The summary key of the audit entry of a replay."""

_VERSION: Final = 1

Offsets: TypeAlias = Mapping[SourcePartition, frozenset[RecordOffset]]


@dataclass(frozen=True, slots=True)
class LedgerName:
    """What a commit says of its ledger."""

    path: str
    sequence: int
    """The sequence number of the snapshot that names it."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The records of one connector that were replayed to one table."""

    offsets: Offsets = field(default_factory=dict)
    previous: LedgerName | None = None

    def __contains__(self, place: RecordPlace) -> bool:
        partition, offset = place
        return offset in self.offsets.get(partition, ())

    def __len__(self) -> int:
        return sum(map(len, self.offsets.values()))

    def followed_by(self, places: Iterable[RecordPlace], name: LedgerName | None) -> Ledger:
        """The ledger with more records in it.

        Args:
            places: the records.
            name: what this one is called; None for the empty one that was never written.
        """
        found = {partition: set(offsets) for partition, offsets in self.offsets.items()}
        for partition, offset in places:
            found.setdefault(partition, set()).add(offset)
        return Ledger({partition: frozenset(offsets) for partition, offsets in found.items()}, name)


def key_of(connector: str) -> str:
    """The summary key and the property of a connector, by its key."""
    return PREFIX + connector


def encode_name(name: LedgerName) -> str:
    """The name as a commit has it."""
    return orjson.dumps({"v": _VERSION, **_named(name)}).decode()


def encode(ledger: Ledger) -> bytes:
    """The file of a ledger."""
    replayed = [[each.topic, each.partition, _sorted(offsets)] for each, offsets in ledger.offsets.items()]
    previous = _named(ledger.previous) if ledger.previous else None
    return zlib.compress(orjson.dumps({"v": _VERSION, "previous": previous, "replayed": replayed}))


def decode(content: bytes, path: str) -> Ledger:
    """The ledger in a file.

    Raises:
        LedgerUnreadable: it is damaged, or of a later version.
    """
    try:
        document = _versioned(zlib.decompress(content))
        return Ledger(
            {SourcePartition(topic, number): frozenset(offsets) for topic, number, offsets in document["replayed"]},
            _name(document["previous"]) if document["previous"] else None,
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise LedgerUnreadable(path, str(error)) from error


def name_in(state: TableState, connector: str, read: Callable[[str], Ledger]) -> LedgerName | None:
    """The ledger that holds in one version of a table; None where nothing was replayed.

    It is that of the nearest ancestor of the current snapshot which names one, so that a rollback past a replay, which
    takes its rows away, takes them from the ledger as well. Where all such ancestors expired, it is the newest ledger
    that may have been one of them.

    Args:
        state: the version.
        connector: the connector's key.
        read: gives the ledger at a path.

    Raises:
        LedgerUnreadable: a name is damaged, or of a later version.
    """
    key = key_of(connector)
    oldest: SnapshotState | None = None
    for snapshot in ancestors(state):
        text = snapshot.summary(key)
        if text is not None:
            return _decoded(text)
        oldest = snapshot
    text = state.property(key)
    # A history that is there from its first snapshot on has no replay in it: the table was begun anew.
    if text is None or oldest is None or oldest.parent is None:
        return None
    name: LedgerName | None = _decoded(text)
    while name is not None and name.sequence >= oldest.sequence_number:
        name = read(name.path).previous
    return name


def covered(tokens: Tokens | None, place: RecordPlace) -> bool:
    """Whether a record was read, by the tokens that hold; one that was not, its connector reads by itself."""
    partition, offset = place
    position = tokens.position(partition) if tokens else None
    return tokens is not None and position is not None and kinds.before(tokens.source, offset) < position


def _decoded(text: str) -> LedgerName:
    try:
        return _name(_versioned(text.encode()))
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerUnreadable(text[:200], str(error)) from error


def _versioned(text: bytes) -> dict[str, Any]:
    document = orjson.loads(text)
    if document["v"] != _VERSION:
        raise ValueError(f"it is of version {document['v']}, and this program reads version {_VERSION}")
    found: dict[str, Any] = document
    return found


def _named(name: LedgerName) -> dict[str, object]:
    return {"ledger": name.path, "snapshot-seq": name.sequence}


def _name(document: object) -> LedgerName:
    assert isinstance(document, dict)  # noqa: S101 (what `_named` wrote)
    return LedgerName(str(document["ledger"]), int(document["snapshot-seq"]))


def _sorted(offsets: Iterable[RecordOffset]) -> list[RecordOffset]:
    found: list[RecordOffset] = sorted(offsets, key=lambda each: (isinstance(each, str), each))
    return found
