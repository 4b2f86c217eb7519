"""What a shard gives and takes in a second, and how often an account may ask, as AWS allows it.

Buckets are filled by the engine's clock, so a test that sets the clock sets them too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from frazil.dev.kinesis.failures import limit_exceeded, throughput_exceeded
from frazil.dev.kinesis.model import Shard, Stream

MIB: Final = 1 << 20

WRITTEN_BYTES: Final = MIB
"""Bytes of data and partition keys that a shard takes in a second."""

WRITTEN_RECORDS: Final = 1000
"""Records that a shard takes in a second."""

READ_BYTES: Final = 2 * MIB
"""Bytes that a shard gives in a second to all who share it, and to each consumer that is registered."""

READS: Final = 5
"""Calls of GetRecords that a shard answers in a second; as many of GetShardIterator."""

CALLS: Final = {
    "AddTagsToStream": 5,
    "CreateStream": 5,
    "DeleteStream": 5,
    "DescribeLimits": 1,
    "DescribeStream": 10,
    "DescribeStreamSummary": 20,
    "ListStreams": 5,
    "ListTagsForStream": 5,
    "MergeShards": 5,
    "RegisterStreamConsumer": 5,
    "RemoveTagsFromStream": 5,
    "SplitShard": 5,
}
"""How often an account may call some operations in a second."""

LISTINGS: Final = 1000
"""How often ListShards may be called for one stream in a second."""


@dataclass(slots=True)
class Bucket:
    """Holds what may be used now, and is filled at a steady rate up to what is good for one second."""

    rate: float
    """What comes in per second; also what it holds at most."""

    level: float = field(init=False)
    filled_at: float | None = None

    def __post_init__(self) -> None:
        self.level = self.rate

    def fill(self, now: float) -> None:
        """Add what has come in since the last time; `now` in seconds."""
        if self.filled_at is not None:
            self.level = min(self.rate, self.level + self.rate * max(0.0, now - self.filled_at))
        self.filled_at = now

    def holds(self, amount: float) -> bool:
        """Whether `amount` is there; a full bucket has enough for anything, which it then owes."""
        return self.level >= min(amount, self.rate)

    def take(self, amount: float, now: float) -> bool:
        """Take `amount` if it is there."""
        self.fill(now)
        if not self.holds(amount):
            return False
        self.level -= amount
        return True

    def pay(self, amount: float) -> None:
        """Take `amount`, there or not. More than a second's worth is owed whole, whatever was saved."""
        self.level = min(self.level, 0.0) - amount if amount > self.rate else self.level - amount


@dataclass(slots=True)
class _ShardBuckets:
    written_bytes: Bucket = field(default_factory=lambda: Bucket(WRITTEN_BYTES))
    written_records: Bucket = field(default_factory=lambda: Bucket(WRITTEN_RECORDS))
    reads: Bucket = field(default_factory=lambda: Bucket(READS))
    read_bytes: Bucket = field(default_factory=lambda: Bucket(READ_BYTES))
    iterators: Bucket = field(default_factory=lambda: Bucket(READS))


class Quotas:
    """The buckets of all shards.

    Args:
        account: The account that messages name.
        enforced: Whether anything is ever refused; may be changed at any time.
    """

    def __init__(self, account: str, *, enforced: bool) -> None:
        self.enforced = enforced
        self._account = account
        self._shards: dict[int, _ShardBuckets] = {}
        self._calls: dict[tuple[str, int], Bucket] = {}

    def admits(self, shard: Shard, size: int, now: float) -> bool:
        """Whether the shard takes a record of `size` bytes; it is counted if so."""
        if not self.enforced:
            return True
        buckets = self._of(shard)
        buckets.written_bytes.fill(now)
        if not buckets.written_bytes.holds(size) or not buckets.written_records.take(1, now):
            return False
        return buckets.written_bytes.take(size, now)

    def read(self, stream: Stream, shard: Shard, now: float) -> None:
        """Count a call of GetRecords.

        Raises:
            Refused: there were too many, or what was read before is not paid off.
        """
        if not self.enforced:
            return
        buckets = self._of(shard)
        buckets.read_bytes.fill(now)
        if buckets.read_bytes.level <= 0 or not buckets.reads.take(1, now):
            raise throughput_exceeded(stream, shard, self._account)

    def was_read(self, shard: Shard, size: int) -> None:
        """Count the bytes that a call of GetRecords was answered with."""
        if self.enforced:
            self._of(shard).read_bytes.pay(size)

    def iterator(self, stream: Stream, shard: Shard, now: float) -> None:
        """Count a call of GetShardIterator.

        Raises:
            Refused: there were too many.
        """
        if self.enforced and not self._of(shard).iterators.take(1, now):
            raise throughput_exceeded(stream, shard, self._account)

    def call(self, operation: str, now: float) -> None:
        """Count a call of an operation that an account may call so often.

        Raises:
            Refused: there were too many.
        """
        if self.enforced and operation in CALLS:
            self._count(operation, 0, CALLS[operation], now)

    def listing(self, stream: Stream, now: float) -> None:
        """Count a call of ListShards.

        Raises:
            Refused: there were too many.
        """
        if self.enforced:
            self._count("ListShards", stream.row, LISTINGS, now)

    def _count(self, operation: str, row: int, rate: int, now: float) -> None:
        if not self._calls.setdefault((operation, row), Bucket(rate)).take(1, now):
            raise limit_exceeded(f"Rate exceeded for {operation}: at most {rate} calls per second.")

    def _of(self, shard: Shard) -> _ShardBuckets:
        return self._shards.setdefault(shard.row, _ShardBuckets())
