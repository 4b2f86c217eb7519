"""What a shard gives from a place on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.model import Record, Shard, Stream

MOST_RECORDS: Final = 10_000
MOST_BYTES: Final = 10 << 20


@dataclass(frozen=True, slots=True)
class Portion:
    """Records that follow one another, and what comes after them."""

    records: list[Record]
    next: int | None
    """The ordinal of the record to go on with; None when all of a closed shard was read."""

    behind: int
    """How many milliseconds these records are from the shard's tip; 0 when nothing comes after them."""

    size: int
    """Bytes of data and partition keys."""


def read(
    engine: Engine, stream: Stream, shard: Shard, ordinal: int, limit: int = MOST_RECORDS, most_bytes: int = MOST_BYTES
) -> Portion:
    """Read from the record with `ordinal` on, or from the first that is left.

    The portion ends before the record that would make it larger than `most_bytes`; the first is in it in any case, but
    for a `limit` of 0.
    """
    engine.trim_shard(stream, shard)
    ordinal = max(ordinal, shard.trimmed + 1)
    records: list[Record] = []
    taken = 0
    for record in engine.store.read(shard, ordinal, limit):
        if records and taken + record.size > most_bytes:
            break
        records.append(record)
        taken += record.size
    following = records[-1].ordinal + 1 if records else ordinal
    if following > shard.count:
        return Portion(records, following if shard.is_open else None, 0, taken)
    reached = records[-1].arrival if records else next(engine.store.read(shard, following, 1)).arrival
    # A client that asks within the millisecond a record arrived in is behind all the same.
    return Portion(records, following, max(1, engine.now() - reached), taken)


def children(engine: Engine, stream: Stream, shard: Shard) -> list[Shard]:
    """The shards that a closed shard's hash keys are in now."""
    return [child for child in engine.shards(stream) if shard.id in child.parents]
