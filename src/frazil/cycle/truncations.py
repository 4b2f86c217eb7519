"""Logs that were truncated below what is covered, and may have grown again: an error, or read from there on.

An unclean leader election or a disk that lost its end takes records out of a log, and gives their offsets to others.
Rows of the former stay in their tables; the latter are read only if the token goes back to where the logs part. That a
log was truncated shows in the leader epoch of the token (KIP-320): the leaders since then have another end for it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from frazil.cycle.lost_offsets import LostOffsets, last_error
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.errors import FrazilError, LogTruncated, RecordsReplaced, StageFailed
from frazil.model import SourcePartition, TableName
from frazil.sources.base import Position, Source
from frazil.tables.rules.tokens import Tokens

_TRUNCATED: Final = (
    "were truncated from the log after they were read; their rows stay, and what is written at their offsets is read"
)

_log = structlog.get_logger(__name__)


class Truncations:
    """Finds out which logs were truncated, and decides what that means."""

    def __init__(self, source: Source, opener: Opener, tables: Mapping[TableName, OpenTable], *, skip: bool) -> None:
        """Look at `source`; `skip` when `frazil.on.data.loss` says so."""
        self._source = source
        self._opener = opener
        self._tables = tables
        self._skip = skip
        self._held: dict[SourcePartition, tuple[Position, int | None]] = {}
        """Positions whose logs held what was before them, and the leaders that said so."""

    def look(self, starts: Mapping[SourcePartition, int], ends: Mapping[SourcePartition, Position]) -> None:
        """Look at channels that have nothing to read. A task finds out about the others, before it reads.

        Args:
            starts: the first offset not covered, by channel.
            ends: the ends of the partitions.

        Raises:
            LogTruncated: a log was truncated, and the configuration says to stop, or nobody knows where.
            RecordsReplaced: logs were truncated, and the tokens are back at where they part from what was covered.
        """
        positions = {each: self._position(each, starts[each]) for each in starts.keys() & ends.keys()}
        suspect = {each: found for each, found in positions.items() if self._is_suspect(each, found, ends[each])}
        if not suspect:
            return
        # With an epoch on one side only there is nothing to compare: the log has changed, and nobody knows where.
        for partition, position in sorted(suspect.items()):
            if position.leader_epoch is None or ends[partition].leader_epoch is None:
                raise LogTruncated(partition.topic, partition.partition, position.offset - 1, ends[partition].offset)
        error = self.error(starts={each: found.offset for each, found in suspect.items()})
        if error is not None:
            raise error
        for partition, position in sorted(suspect.items()):
            if ends[partition].offset < position.offset:
                # So it is behind an open transaction whose records were read before `isolation.level` was changed.
                raise StageFailed(str(partition), f"it is to end before {position.offset}, which its log holds")
        self._held |= {each: (found, ends[each].leader_epoch) for each, found in suspect.items()}

    def error(self, starts: Mapping[SourcePartition, int]) -> FrazilError | None:
        """The error where logs no longer hold what is covered; if that is skipped, the tokens are back by then.

        Args:
            starts: the first offset not covered, of the channels in question.
        """
        positions = {each: self._position(each, start) for each, start in starts.items()}
        known = {each: found for each, found in positions.items() if found.leader_epoch is not None}
        parted = self._source.divergences(known)
        if not parted:
            return None
        replaced = [LostOffsets(each, at, starts[each] - 1) for each, at in sorted(parted.items()) if at is not None]
        if not self._skip or len(replaced) < len(parted):
            return self._stopping(parted, starts)
        for each in replaced:
            _log.error(
                "a log was truncated below its token: what its offsets hold now is read",
                partition=str(each.partition),
                first=each.first,
                last=each.last,
            )
        for opened in self._tables.values():
            mine = [each for each in replaced if each.partition.topic in opened.topics]
            if mine:
                self._opener.move(opened, moved_back(opened.tokens, mine, time.time_ns() // 1_000_000))
        return RecordsReplaced([str(each) for each in replaced])

    def _position(self, partition: SourcePartition, start: int) -> Position:
        tables = (each for each in self._tables.values() if partition.topic in each.topics)
        return Position(start, next((each.tokens.channel(partition).leader_epoch for each in tables), None))

    def _is_suspect(self, partition: SourcePartition, position: Position, end: Position) -> bool:
        if end.offset != position.offset:
            return end.offset < position.offset
        known = position.leader_epoch is not None and end.leader_epoch is not None
        return (
            known
            and end.leader_epoch != position.leader_epoch
            and self._held.get(partition) != (position, end.leader_epoch)
        )

    def _stopping(
        self, parted: Mapping[SourcePartition, int | None], starts: Mapping[SourcePartition, int]
    ) -> LogTruncated:
        """The error for the first of them, those first that nobody knows enough of."""
        first, *others = sorted(parted, key=lambda each: (parted[each] is not None, each))
        end = self._source.latest([first]).get(first, starts[first])
        named = [str(each) for each in others]
        return LogTruncated(first.topic, first.partition, starts[first] - 1, end, parted[first], named)


def moved_back(tokens: Tokens, replaced: Sequence[LostOffsets], now: int) -> Tokens:
    """The tokens before what was replaced, with the first of it as the last error; `now` in ms since the epoch."""
    channels = {}
    for each in replaced:
        known = tokens.channel(each.partition)
        # The epoch stays: whatever its leader had up to where the logs part, the log has still.
        lost = known.lost + each.count
        channels[each.partition] = replace(known, token=str(each.first - 1), lost=lost, time=now)
    return replace(
        tokens.with_channels(channels, tokens.topics), last_error=last_error(replaced, LogTruncated.code, _TRUNCATED)
    )
