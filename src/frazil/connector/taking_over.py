"""What it means to take over checkpoints of somebody else's: pure rules over checkpoints, shards and tokens."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from frazil.cycle.identity import replaced
from frazil.errors import ChannelAhead, CheckpointExpired, CheckpointOfOtherStream, NoCheckpoints, ResetRefused
from frazil.model import PartitionId, Position, SourcePartition
from frazil.sources.base import TopicFacts
from frazil.sources.kinesis.checkpointed import CheckpointedRecord
from frazil.sources.kinesis.checkpoints import Checkpoint, Keeper, finished, position
from frazil.sources.kinesis.positions import BEGINNING, END
from frazil.tables.rules.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """What was found in a table of DynamoDB's."""

    keeper: Keeper
    table: str
    """Its name."""

    found: Sequence[Checkpoint]

    def __str__(self) -> str:
        return f"{self.keeper}:{self.table}"


@dataclass(frozen=True, slots=True)
class Consent:
    """What somebody has agreed to."""

    loss: bool = False
    """That channels go back, and that shards which are gone are left out."""

    fencing: bool = False
    """That the connector is fenced if it runs."""


@dataclass(frozen=True, slots=True)
class Known:
    """What else is to be known to understand checkpoints."""

    now: int
    """What time it is at the service, in ms since the epoch."""

    initial: int | None
    """When reading was to begin for those who begin at a time, likewise; None if that is not known."""

    records: Mapping[SourcePartition, CheckpointedRecord]
    """The records that checkpoints are at; those that are gone are absent."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What becomes of one channel."""

    partition: SourcePartition
    checkpoint: Checkpoint | None
    """None where the shard has none."""

    held: Position | None
    """Where the channel goes on now; None if it was never opened."""

    target: Position
    """Where it goes on from then on."""

    arrival: int | None
    """When the record of its checkpoint arrived, in ms since the epoch; None where the record is gone or was none."""

    is_doubtful: bool = False
    """Whether the record of the checkpoint is gone, and so may be what followed."""

    @property
    def moves(self) -> bool:
        """Whether anything becomes of it."""
        return self.held is None or self.target != self.held

    @property
    def meaning(self) -> str:
        """What that is, for a person."""
        if self.checkpoint is None or not self.checkpoint.place:
            if self.target == self.held:
                return "no checkpoint; goes on where it is"
            return (
                "read to its end: its children are read" if self.target == END else "no checkpoint; all of it is read"
            )
        if self.is_doubtful:
            return "RETENTION HAS PASSED IT: what followed may be lost"
        if self.target == END:
            return "read to its end"
        if self.checkpoint.place == "LATEST":
            return "new records, from a minute ago on"
        return "goes on there" if self.target != BEGINNING else "all of it is read"


def by_stream(
    checkpoints: Checkpoints, facts: Mapping[str, TopicFacts], stream: str | None
) -> dict[str, list[Checkpoint]]:
    """The checkpoints of each stream of a connector's.

    Args:
        checkpoints: what there is.
        facts: what the service says of the connector's streams.
        stream: which stream they are of, where their table does not say; None: the connector's only one.

    Raises:
        NoCheckpoints: none of them are of one of the streams.
        CheckpointOfOtherStream: a stream was made again since.
    """
    read = ", ".join(sorted(facts))
    if stream is not None and stream not in facts:
        raise NoCheckpoints(
            checkpoints.table, f"cannot be of {stream}: the connector reads {read}", "Correct --stream."
        )
    if stream is None and any(each.stream is None for each in checkpoints.found):
        if len(facts) > 1:
            raise NoCheckpoints(
                checkpoints.table,
                f"does not say of which stream it is, and the connector reads {read}",
                "Name the stream: --stream NAME.",
            )
        stream = next(iter(facts), None)
    found: dict[str, list[Checkpoint]] = {}
    for each in checkpoints.found:
        name = each.stream or stream or ""
        if name in facts and _is_accounts(each, facts[name]):
            found.setdefault(name, []).append(each)
    found = {name: _of_same_stream(of_name, facts[name]) for name, of_name in found.items()}
    if not found:
        others = ", ".join(sorted({each.stream or stream or "" for each in checkpoints.found}))
        raise NoCheckpoints(
            checkpoints.table,
            f"has no checkpoint of {read or 'a stream that exists'}, but of {others}",
            "Check which streams the connector's file names, and in which account.",
        )
    return found


def sequences(
    wanted: Mapping[str, Sequence[Checkpoint]], facts: Mapping[str, TopicFacts]
) -> dict[SourcePartition, int]:
    """The sequence numbers of checkpoints, of shards that are there."""
    there = {partition for each in facts.values() for partition in each.source_partitions()}
    return {
        SourcePartition(stream, each.shard): int(each.place)
        for stream, checkpoints in wanted.items()
        for each in checkpoints
        if each.is_record and SourcePartition(stream, each.shard) in there
    }


