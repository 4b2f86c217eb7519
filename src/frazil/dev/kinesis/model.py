"""The nouns of the local stream: streams, shards, consumers, records. Moments are milliseconds since the epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from frazil.dev.kinesis.numbers import Number

HASH_KEYS: Final = 1 << 128
"""How many hash keys there are; each belongs to one open shard."""

Status = Literal["CREATING", "ACTIVE", "UPDATING", "DELETING"]


@dataclass(slots=True)
class Shard:
    """A part of a stream's hash keys, for as long as nobody split or merged it."""

    row: int
    """Names the shard among those of all streams, for good."""

    number: int
    """Its place among the shards of its stream; its id has it."""

    first_hash: int
    last_hash: int
    epoch: int
    """When it came to be."""

    parents: list[str] = field(default_factory=list)
    """The ids of the shard it was split from, or of the two it was merged from."""

    closed_at: int | None = None
    ending: str | None = None
    """The sequence number it was closed at, greater than that of each record."""

    trimmed: int = 0
    """Records up to this one are gone."""

    count: int = 0
    """How many records it was given so far."""

    arrival: int = 0
    """When the last of them arrived."""

    @property
    def id(self) -> str:
        """As AWS writes it."""
        return f"shardId-{self.number:012}"

    @property
    def is_open(self) -> bool:
        """Whether it takes records."""
        return self.closed_at is None

    @property
    def starting(self) -> str:
        """The sequence number below those of all its records."""
        return str(Number(self.epoch, self.number, 0, 0))

    def number_of(self, record: Record) -> str:
        """The sequence number of one of its records."""
        return str(Number(self.epoch, self.number, record.arrival, record.ordinal))


class Record(NamedTuple):
    """A record as it is kept."""

    ordinal: int
    """Which record of its shard it is; the first is 1."""

    arrival: int
    key: str | None
    """None where records are distributed without keys."""

    encrypted: bool
    data: bytes

    @property
    def size(self) -> int:
        """What quotas count: the bytes of data and partition key."""
        return size(self.data, self.key)


class Placed(NamedTuple):
    """Where a record is in its shard."""

    arrival: int
    ordinal: int


@dataclass(slots=True)
class Consumer:
    """A registered consumer, which has the throughput of a shard to itself."""

    name: str
    arn: str
    created: int
    tags: dict[str, str] = field(default_factory=dict)
    policy: str | None = None
    settles: float = 0.0
    """When it is ACTIVE, by the engine's stopwatch."""


@dataclass(slots=True)
class Stream:
    """A stream with all its shards that are not expired."""

    row: int
    """Names this incarnation, for good."""

    name: str
    arn: str
    created: int
    """No two incarnations share it."""

    mode: str = "PROVISIONED"
    retention_hours: int = 24
    key_id: str | None = None
    """The key records are said to be encrypted with; None for none."""

    max_record_kib: int = 1024
    distribution: str = "USER_PARTITION_KEY"
    warm_mib: int | None = None
    policy: str | None = None
    metrics: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    shards: list[Shard] = field(default_factory=list)
    consumers: dict[str, Consumer] = field(default_factory=dict)
    scaled: list[int] = field(default_factory=list)
    """When UpdateShardCount was carried out lately."""

    changing: Status = "ACTIVE"
    """Its status until it settles."""

    settles: float = 0.0
    """When it is ACTIVE, or gone, by the engine's stopwatch."""

    @property
    def open_shards(self) -> list[Shard]:
        """Those that take records, by their hash keys."""
        return sorted((shard for shard in self.shards if shard.is_open), key=lambda shard: shard.first_hash)


def size(data: bytes, key: str | None) -> int:
    """What quotas and limits count of a record: the bytes of data and partition key."""
    return len(data) + (len(key) if key is not None and key.isascii() else len((key or "").encode()))
