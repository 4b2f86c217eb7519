"""Records come in: each goes to the shard its hash key belongs to, if the shard takes it."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from frazil.dev.kinesis.engine import ACCOUNT, Engine
from frazil.dev.kinesis.failures import Refused, invalid, not_found, throughput_exceeded
from frazil.dev.kinesis.model import Record, Shard, Stream, size

MOST_BYTES: Final = 10 << 20
"""Bytes of data and partition keys in one request."""


class Put(NamedTuple):
    """A record that a client wants to put."""

    data: bytes
    key: str | None
    hash_key: int | None
    """Where it goes, if its key does not decide that."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a record."""

    shard: Shard
    number: str


def write(
    engine: Engine,
    stream: Stream,
    puts: Sequence[Put],
    fails: Callable[[Shard], Refused | None] = lambda _: None,
) -> list[Written | Refused]:
    """Take records in, each for itself.

    Args:
        engine: Where the stream is.
        stream: Takes the records.
        puts: What is to be written, in this order.
        fails: Asked once for each record; what it gives, the record fails with.

    Raises:
        Refused: none was taken: the stream is not there yet, or a record or all together are too large.
    """
    if engine.status(stream) not in ("ACTIVE", "UPDATING"):
        raise not_found(f"Stream {stream.name} is {engine.status(stream)}.")
    _check(stream, puts)
    route = _Route(stream)
    now = engine.clock()
    arrival = int(now * 1000)
    encrypted = stream.key_id is not None
    outcomes: list[Written | Refused] = []
    taken: list[tuple[Shard, Record]] = []
    for put in puts:
        shard = route(put)
        failure = fails(shard)
        if failure is None and not engine.quotas.admits(shard, size(put.data, put.key), now):
            failure = throughput_exceeded(stream, shard, ACCOUNT)
        if failure is not None:
            outcomes.append(failure)
            continue
        shard.count += 1
        shard.arrival = max(shard.arrival, arrival)
        record = Record(shard.count, shard.arrival, put.key, encrypted, put.data)
        taken.append((shard, record))
        outcomes.append(Written(shard, shard.number_of(record)))
    engine.store.append(taken)
    return outcomes


class _Route:
    """The open shards of a stream, found by hash key."""

    def __init__(self, stream: Stream) -> None:
        self._shards = stream.open_shards
        self._starts = [shard.first_hash for shard in self._shards]
        self._by_key = stream.distribution == "USER_PARTITION_KEY"

    def __call__(self, put: Put) -> Shard:
        if not self._by_key:
            return min(self._shards, key=lambda shard: shard.count)
        hash_key = put.hash_key
        if hash_key is None:
            digest = hashlib.md5((put.key or "").encode(), usedforsecurity=False).digest()
            hash_key = int.from_bytes(digest, "big")
        return self._shards[bisect_right(self._starts, hash_key) - 1]


def _check(stream: Stream, puts: Sequence[Put]) -> None:
    most = stream.max_record_kib * 1024
    total = 0
    for index, put in enumerate(puts, 1):
        if put.key is None and stream.distribution == "USER_PARTITION_KEY":
            raise invalid(f"Record {index} has no PartitionKey, which stream {stream.name} needs.")
        each = size(put.data, put.key)
        if each > most:
            raise invalid(
                f"Record {index} has {each} bytes of data and partition key; stream {stream.name} takes {most} at most."
            )
        total += each
    if total > MOST_BYTES:
        raise invalid(f"Records size exceeds 10 MB limit: {total} bytes of data and partition keys.")
