"""What the tasks of a cycle did, put together by table: the tokens, counts and errors a commit writes. Pure rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from frazil.errors import InvalidRecord, UnfitValue
from frazil.model import Reject, SourcePartition, Staged, StagedRange
from frazil.sources.base import TopicFacts
from frazil.tables.tokens import Channel, Tokens


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


def consistent(staged: Iterable[Staged]) -> list[Staged]:
    """The tasks whose files may be committed together: no range of theirs begins behind a hole.

    A task may have stopped at a bad record; a later piece of the same partition, staged by another task, must then be
    read again in its turn, or its rows would come twice.
    """
    kept = list(staged)
    # Where the cycle began reading: once the task with a partition's first piece is left out, so are the later pieces.
    first = {partition: advance.start for partition, advance in advances(kept).items()}
    while True:
        progress = advances(kept)
        reached = {
            partition: advance.covered if advance.start == first[partition] else first[partition]
            for partition, advance in progress.items()
        }
        behind = [task for task in kept if any(each.start > reached[each.partition] for each in task.ranges)]
        if not behind:
            return kept
        kept = [task for task in kept if task not in behind]


def advances(staged: Iterable[Staged]) -> dict[SourcePartition, Advance]:
    """How far each channel came: its sub-ranges count only as far as they join without a hole."""
    pieces: dict[SourcePartition, list[StagedRange]] = {}
    for task in staged:
        for each in task.ranges:
            pieces.setdefault(each.partition, []).append(each)
    return {partition: _joined(sorted(found, key=lambda each: each.start)) for partition, found in pieces.items()}


def moved(
    tokens: Tokens, progress: Mapping[SourcePartition, Advance], facts: Mapping[str, TopicFacts], now: int
) -> Tokens:
    """The tokens after a cycle; channels it did not move are carried forward."""
    for partition, advance in progress.items():
        known = tokens.channel(partition)
        channel = Channel(
            token=str(advance.covered - 1),
            leader_epoch=advance.leader_epoch if advance.leader_epoch is not None else known.leader_epoch,
            inserted=known.inserted + advance.inserted,
            parsed=known.parsed + advance.parsed,
            errors=known.errors + advance.errors,
            time=now,
        )
        topic = facts[partition.topic]
        tokens = tokens.with_channel(partition, channel, topic.cluster, topic.id)
    return tokens


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
            leader_epoch=piece.leader_epoch if piece.leader_epoch is not None else total.leader_epoch,
        )
    return total
