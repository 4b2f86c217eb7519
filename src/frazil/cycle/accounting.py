"""What the tasks of a cycle did, put together by table: the tokens, counts and errors a commit writes. Pure rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from frazil.cycle.vanished import without_expired
from frazil.errors import InvalidRecord, UnfitValue
from frazil.model import Position, Range, Reject, SourcePartition, Staged, StagedRange, StagedTable
from frazil.sources import kinds
from frazil.sources.base import TopicFacts
from frazil.tables.rules.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Advance:
    """How far one channel came in a cycle."""

    start: Position
    """Where the cycle began to read."""

    covered: Position
    """How far it came."""

    parsed: int = 0
    inserted: int = 0
    errors: int = 0
    read_through: int | None = None
    """What had come by then is covered, in ms since the epoch; None where the source cannot tell."""

    arrived: int | None = None
    """When the record right before `covered` arrived, in ms since the epoch; None where it is not known."""


def beyond_first_reject(staged: Sequence[Staged], planned: Iterable[Range]) -> list[tuple[Staged, list[Range]]]:
    """The tasks whose files must not be committed, each with those of its ranges that may be if staged again.

    A task may have stopped at a bad record. A later piece of the same partition, which another task staged, is then
    behind a hole: it has to be read again in its turn, or its rows would come twice. So that other task's files go,
    which hold good rows of other partitions too.
    """
    reached: dict[SourcePartition, Position] = {}
    for each in planned:
        known = reached.get(each.partition)
        reached[each.partition] = each.start if known is None or each.start < known else known
    for partition, pieces in _pieces(each for task in staged for each in task.ranges).items():
        for piece in pieces:
            if piece.start == reached[partition]:
                reached[partition] = piece.covered
    return [
        (task, [Range(each.partition, each.start, each.covered) for each in good if each.start < each.covered])
        for task in staged
        if len(good := [each for each in task.ranges if each.start <= reached[each.partition]]) < len(task.ranges)
    ]


def mixed(staged: Iterable[Staged]) -> SourcePartition | None:
    """A partition whose pieces were read from different logs: it was truncated after a later one had been read."""
    for partition, pieces in _pieces(each for task in staged for each in task.ranges).items():
        epochs = [each.record_epoch for each in pieces if each.record_epoch is not None]
        if epochs != sorted(epochs):
            return partition
    return None


def advances(staged: Iterable[Staged | StagedTable], tokens: Tokens | None = None) -> dict[SourcePartition, Advance]:
    """How far each partition was read, or its channel on one table came: its sub-ranges up to the first hole.

    Args:
        staged: what tasks did.
        tokens: those of the table; of a range that was cut, it may have whole pieces already.
    """
    pieces = _pieces(each for part in staged for each in part.ranges)
    starts = {partition: tokens.position(partition) if tokens else None for partition in pieces}
    return {partition: _joined(found, starts[partition] or found[0].start) for partition, found in pieces.items()}


def stray(staged: Iterable[StagedTable], progress: Mapping[SourcePartition, Advance]) -> SourcePartition | None:
    """A partition of which more was staged for a table than its channel moves over: its rows would come again."""
    for partition, pieces in _pieces(each for part in staged for each in part.ranges).items():
        if sum(each.parsed for each in pieces) != progress[partition].parsed:
            return partition
    return None


def average_sizes(staged: Iterable[Staged]) -> dict[str, float]:
    """Average bytes per record of what was read, by topic; gaps count as records."""
    read: dict[str, list[StagedRange]] = {}
    for task in staged:
        for each in task.ranges:
            read.setdefault(each.partition.topic, []).append(each)
    lengths = {topic: sum(each.span for each in found) for topic, found in read.items()}
    return {
        topic: max(1.0, sum(each.bytes for each in found) / lengths[topic])
        for topic, found in read.items()
        if lengths[topic]
    }


def moved(
    tokens: Tokens, progress: Mapping[SourcePartition, Advance], facts: Mapping[str, TopicFacts], now: int
) -> Tokens:
    """The tokens after a cycle; channels it did not move are carried forward. `now` in ms since the epoch."""
    parents = {
        SourcePartition(topic.topic, each.id): each.parents
        for topic in facts.values()
        for each in topic.partitions
        if each.parents
    }
    channels = {}
    for partition, advance in progress.items():
        known = tokens.channel(partition)
        further = advance.start < advance.covered
        channels[partition] = replace(
            known,
            token=str(advance.covered.last) if further or known.token is None else known.token,
            leader_epoch=advance.covered.leader_epoch if further else known.leader_epoch,
            inserted=known.inserted + advance.inserted,
            parsed=known.parsed + advance.parsed,
            errors=known.errors + advance.errors,
            time=now,
            closed=advance.covered.ended,
            parents=parents.get(partition, known.parents),
            read_through=_watermark(advance, known.read_through),
            arrived=advance.arrived if further else known.arrived,
            # What follows a record that was wanted is wanted.
            next_start=None if advance.parsed else known.next_start,
        )
    return without_expired(tokens.with_channels(channels, facts), facts)


def first_reject(staged: Iterable[StagedTable], kind: str) -> Reject | None:
    """The first reject of a cycle, by partition and where it lies there; `kind` is the source's."""
    rejects = [part.rejects.first for part in staged if part.rejects]
    return min(rejects, key=lambda reject: (reject.partition, kinds.before(kind, reject.offset)), default=None)


def error_of(reject: Reject) -> InvalidRecord:
    """The error that stops a connector whose tolerance is none."""
    kind = UnfitValue if reject.code == UnfitValue.code else InvalidRecord
    return kind(_place(reject), reject.reason, reject.start_of_value())


def last_error(reject: Reject) -> dict[str, Any]:
    """The reject as the tokens keep it; the record's own bytes stay out of the table's metadata."""
    return {**_place(reject), "code": reject.code, "reason": reject.reason}


def _place(reject: Reject) -> dict[str, Any]:
    return {
        "topic": reject.partition.topic,
        "partition": reject.partition.partition,
        "offset": reject.offset,
        "column": reject.column,
    }


def parts(staged: Iterable[Staged]) -> list[StagedTable]:
    """What tasks staged for all their tables."""
    return [part for task in staged for part in task.tables]


def _pieces(ranges: Iterable[StagedRange]) -> dict[SourcePartition, list[StagedRange]]:
    """What was staged of each partition, in order."""
    pieces: dict[SourcePartition, list[StagedRange]] = {}
    for each in ranges:
        pieces.setdefault(each.partition, []).append(each)
    return {partition: sorted(found, key=lambda each: each.start) for partition, found in pieces.items()}


def _joined(pieces: Sequence[StagedRange], covered: Position) -> Advance:
    total = Advance(covered, covered)
    for piece in pieces:
        if piece.start < covered and piece.covered <= covered:
            continue
        if piece.start != covered:
            break
        if piece.start < piece.covered:
            covered = piece.covered
        total = Advance(
            total.start,
            covered,
            parsed=total.parsed + piece.parsed,
            inserted=total.inserted + piece.inserted,
            errors=total.errors + piece.errors,
            read_through=_later(piece.read_through, total.read_through),
            arrived=piece.arrived if piece.start < piece.covered else total.arrived,
        )
    return total


def _watermark(advance: Advance, known: int | None) -> int | None:
    """What the last reader said. Only where it found no record, an earlier and later time still holds."""
    if advance.read_through is None:
        return known
    return advance.read_through if advance.parsed else _later(advance.read_through, known)


def _later(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)
