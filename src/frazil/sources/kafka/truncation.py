"""Which logs may have been truncated below what was read of them: by their ends and leader epochs (KIP-320)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from frazil.errors import LogTruncated, StageFailed
from frazil.model import SourcePartition
from frazil.sources.kafka.positions import KafkaPosition

Positions: TypeAlias = Mapping[SourcePartition, KafkaPosition]
Parted: TypeAlias = Mapping[SourcePartition, KafkaPosition | None]


class TruncationWatch:
    """Compares positions with the ends of logs, and asks only where they do not go together."""

    def __init__(self, diverged: Callable[[Positions], Parted]) -> None:
        """Ask `diverged` where logs part from positions; see `frazil.sources.base.Source.diverged`."""
        self._diverged = diverged
        self._held: dict[tuple[SourcePartition, int, int | None], int | None] = {}
        """By offset and epoch of what was read: the epoch of the leader whose log held it."""

    def look(self, starts: Positions, ends: Positions) -> Parted:
        """Look at channels that have nothing to read; see `frazil.sources.base.Source.look_for_truncation`."""
        suspect = {each: starts[each] for each in starts.keys() & ends.keys() if self._is_suspect(each, starts, ends)}
        if not suspect:
            return {}
        # With an epoch on one side only there is nothing to compare: the log has changed, and nobody knows where.
        for partition, position in sorted(suspect.items()):
            if position.leader_epoch is None or ends[partition].leader_epoch is None:
                raise LogTruncated(str(partition), position.last, ends[partition].offset)
        if parted := self._diverged(suspect):
            return parted
        for partition, position in sorted(suspect.items()):
            if ends[partition] < position:
                # So it is behind an open transaction whose records were read before `isolation.level` was changed.
                raise StageFailed(str(partition), f"it is to end before {position.offset}, which its log holds")
        current = {key: epoch for key, epoch in self._held.items() if key[0] not in ends or _leads(ends[key[0]], epoch)}
        told = {(each, at.offset, at.leader_epoch): ends[each].leader_epoch for each, at in suspect.items()}
        self._held = current | told
        return {}

    def _is_suspect(self, partition: SourcePartition, starts: Positions, ends: Positions) -> bool:
        position, end = starts[partition], ends[partition]
        if end != position:
            return end < position
        known = position.leader_epoch is not None and end.leader_epoch is not None
        return (
            known
            and end.leader_epoch != position.leader_epoch
            and self._held.get((partition, position.offset, position.leader_epoch), -1) != end.leader_epoch
        )


def _leads(end: KafkaPosition, leader_epoch: int | None) -> bool:
    return end.leader_epoch == leader_epoch