def taken_over(
    wanted: Iterable[tuple[TopicFacts, Sequence[Checkpoint]]],
    known: Tokens | None,
    keeper: Keeper,
    about: Known,
    consent: Consent,
) -> list[Taken]:
    """What becomes of the channels of some streams, which go to one table.

    Args:
        wanted: the streams, and their checkpoints.
        known: the connector's tokens in the table.
        keeper: whose the checkpoints are.
        about: what else is known.
        consent: what is allowed.

    Raises:
        CheckpointUnreadable: one says nothing that could be gone on from.
        CheckpointExpired: a shard is gone, and `consent` does not allow that.
        ChannelAhead: a channel is further on, likewise.
        ResetRefused: records of a stream go to several tables, each with tokens of its own.
    """
    taken = [
        each for facts, checkpoints in wanted for each in _taken_of(facts, checkpoints, known, keeper, about, consent)
    ]
    ahead = [each for each in taken if each.held is not None and each.target < each.held]
    if ahead and not consent.loss:
        first = ahead[0]
        held = str(first.held.last) if first.held else ""
        raise ChannelAhead(str(first.partition), held, str(first.target.last), len(ahead) - 1)
    return taken


def with_times(tokens: Tokens, taken: Sequence[Taken]) -> Tokens:
    """The tokens with the arrivals of the checkpoints' records as watermarks: they show what retention has passed."""
    moved = {
        each.partition: replace(tokens.channel(each.partition), read_through=each.arrival, arrived=each.arrival)
        for each in taken
        if each.arrival is not None
    }
    return tokens.with_channels(moved, tokens.topics)


def _taken_of(
    facts: TopicFacts,
    checkpoints: Sequence[Checkpoint],
    known: Tokens | None,
    keeper: Keeper,
    about: Known,
    consent: Consent,
) -> Iterator[Taken]:
    """What becomes of the channels of one stream."""
    if known is not None and facts.topic in known.topics and known.topics[facts.topic].routes:
        raise ResetRefused(
            f"records of {facts.topic} were routed to tables by their values already, each with tokens of its own",
            "Use frazil channels reset for those.",
        )
    held = {} if known is None or replaced(known, facts) else _held(known, facts.topic)
    by_shard: dict[PartitionId, Checkpoint] = {each.shard: each for each in checkpoints}
    places: dict[PartitionId, Position | None] = {
        shard: position(each, about.records.get(SourcePartition(facts.topic, shard)), about.now, about.initial)
        for shard, each in by_shard.items()
    }
    there = {each.id for each in facts.partitions}
    gone = {str(shard) for shard, place in (*places.items(), *held.items()) if shard not in there and _is_open(place)}
    if gone and not consent.loss:
        raise CheckpointExpired(gone)
    done = finished(facts.partitions, by_shard) if keeper == "kcl" else set()
    for each in facts.partitions:
        partition, checkpoint = SourcePartition(facts.topic, each.id), by_shard.get(each.id)
        target = places.get(each.id) or (END if each.id in done else held.get(each.id) or BEGINNING)
        record = about.records.get(partition)
        is_doubtful = record is None and checkpoint is not None and checkpoint.is_record
        arrival = record.arrival if record else None
        yield Taken(partition, checkpoint, held.get(each.id), target, arrival, is_doubtful)


def _held(known: Tokens, stream: str) -> dict[PartitionId, Position]:
    """Where the channels of a stream go on that were opened."""
    channels = known.topics[stream].channels if stream in known.topics else ()
    positions = {each: known.position(SourcePartition(stream, each)) for each in channels}
    return {each: place for each, place in positions.items() if place is not None}


def _is_open(place: Position | None) -> bool:
    """Whether something was to be read behind a place."""
    return place is not None and not place.ended


def _is_accounts(checkpoint: Checkpoint, facts: TopicFacts) -> bool:
    """Whether a checkpoint is of the account that the stream is in, as far as its table says."""
    return checkpoint.account is None or facts.cluster.rpartition(":")[2] in ("", checkpoint.account)


def _of_same_stream(checkpoints: Sequence[Checkpoint], facts: TopicFacts) -> list[Checkpoint]:
    """Those that are of the stream as it is now; a stream that was made again may have left older ones beside them."""
    found = [each for each in checkpoints if each.created in (None, int(facts.id or 0) // 1000) or not facts.id]
    if not found:
        then = dt.datetime.fromtimestamp(max(each.created or 0 for each in checkpoints), dt.UTC)
        now = dt.datetime.fromtimestamp(int(facts.id) / 1000, dt.UTC)
        raise CheckpointOfOtherStream(facts.topic, then.isoformat(), now.isoformat(timespec="seconds"))
    return found
