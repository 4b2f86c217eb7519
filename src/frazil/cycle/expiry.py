"""Records that a source may have deleted before they were read, where only time can tell: an error, or written down.

A place in a shard says nothing of whether what follows it is still there. So each channel keeps by when all that had
come is covered, and once that is longer ago than the source keeps records, some may be gone.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from frazil.cycle.early_deletion import EarlyDeletion
from frazil.cycle.identity import replaced
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.cycle.vanished import Doubt, doubts, with_retention
from frazil.errors import FrazilError, RecordsExpired
from frazil.model import Position, SourcePartition, TableName
from frazil.sources.base import Source, TopicFacts
from frazil.tables.rules.tokens import Tokens

_WORTH: Final = 60_000
"""Milliseconds by which quiet channels have to have moved here for a table to be said to hold something."""

_OFTEN: Final = 60 * 60_000
"""Milliseconds after which how far quiet channels are read is committed by itself."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Known:
    """What one commit of a table says of how far its channels were read."""

    committed: dict[SourcePartition, int]
    """Up to when each was, in ms since the epoch."""

    since: int | None = None
    """Up to when quiet ones were known to be read here when that was asked first."""


class Expiry:
    """Finds out what may be gone, decides what that means, and keeps quiet channels from looking as if it were."""

    def __init__(self, source: Source, opener: Opener, *, skip: bool) -> None:
        """Look at `source`; `skip` when `frazil.on.data.loss` says so."""
        self._source = source
        self._opener = opener
        self._skip = skip
        self._early = EarlyDeletion(source)
        self._known: dict[TableName, tuple[str, Known]] = {}
        """What the commit says from which a table goes on, by that commit."""

    def look(
        self, tables: Mapping[TableName, OpenTable], facts: Mapping[str, TopicFacts]
    ) -> dict[TableName, FrazilError]:
        """Look at what retention may have passed; commit by when quiet channels were read if that is overdue.

        Returns:
            The tables that could not commit it, and why.

        Raises:
            RecordsExpired: records may be gone, and the configuration says to stop.
        """
        failed: dict[TableName, FrazilError] = {}
        early = self._early.look(tables.values(), facts)
        for name, opened in tables.items():
            try:
                self._look(opened, facts, early.get(name, ()))
            except RecordsExpired:
                raise
            except FrazilError as error:
                failed[name] = error
        return failed

    def note(self, tables: Iterable[OpenTable], starts: Mapping[SourcePartition, Position]) -> None:
        """Keep in mind by when nothing was behind tokens."""
        through = self._source.read_through(starts)
        if not through:
            return
        for opened in tables:
            moved = {
                each: replace(opened.tokens.channel(each), read_through=moment)
                for each, moment in through.items()
                if each.topic in opened.topics
                and (opened.tokens.channel(each).read_through or 0) < moment
                and opened.tokens.start(each) == starts[each]
            }
            if not moved:
                continue
            newest = max(through[each] for each in moved)
            known = self._remember(opened)
            known.since = known.since or newest
            opened.tokens = opened.tokens.with_channels(moved, opened.tokens.topics)
            opened.holds = opened.holds or newest - known.since >= _WORTH

    def settle(self, tables: Iterable[OpenTable]) -> None:
        """Have tables hold something whose quiet channels were last said to be read long ago; no cycle is to follow."""
        for opened in tables:
            opened.holds = opened.holds or self._unsaid(opened) >= _OFTEN

    def _look(self, opened: OpenTable, facts: Mapping[str, TopicFacts], early: Iterable[Doubt]) -> None:
        if self._unsaid(opened) >= _OFTEN:
            self._opener.move(opened, opened.tokens)
        # A topic that is another one now is refused when the cycle is planned.
        there = opened.topics & facts.keys()
        same = {each: facts[each] for each in there if not replaced(opened.tokens, facts[each])}
        found = [*doubts(opened.tokens, same), *early]
        if found and not self._skip:
            raise _error(found)
        tokens = with_retention(opened.tokens, same)
        if found:
            _report(found)
            tokens = passed_over(tokens, found, time.time_ns() // 1_000_000)
        if tokens is not opened.tokens:
            self._opener.move(opened, tokens)

    def _unsaid(self, opened: OpenTable) -> int:
        """Milliseconds by which a channel was read further than its table's commit says, at most."""
        committed = self._remember(opened).committed
        channels = opened.tokens.channels()
        return max(
            ((it.read_through or 0) - committed.get(each, it.read_through or 0) for each, it in channels), default=0
        )

    def _remember(self, opened: OpenTable) -> Known:
        """What the commit says from which a table goes on: its tokens here may have been read further since."""
        commit, known = self._known.get(opened.table.name, (None, None))
        if known is None or commit != opened.tokens.commit:
            channels = opened.tokens.channels()
            known = Known({each: it.read_through for each, it in channels if it.read_through is not None})
            self._known[opened.table.name] = opened.tokens.commit, known
        return known


def passed_over(tokens: Tokens, found: Sequence[Doubt], now: int) -> Tokens:
    """The tokens behind what may be gone, with the first of it as the last error; `now` in ms since the epoch."""
    channels = {}
    for each in found:
        known = tokens.channel(each.partition)
        closed = each.is_gone or known.closed
        # Of a last record that is gone nothing more is to be said.
        arrived = None if each.cause == "early" else known.arrived
        channels[each.partition] = replace(known, closed=closed, kept_since=each.kept_since, arrived=arrived, time=now)
    # Said of one that is still there, if any is: the channel of a partition that is gone is forgotten.
    first, *others = sorted(found, key=lambda each: each.is_gone)
    also = f", as it may be with {len(others)} more" if others else ""
    error = {
        "topic": first.partition.topic,
        "partition": first.partition.partition,
        "offset": tokens.start(first.partition).first,
        "column": None,
        "code": RecordsExpired.code,
        "reason": f"records may be lost that came after {shown(first.since)} and are gone by retention{also}",
    }
    return replace(tokens.with_channels(channels, tokens.topics), last_error=error)


def _error(found: Sequence[Doubt]) -> RecordsExpired:
    first, *others = found
    since = None if first.since is None else shown(first.since)
    kept = None if first.is_gone else shown(first.kept_since)
    also = [str(each.partition) for each in others]
    return RecordsExpired(str(first.partition), since, kept, also, is_early=first.cause == "early")


def _report(found: Iterable[Doubt]) -> None:
    for each in found:
        _log.error(
            "records may be lost: retention has passed them",
            partition=str(each.partition),
            covered_until=shown(each.since),
            kept_since=shown(each.kept_since),
        )


def shown(moment: int | None) -> str:
    """A time for people; `moment` in ms since the epoch."""
    if moment is None:
        return "an unknown time"
    return dt.datetime.fromtimestamp(moment / 1000, dt.UTC).isoformat(timespec="seconds")
