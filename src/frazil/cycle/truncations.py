"""Logs that were truncated below what is covered, and may have grown again: an error, or read from there on.

An unclean leader election or a disk that lost its end takes records out of a log, and gives their offsets to others.
Rows of the former stay in their tables; the latter are read only if the token goes back to where the logs part. That a
log was truncated shows in the leader epoch of the token (KIP-320): the leaders since then have another end for it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import structlog

from frazil.cycle.lost_records import LostRecords, last_error
from frazil.cycle.open_tables import starts_of
from frazil.cycle.opening import Opener
from frazil.cycle.table_pool import TablePool, errors_in
from frazil.cycle.table_set import TableSet
from frazil.errors import FrazilError, LogTruncated, RecordsReplaced
from frazil.model import Position, Range, SourcePartition, TableName
from frazil.sources.base import Source, TopicFacts
from frazil.tables.rules.tokens import Tokens

_TRUNCATED: Final = (
    "were truncated from the log after they were read; their rows stay, and what is written at their offsets is read"
)

_Place: TypeAlias = tuple[SourcePartition, Position, int | None]
"""A place in a log of a leader epoch."""

_log = structlog.get_logger(__name__)


class Truncations:
    """Finds out which logs were truncated, and decides what that means.

    Tables that one partition feeds may have read different versions of its log, as after a rollback of one of them. So
    each is compared with the log by its own token and leader epoch, and goes back to where the log parts from its own.
    """

    def __init__(self, source: Source, opener: Opener, tables: TableSet, together: TablePool, *, skip: bool) -> None:
        """Look at `source`; `skip` when `frazil.on.data.loss` says so."""
        self._source = source
        self._opener = opener
        self._set = tables
        self._together = together
        self._skip = skip

    def look(self, facts: Mapping[str, TopicFacts], ends: Mapping[SourcePartition, Position]) -> None:
        """Look at channels that have nothing to read. A task finds out about the others, before it reads.

        Args:
            facts: what the source says of the topics.
            ends: the ends of the partitions.

        Raises:
            LogTruncated: a log was truncated, and the configuration says to stop, or nobody knows where.
            RecordsReplaced: logs were truncated, and the tokens are back at where they part from what was covered.
        """
        starts = (starts_of(opened, facts) for opened in self._set.working().values())
        for places in _layers(starts):
            parted = self._source.look_for_truncation(places, ends)
            if parted and (error := self.error(parted.keys())):
                raise error

    def look_again(self, planned: Iterable[Range]) -> None:
        """Look at tables that had some of the ranges before they were read: a task looks only at where a range starts.

        Raises:
            LogTruncated, RecordsReplaced: as `look` says.
        """
        begun: dict[SourcePartition, Position] = {}
        for each in planned:
            known = begun.get(each.partition)
            begun[each.partition] = each.start if known is None or each.start < known else known
        others = [
            {where: start for where, start in places.items() if _key(where, start) != _key(where, begun[where])}
            for places in self._places(begun.keys()).values()
        ]
        if (parted := self._diverged(others)) and (error := self.error({each for each, _, _ in parted})):
            raise error

    def error(self, partitions: Collection[SourcePartition]) -> FrazilError | None:
        """The error where logs no longer hold what tables cover; if that is skipped, their tokens are back by then.

        Args:
            partitions: those in question.

        Raises:
            FrazilError: no table is left that can take its tokens back.
        """
        places = self._places(partitions)
        parted = self._diverged(places.values())
        replaced: dict[TableName, list[LostRecords]] = {}
        unknown: list[LostRecords] = []
        for name, starts in places.items():
            for partition, start in sorted(starts.items()):
                if _key(partition, start) not in parted:
                    continue
                at = parted[_key(partition, start)]
                if at is None:
                    unknown.append(LostRecords(partition, start, start))
                else:
                    replaced.setdefault(name, []).append(LostRecords(partition, at, start))
        lost = sorted(dict.fromkeys(each for mine in replaced.values() for each in mine), key=lambda it: it.partition)
        if not (lost or unknown):
            return None
        if not self._skip or unknown:
            return self._stopping(unknown, lost)
        for each in lost:
            _log.error(
                "a log was truncated below its token: what its offsets hold now is read",
                partition=str(each.partition),
                first=each.start.first,
                last=each.end.last,
            )
        self._set.fail(errors_in(replaced, self._together.each(self._take_back, [*replaced.items()])))
        return RecordsReplaced([str(each) for each in lost])

    def _places(self, partitions: Collection[SourcePartition]) -> dict[TableName, dict[SourcePartition, Position]]:
        """Where each table goes on in those of the partitions that feed it."""
        return {
            name: {
                each: opened.tokens.start(each)
                for each in partitions
                if each.topic in opened.topics and not opened.tokens.channel(each).closed
            }
            for name, opened in self._set.working().items()
        }

    def _diverged(self, places: Iterable[Mapping[SourcePartition, Position]]) -> dict[_Place, Position | None]:
        """As `Source.diverged`, of several places in one partition."""
        return {
            _key(partition, layer[partition]): at
            for layer in _layers(places)
            for partition, at in self._source.diverged(layer).items()
        }

    def _take_back(self, item: tuple[TableName, Sequence[LostRecords]]) -> None:
        name, replaced = item
        opened = self._set.opened[name]
        if opened.holds:
            # What was covered and what of it is replaced are told one after the other, as in any other table.
            self._opener.move(opened, opened.tokens)
        self._opener.move(opened, moved_back(opened.tokens, replaced, time.time_ns() // 1_000_000))

    def _stopping(self, unknown: Sequence[LostRecords], known: Sequence[LostRecords]) -> LogTruncated:
        """The error for the first of them, those first that nobody knows enough of."""
        first, *others = [*unknown, *known]
        end = self._source.ends([first.partition]).get(first.partition, first.end)
        named = sorted({str(each.partition) for each in others} - {str(first.partition)})
        return LogTruncated(
            str(first.partition), first.end.last, end.first, None if unknown else first.start.first, named
        )


def _layers(places: Iterable[Mapping[SourcePartition, Position]]) -> list[dict[SourcePartition, Position]]:
    """All different places, in as few groups as there are at most in one partition: a group has one of each."""
    layers: list[dict[SourcePartition, Position]] = []
    seen: set[_Place] = set()
    for group in places:
        for partition, position in group.items():
            if _key(partition, position) in seen:
                continue
            seen.add(_key(partition, position))
            layer = next((each for each in layers if partition not in each), None)
            if layer is None:
                layers.append({partition: position})
            else:
                layer[partition] = position
    return layers


def _key(partition: SourcePartition, position: Position) -> _Place:
    """What tells places apart: equal positions of different leader epochs may be of different logs."""
    return partition, position, position.leader_epoch


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
