"""Records that retention deleted before they were read: an error, or skipped and written down in the tokens."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from frazil.cycle.lost_offsets import LostOffsets, last_error
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.cycle.truncations import Truncations
from frazil.errors import DataLoss, FrazilError, LogTruncated, RecordsSkipped, StageFailed
from frazil.model import SourcePartition, TableName
from frazil.sources.base import Source
from frazil.tables.rules.tokens import Tokens

_DELETED: Final = "were deleted by retention before they were read, and are skipped"

_log = structlog.get_logger(__name__)


class DataLossPolicy:
    """Finds out what is gone where an offset is, and decides what that means."""

    def __init__(
        self,
        source: Source,
        opener: Opener,
        tables: Mapping[TableName, OpenTable],
        truncations: Truncations,
        *,
        skip: bool,
    ) -> None:
        """Look at `source`; `skip` when `frazil.on.data.loss` says so."""
        self._truncations = truncations
        self._source = source
        self._opener = opener
        self._tables = tables
        self._skip = skip

    def error(self, vanished: SourcePartition, starts: Mapping[SourcePartition, int]) -> FrazilError:
        """The error for a cycle that met a vanished offset; where losses are skipped, the tokens are behind them then.

        Args:
            vanished: the partition that it met.
            starts: the first offset the cycle was to read, of each of its partitions.
        """
        earliest = self._source.earliest(starts)
        lost = [
            LostOffsets(partition, start, earliest[partition] - 1)
            for partition, start in sorted(starts.items())
            if earliest.get(partition, start) > start
        ]
        if not lost:
            return self._truncations.error(starts) or self._beyond_the_end(vanished, starts[vanished])
        if not self._skip:
            first, *others = lost
            where = first.partition
            return DataLoss(where.topic, where.partition, first.first, first.last, [str(each) for each in others])
        for each in lost:
            _log.error(
                "records are lost: retention deleted them",
                partition=str(each.partition),
                first=each.first,
                last=each.last,
            )
        for opened in self._tables.values():
            mine = [each for each in lost if each.partition.topic in opened.topics]
            if mine:
                self._opener.move(opened, skipped(opened.tokens, mine, time.time_ns() // 1_000_000))
        return RecordsSkipped([str(each) for each in lost])

    def _beyond_the_end(self, partition: SourcePartition, start: int) -> FrazilError:
        latest = self._source.latest([partition]).get(partition)
        if latest is None or start <= latest:
            return StageFailed(str(partition), f"the broker had no offset {start} and has it now")
        return LogTruncated(partition.topic, partition.partition, start - 1, latest)


def skipped(tokens: Tokens, lost: Sequence[LostOffsets], now: int) -> Tokens:
    """The tokens behind what is lost, with the first of it as the last error; `now` in ms since the epoch."""
    channels = {}
    for each in lost:
        known = tokens.channel(each.partition)
        channels[each.partition] = replace(
            known, token=str(each.last), lost=known.lost + each.count, time=now, leader_epoch=None
        )
    return replace(tokens.with_channels(channels, tokens.topics), last_error=last_error(lost, DataLoss.code, _DELETED))
