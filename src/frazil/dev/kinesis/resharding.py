"""Split, merge and scale: parents are closed, and their hash keys are their children's."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from frazil.dev.kinesis.engine import SHARD_LIMIT, Engine, even_bounds
from frazil.dev.kinesis.failures import invalid, limit_exceeded, validation
from frazil.dev.kinesis.model import Shard, Stream

SCALED_IN_A_DAY: Final = 10
"""How often UpdateShardCount may be called for a stream within 24 hours."""

_DAY: Final = 86_400_000


def split(engine: Engine, stream: Stream, shard_id: str, at: int) -> None:
    """Split a shard in two, the second of which begins with the hash key `at`.

    Raises:
        Refused: the shard is closed, or has no such hash key to begin with.
    """
    _provisioned(engine.active(stream))
    shard = _open(engine, stream, shard_id)
    if not shard.first_hash + 1 < at < shard.last_hash:
        raise invalid(
            f"NewStartingHashKey {at} used in SplitShard() on shard {shard.id} in stream {stream.name} is not both "
            f"greater than one plus the shard's StartingHashKey {shard.first_hash} and less than the shard's "
            f"EndingHashKey {shard.last_hash}."
        )
    _split(engine, stream, engine.moment(), shard, at)
    engine.change(stream, "UPDATING")


def merge(engine: Engine, stream: Stream, shard_id: str, adjacent_id: str) -> None:
    """Merge two shards whose hash keys adjoin.

    Raises:
        Refused: one is closed, or they do not adjoin.
    """
    _provisioned(engine.active(stream))
    first, second = _open(engine, stream, shard_id), _open(engine, stream, adjacent_id)
    if first.last_hash + 1 != second.first_hash and second.last_hash + 1 != first.first_hash:
        raise invalid(
            f"Shards {first.id} and {second.id} in stream {stream.name} are not an adjacent pair of shards eligible "
            "for merging"
        )
    _merge(engine, stream, engine.moment(), first, second)
    engine.change(stream, "UPDATING")


def scale(engine: Engine, stream: Stream, target: int) -> int:
    """Split and merge until there are `target` shards of even size; returns how many there were.

    What comes in between is closed at once: a shard's grandchildren may be the first that take records.

    Raises:
        Refused: more than double, less than half, or too often within a day.
    """
    _provisioned(engine.active(stream))
    current = len(stream.open_shards)
    today = [moment for moment in stream.scaled if moment > engine.now() - _DAY]
    if engine.quotas.enforced:
        if not current <= 2 * target <= 4 * current:
            raise invalid(
                f"UpdateShardCount cannot scale from {current} to {target} shards: at most double, at least half."
            )
        if len(today) >= SCALED_IN_A_DAY:
            raise limit_exceeded(f"UpdateShardCount was called {SCALED_IN_A_DAY} times for {stream.name} in 24 hours.")
    if target > SHARD_LIMIT:
        raise limit_exceeded(f"An account has {SHARD_LIMIT} shards at most, not {target}.")
    bounds, epoch = even_bounds(target), engine.moment()
    for bound in bounds[1:-1]:
        shard = next(shard for shard in stream.shards if shard.is_open and shard.first_hash <= bound <= shard.last_hash)
        if bound != shard.first_hash:
            _split(engine, stream, epoch, shard, bound)
    for first, end in pairwise(bounds):
        pieces = [shard for shard in stream.shards if shard.is_open and first <= shard.first_hash < end]
        whole, *rest = sorted(pieces, key=lambda shard: shard.first_hash)
        for piece in rest:
            whole = _merge(engine, stream, epoch, whole, piece)
    stream.scaled = [*today, engine.now()]
    engine.change(stream, "UPDATING")
    return current


def _split(engine: Engine, stream: Stream, epoch: int, shard: Shard, at: int) -> None:
    engine.close_shard(shard)
    engine.add_shard(stream, epoch, shard.first_hash, at - 1, shard)
    engine.add_shard(stream, epoch, at, shard.last_hash, shard)


def _merge(engine: Engine, stream: Stream, epoch: int, first: Shard, second: Shard) -> Shard:
    engine.close_shard(first)
    engine.close_shard(second)
    hashes = (first.first_hash, first.last_hash, second.first_hash, second.last_hash)
    return engine.add_shard(stream, epoch, min(hashes), max(hashes), first, second)


def _provisioned(stream: Stream) -> None:
    if stream.mode != "PROVISIONED":
        raise validation(f"Stream {stream.name} is in on-demand mode, whose shards nobody but the service changes")


def _open(engine: Engine, stream: Stream, shard_id: str) -> Shard:
    shard = engine.shard(stream, shard_id)
    if not shard.is_open:
        raise invalid(f"Shard {shard.id} in stream {stream.name} is closed.")
    return shard
