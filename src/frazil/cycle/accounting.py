"""What the tasks of a cycle did, put together by table: the tokens, counts and errors a commit writes. Pure rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from frazil.errors import InvalidRecord, UnfitValue
from frazil.model import Range, Reject, SourcePartition, Staged, StagedRange
from frazil.sources.base import TopicFacts
from frazil.tables.rules.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Advance:
    """How far one channel came in a cycle."""

    start: int
    """The first offset the cycle read."""

    covered: int
    """The first offset not covered."""

    parsed: int
    inserted: int
    errors: int
    bytes: int
    length: int
    """Offsets the cycle read, gaps included."""

    leader_epoch: int | None
    """A leader epoch whose leader had everything before `covered` in its log; None where it is not known."""


def beyond_first_reject(staged: Sequence[Staged], planned: Iterable[Range]) -> list[tuple[Staged, list[Range]]]:
    """The tasks whose files must not be committed, each with those of its ranges that may be if staged again.

    A task may have stopped at a bad record. A later piece of the same partition, which another task staged, is then
    behind a hole: it has to be read again in its turn, or its rows would come twice. So that other task's files go,
    which hold good rows of other partitions too.
    """
    reached: dict[SourcePartition, int] = {}
    for each in planned:
        reached[each.partition] = min(each.start, reached.get(each.partition, each.start))
    for partition, pieces in _pieces(staged).items():
        for piece in pieces:
            if piece.start == reached[partition]:
                reached[partition] = piece.covered
    return [
        (task, [Range(each.partition, each.start, each.covered) for each in good if each.covered > each.start])
        for task in staged
        if len(good := [each for each in task.ranges if each.start <= reached[each.partition]]) < len(task.ranges)
    ]


def mixed(staged: Iterable[Staged]) -> SourcePartition | None:
    """A partition whose pieces were read from different logs: it was truncated after a later one had been read."""
    for partition, pieces in _pieces(staged).items():
        epochs = [each.record_epoch for each in pieces if each.record_epoch is not None]
        if epochs != sorted(epochs):
            return partition
    return None


def advances(staged: Iterable[Staged]) -> dict[SourcePartition, Advance]:
    """How far each channel came: its sub-ranges count only as far as they join without a hole."""
    return {partition: _joined(pieces) for partition, pieces in _pieces(staged).items()}


def average_sizes(staged: Iterable[Staged]) -> dict[str, float]:
    """Average bytes per offset of what was read, by topic."""
    read: dict[str, list[StagedRange]] = {}
    for task in staged:
        for each in task.ranges:
            read.setdefault(each.partition.topic, []).append(each)
    lengths = {topic: sum(each.covered - each.start for each in found) for topic, found in read.items()}
    return {
        topic: max(1.0, sum(each.bytes for each in found) / lengths[topic])
        for topic, found in read.items()
        if lengths[topic]
    }


def moved(
    tokens: Tokens, progress: Mapping[SourcePartition, Advance], facts: Mapping[str, TopicFacts], now: int
) -> Tokens:
    """The tokens after a cycle; channels it did not move are carried forward."""
    channels = {}
    for partition, advance in progress.items():
        known = tokens.channel(partition)
        channels[partition] = replace(
            known,
            token=str(advance.covered - 1),
            leader_epoch=advance.leader_epoch if advance.length else known.leader_epoch,
            inserted=known.inserted + advance.inserted,
            parsed=known.parsed + advance.parsed,
            errors=known.errors + advance.errors,
            time=now,
        )
    return tokens.with_channels(channels, facts)


def first_reject(staged: Iterable[Staged]) -> Reject | None:
    """The first reject of a cycle, by partition and offset."""
    rejects = [task.rejects.first for task in staged if task.rejects]
    return min(rejects, key=lambda reject: (reject.partition, reject.offset), default=None)


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


def _pieces(staged: Iterable[Staged]) -> dict[SourcePartition, list[StagedRange]]:
    """What was staged of each partition, in order."""
    pieces: dict[SourcePartition, list[StagedRange]] = {}
    for task in staged:
        for each in task.ranges:
            pieces.setdefault(each.partition, []).append(each)
    return {partition: sorted(found, key=lambda each: each.start) for partition, found in pieces.items()}


def _joined(pieces: Sequence[StagedRange]) -> Advance:
    covered = pieces[0].start
    total = Advance(covered, covered, 0, 0, 0, 0, 0, None)
    for piece in pieces:
        if piece.start != covered:
            break
        covered = piece.covered
        total = replace(
            total,
            covered=covered,
            parsed=total.parsed + piece.parsed,
            inserted=total.inserted + piece.inserted,
            errors=total.errors + piece.errors,
            bytes=total.bytes + piece.bytes,
            length=total.length + piece.covered - piece.start,
            leader_epoch=piece.leader_epoch if piece.covered > piece.start else total.leader_epoch,
        )
    return total
