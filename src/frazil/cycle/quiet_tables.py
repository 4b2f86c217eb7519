"""Tables that a cycle had nothing for: how far they have come is committed later, and not by all at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from frazil.cycle.accounting import advances, moved, stray
from frazil.cycle.branching import Branching
from frazil.cycle.open_tables import OpenTable
from frazil.model import StagedTable, TableName
from frazil.sources.base import TopicFacts

_LONGEST: Final = 60.0
"""Seconds after which a table commits although there is nothing but its tokens."""

_EARLY: Final = 30.0
"""Seconds after which it may."""

_LONGEST_UNREAD: Final = 3600.0
"""Seconds after which a table commits for which no record was read at all: its sources only tell of later places."""

_SHARE: Final = 20
"""One of so many quiet tables commits early in a cycle."""


class QuietTables:
    """Decides which tables of one connector commit in a cycle."""

    def __init__(self, branching: Branching) -> None:
        """Look at the tables of topics that are routed by a value, and at those whose tokens have not moved at all."""
        self._branching = branching
        self._since: dict[TableName, float] = {}
        """When each table last committed, or was met first, in seconds on the monotonic clock."""

    def without(
        self,
        due: Mapping[TableName, Sequence[StagedTable]],
        opened: Mapping[TableName, OpenTable],
        facts: Mapping[str, TopicFacts],
    ) -> dict[TableName, Sequence[StagedTable]]:
        """What was staged for tables that commit now; the others keep in mind how far they have come."""
        now = time.monotonic()
        if not self._branching.is_on:
            waits = {name for name in self._unread(due, now) if self._holds(opened[name], due[name], facts)}
            commits = {name: staged for name, staged in due.items() if name not in waits}
            self._since.update(dict.fromkeys(commits, now))
            return commits
        waits = {name for name in self._waiting(due, now) if self._holds(opened[name], due[name], facts)}
        commits = {name: staged for name, staged in due.items() if name not in waits}
        self._since.update(dict.fromkeys(commits, now))
        return commits

    def _holds(self, opened: OpenTable, staged: Sequence[StagedTable], facts: Mapping[str, TopicFacts]) -> bool:
        progress = advances(staged, opened.tokens)
        if stray(staged, progress) is not None:
            return False
        # The commit stays the one they were read from: nobody has moved anything in the table.
        opened.tokens = moved(opened.tokens, progress, facts, time.time_ns() // 1_000_000)
        opened.holds = opened.holds or not _is_unmoved(staged)
        return True

    def _unread(self, due: Mapping[TableName, Sequence[StagedTable]], now: float) -> list[TableName]:
        """The tables for which no record was read, of those a place may have moved that is worth a commit by now."""
        ages = {name: now - self._since.setdefault(name, now) for name in due}
        return [
            name
            for name, staged in due.items()
            if _is_empty(staged)
            and (_is_unmoved(staged) or (_is_without_records(staged) and ages[name] < _LONGEST_UNREAD))
        ]

    def _waiting(self, due: Mapping[TableName, Sequence[StagedTable]], now: float) -> set[TableName]:
        ages = {name: now - self._since.setdefault(name, now) for name, staged in due.items() if _is_empty(staged)}
        quiet = sorted(ages, key=lambda name: -ages[name])
        early = quiet[: max(1, len(quiet) // _SHARE)]
        return {name for name, age in ages.items() if age < _LONGEST and (age < _EARLY or name not in early)}


def _is_unmoved(staged: Iterable[StagedTable]) -> bool:
    """Whether not even tokens have anything to say that is worth a commit."""
    return all(each.covered == each.start for part in staged for each in part.ranges)


def _is_without_records(staged: Iterable[StagedTable]) -> bool:
    """Whether places have moved where only time passed; the end of a partition is more than that."""
    moved_on = [each for part in staged for each in part.ranges if each.covered != each.start]
    return not any(each.parsed or each.covered.ended or each.read_through is None for each in moved_on)


def _is_empty(staged: Iterable[StagedTable]) -> bool:
    """Whether there is nothing but tokens to commit."""
    return not any(part.files or part.rejects for part in staged)
