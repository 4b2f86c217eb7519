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

from frazil.cycle.lost_records import LostRecords, last_error
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.errors import FrazilError, LogTruncated, RecordsReplaced
from frazil.model import Position, SourcePartition, TableName
from frazil.sources.base import Source
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

    def look(self, starts: Mapping[SourcePartition, Position], ends: Mapping[SourcePartition, Position]) -> None:
        """Look at channels that have nothing to read. A task finds out about the others, before it reads.

        Args:
            starts: where each channel goes on.
            ends: the ends of the partitions.

        Raises:
            LogTruncated: a log was truncated, and the configuration says to stop, or nobody knows where.
            RecordsReplaced: logs were truncated, and the tokens are back at where they part from what was covered.
        """
        parted = self._source.look_for_truncation(starts, ends)
        if parted:
            raise self._of(parted, starts)

    def error(self, starts: Mapping[SourcePartition, Position]) -> FrazilError | None:
        """The error where logs no longer hold what is covered; if that is skipped, the tokens are back by then.

        Args:
            starts: where the channels in question go on.
        """
        parted = self._source.diverged(starts)
        return self._of(parted, starts) if parted else None

    def _of(
        self, parted: Mapping[SourcePartition, Position | None], starts: Mapping[SourcePartition, Position]
    ) -> FrazilError:
        replaced = [LostRecords(each, at, starts[each]) for each in sorted(parted) if (at := parted[each]) is not None]
        if not self._skip or len(replaced) < len(parted):
            return self._stopping(parted, starts)
        for each in replaced:
            _log.error(
                "a log was truncated below its token: what its offsets hold now is read",
                partition=str(each.partition),
                first=each.start.first,
                last=each.end.last,
            )
        for opened in self._tables.values():
            mine = [each for each in replaced if each.partition.topic in opened.topics]
            ahead = [
                replace(each, end=opened.tokens.start(each.partition))
                for each in mine
                if each.start < opened.tokens.start(each.partition)
            ]
            if ahead and opened.holds:
                # What was covered and what of it is replaced are told one after the other, as in any other table.
                self._opener.move(opened, opened.tokens)
            if ahead:
                self._opener.move(opened, moved_back(opened.tokens, ahead, time.time_ns() // 1_000_000))
        return RecordsReplaced([str(each) for each in replaced])

    def _stopping(
        self, parted: Mapping[SourcePartition, Position | None], starts: Mapping[SourcePartition, Position]
    ) -> LogTruncated:
        """The error for the first of them, those first that nobody knows enough of."""
        first, *others = sorted(parted, key=lambda each: (parted[each] is not None, each))
        end, at = self._source.ends([first]).get(first, starts[first]), parted[first]
        named = [str(each) for each in others]
        return LogTruncated(str(first), starts[first].last, end.first, None if at is None else at.first, named)


def moved_back(tokens: Tokens, replaced: Sequence[LostRecords], now: int) -> Tokens:
    """The tokens before what was replaced, with the first of it as the last error; `now` in ms since the epoch."""
    channels = {}
    for each in replaced:
        known = tokens.channel(each.partition)
        # The epoch stays: whatever its leader had up to where the logs part, the log has still.
        lost = known.lost + each.count
        channels[each.partition] = replace(known, token=str(each.start.last), lost=lost, time=now)
    return replace(
        tokens.with_channels(channels, tokens.topics), last_error=last_error(replaced, LogTruncated.code, _TRUNCATED)
    )
