"""What others know of the shards they read, kept in DynamoDB: Amazon's client library (KCL), and Openflow.

A table of the KCL has one row for each shard, a lease: of one stream, by the shard's id, or of several, by account,
stream, the second in which that was made, and shard. Newer versions keep other things in the same table. A lease goes
once its shard was read to the end and the children's reading has begun. Openflow's rows are by stream and shard, beside
rows about its nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from frazil.errors import CheckpointUnreadable
from frazil.model import PartitionId
from frazil.sources.base import PartitionFacts
from frazil.sources.kinesis.checkpointed import CheckpointedRecord
from frazil.sources.kinesis.positions import BEGINNING, END, KinesisPosition, after, at_time

Keeper: TypeAlias = Literal["kcl", "openflow"]
"""Whose table it is."""

Row: TypeAlias = Mapping[str, Any]
"""A row of DynamoDB's, with values of Python's."""

MARGIN_MS: Final = 60_000
"""How much before now a shard is gone on from whose reading was to begin with new records."""

_LEASE: Final = "LEASE"
_SINGLE: Final = re.compile(r"shardId-[0-9]{12}")
_MULTI: Final = re.compile(
    rf"(?P<account>[0-9]{{12}}):(?P<stream>[a-zA-Z0-9_.-]+):(?P<created>[0-9]+):(?P<shard>{_SINGLE.pattern})"
)
_SEQUENCE: Final = re.compile(r"[0-9]{1,129}")
_OWN_ROWS: Final = "__"
"""How the shard's or the stream's name begins in rows of Openflow's that are about nodes and migrations."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far somebody has read one shard."""

    shard: str
    place: str
    """A sequence number, or a word that stands for a place; empty where nothing was read."""

    sub: int | None = None
    """The last user record that was read of an aggregated record; None where that is all of them."""

    stream: str | None = None
    """None where the table is of one stream and does not say of which."""

    account: str | None = None
    """The stream's, where the table says it."""

    created: int | None = None
    """When the stream was made, in seconds since the epoch, where the table says it."""

    @property
    def is_record(self) -> bool:
        """Whether the place is a record's."""
        return _SEQUENCE.fullmatch(self.place) is not None

    @property
    def written(self) -> str:
        """The place as people see it."""
        return f"{self.place}:{self.sub}" if self.sub is not None else self.place


def of_kcl(rows: Iterable[Row]) -> Iterator[Checkpoint]:
    """The checkpoints in a table of the KCL; rows that are no leases are left out.

    Raises:
        CheckpointUnreadable: a lease has a key of a form that is not known.
    """
    for row in rows:
        key = row.get("leaseKey")
        if key is None or row.get("entityType", _LEASE) != _LEASE:
            continue
        place = str(row.get("checkpoint", ""))
        sub = row.get("checkpointSubSequenceNumber")
        within = int(sub) if sub is not None and _SEQUENCE.fullmatch(place) else None
        if _SINGLE.fullmatch(key):
            yield Checkpoint(key, place, within)
        elif match := _MULTI.fullmatch(key):
            yield Checkpoint(match["shard"], place, within, match["stream"], match["account"], int(match["created"]))
        else:
            raise CheckpointUnreadable(
                f"the lease {key!r}",
                "is neither of a shard nor of account, stream, time and shard",
                "Check that the table is one of the KCL's.",
            )


def of_openflow(rows: Iterable[Row]) -> Iterator[Checkpoint]:
    """The checkpoints in a table of Openflow's; rows about nodes and migrations are left out."""
    for row in rows:
        stream, shard = row.get("streamName"), row.get("shardId")
        if stream is None or shard is None or str(stream).startswith(_OWN_ROWS) or str(shard).startswith(_OWN_ROWS):
            continue
        yield Checkpoint(str(shard), str(row.get("sequenceNumber") or ""), stream=str(stream))


def position(
    checkpoint: Checkpoint, record: CheckpointedRecord | None, now: int, initial: int | None
) -> KinesisPosition | None:
    """Where to go on; None where nothing was read.

    Args:
        checkpoint: how far somebody came.
        record: the record that it is at; None where it is at none, or at one that is gone.
        now: what time it is at the service, in ms since the epoch.
        initial: when reading was to begin for those who begin at a time, in ms since the epoch, if that is known.

    Raises:
        CheckpointUnreadable: the place is none, or a time that is not known.
    """
    match checkpoint.place:
        case "":
            return None
        case "SHARD_END":
            return END
        case "TRIM_HORIZON":
            return BEGINNING
        case "LATEST":
            return at_time(now - MARGIN_MS)
        case "AT_TIMESTAMP" if initial is not None:
            return at_time(initial)
        case "AT_TIMESTAMP":
            raise CheckpointUnreadable(
                checkpoint.shard,
                "is AT_TIMESTAMP, and its table does not say which",
                "Write frazil.kinesis.initial.position=AT_TIMESTAMP and frazil.kinesis.initial.timestamp.",
            )
        case place if checkpoint.is_record:
            return after(int(place), None if _is_whole(checkpoint.sub, record) else checkpoint.sub)
        case place:
            raise CheckpointUnreadable(
                checkpoint.shard,
                f"is {place[:140]!r}, which is neither a sequence number nor a word for a place",
                "Check that the table is one of checkpoints.",
            )


def _is_whole(sub: int | None, record: CheckpointedRecord | None) -> bool:
    """Whether all of the record was read; the KCL gives a record that is not aggregated the sub-sequence number 0."""
    if sub is None:
        return True
    return record is not None and (record.user_records is None or sub >= record.user_records - 1)


def finished(shards: Sequence[PartitionFacts], known: Iterable[PartitionId]) -> set[PartitionId]:
    """Shards without a lease that were read to the end: those from which shards with a lease descend."""
    parents = {each.id: each.parents for each in shards}
    known = set(known)
    found: set[PartitionId] = set()
    left = [parent for each in known for parent in parents.get(each, ())]
    while left:
        each = left.pop()
        if each in parents and each not in found:
            left += parents[each]
            found.add(each)
    return found - known
