"""Records that retention deleted before they were read: an error, or skipped and written down in the tokens."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from frazil.cycle.lost_records import LostRecords, last_error
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.cycle.table_pool import TablePool, errors_in
from frazil.cycle.table_set import TableSet
from frazil.cycle.truncations import Truncations
from frazil.errors import DataLoss, FrazilError, LogTruncated, RecordsSkipped, StageFailed
from frazil.model import Position, Range, SourcePartition, TableName
from frazil.sources.base import Source
from frazil.tables.rules.tokens import Tokens

_DELETED: Final = "were deleted by retention before they were read, and are skipped"

_log = structlog.get_logger(__name__)


class DataLossPolicy:
    """Finds out what is gone where a record is, and decides what that means."""

    def __init__(
        self,
        source: Source,
        opener: Opener,
        tables: TableSet,
        together: TablePool,
        truncations: Truncations,
        *,
        skip: bool,
    ) -> None:
        """Look at `source`; `skip` when `frazil.on.data.loss` says so."""
        self._truncations = truncations
        self._source = source
        self._opener = opener
        self._set = tables
        self._together = together
        self._skip = skip

    def look_again(self, planned: Iterable[Range]) -> None:
        """Look at logs once more after ranges were read; see `Truncations.look_again`."""
        self._truncations.look_again(planned)

    def error(self, vanished: SourcePartition, starts: Mapping[SourcePartition, Position]) -> FrazilError:
        """The error for a cycle that met a vanished record; where losses are skipped, the tokens are behind them then.

        Args:
            vanished: the partition that it met.
            starts: where the cycle was to begin, in each of its partitions.
        """
        earliest = self._source.earliest(starts)
        lost = [
            LostRecords(partition, start, earliest[partition])
            for partition, start in sorted(starts.items(), key=lambda each: each[0])
            if start < earliest.get(partition, start)
        ]
        if not lost:
            return self._truncations.error(starts.keys()) or self._beyond_the_end(vanished, starts[vanished])
        if not self._skip:
            first, *others = lost
            where = first.partition
            return DataLoss(str(where), first.start.first, first.end.last, [str(each) for each in others])
        for each in lost:
            _log.error(
                "records are lost: retention deleted them",
                partition=str(each.partition),
                first=each.start.first,
                last=each.end.last,
            )
        behind = {name: mine for name, opened in self._set.working().items() if (mine := _behind(opened, lost))}
        self._set.fail(errors_in(behind, self._together.each(self._skip_over, [*behind.items()])))
        return RecordsSkipped([str(each) for each in lost])

    def _skip_over(self, item: tuple[TableName, Sequence[LostRecords]]) -> None:
        name, lost = item
        opened = self._set.opened[name]
        self._opener.move(opened, skipped(opened.tokens, lost, time.time_ns() // 1_000_000))

    def _beyond_the_end(self, partition: SourcePartition, start: Position) -> FrazilError:
        end = self._source.ends([partition]).get(partition)
        if end is None or start <= end:
            return StageFailed(str(partition), f"the broker had no offset {start.first} and has it now")
        return LogTruncated(str(partition), start.last, end.first)


def _behind(opened: OpenTable, lost: Sequence[LostRecords]) -> list[LostRecords]:
    """What one table has lost: it may have got further than another one that the partition feeds."""
    found = []
    for each in lost:
        own = opened.tokens.start(each.partition)
        if each.partition.topic in opened.topics and own < each.end:
            found.append(replace(each, start=own) if each.start < own else each)
    return found


def skipped(tokens: Tokens, lost: Sequence[LostRecords], now: int) -> Tokens:
    """The tokens behind what is lost, with the first of it as the last error; `now` in ms since the epoch."""
    channels = {}
    for each in lost:
        known = tokens.channel(each.partition)
        channels[each.partition] = replace(
            known, token=str(each.end.last), lost=known.lost + each.count, time=now, leader_epoch=None
        )
    return replace(tokens.with_channels(channels, tokens.topics), last_error=last_error(lost, DataLoss.code, _DELETED))
