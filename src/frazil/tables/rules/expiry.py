"""When old snapshots may go: as long as the same tokens are read without them, and nobody needs them.

After a rollback the mirror of a connector is not that of the tokens that hold, until it commits again. Were the
snapshots gone by then that show it, its mirror would speak for rows that the table no longer has. The same snapshots
are needed where main may be set to a branch or a tag one day, and a snapshot that somebody staged to publish it later
is needed itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Final

from frazil.errors import Terminal
from frazil.tables.rules.state import MAIN, PUBLISHED_WAP, WAP, TableState, ancestors, lineage
from frazil.tables.rules.tokens import PREFIX, key_of, mirrored, read, read_after_expiry

MOST_KEPT: Final = 10_000
"""Snapshots that are kept at most for whoever still needs them: every commit writes all of them anew."""


def named_by_snapshots(state: TableState, table: str, doomed: Collection[int] = ()) -> list[str]:
    """The connectors whose tokens, or that they are uncertain, only snapshots tell.

    Args:
        state: the table's version.
        table: its name, for messages.
        doomed: those that are to expire; none to ask about any that ever may.
    """
    connectors = sorted(state.properties_under(PREFIX))
    return [each for each in connectors if not _mirrored(state, table, each, doomed)]


def needed_by_others(state: TableState, doomed: Collection[int]) -> set[int]:
    """Those of the snapshots that are to expire which have to stay.

    They are those that were staged and not published yet, and those that tell the tokens of a branch, a tag or a staged
    snapshot: from its own down to the nearest of each connector.
    """
    staged = _unpublished(state, doomed)
    heads = staged | {snapshot for name, snapshot in state.references.items() if name != MAIN}
    connectors = [*state.properties_under(PREFIX)] if heads else []
    return (staged | {snapshot for head in heads for snapshot in _telling(state, head, connectors)}) & {*doomed}


def oldest_kept(now: int, known: int, elapsed_ms: int, min_age_ms: int) -> int:
    """Before when snapshots are too old, in ms since the epoch.

    Their age is that of the younger of two clocks: ours, and the table's own, which was at `known` when the table was
    opened `elapsed_ms` ago. One that runs ahead by days would have everything expire at once.
    """
    return min(now, known + elapsed_ms) - min_age_ms


def kept(state: TableState, needed: int | None) -> int:
    """How many of the newest snapshots stay, whatever their age.

    Args:
        state: the table's version.
        needed: the sequence number of the oldest snapshot that somebody still needs; None if nobody needs any.
    """
    if needed is None or state.current is None:
        return 1
    # Each commit raises the number by one, also those beside the main branch: it is never too few.
    return max(1, min(MOST_KEPT, state.current.sequence_number - needed + 1))


def _mirrored(state: TableState, table: str, connector: str, doomed: Collection[int]) -> bool:
    try:
        mirror = mirrored(state, table, connector)
        return read(state, table, connector) == mirror == read_after_expiry(state, table, connector, doomed)
    except Terminal:
        return False


def _unpublished(state: TableState, doomed: Collection[int]) -> set[int]:
    """The staged snapshots among those; one was published if main has it, or has a cherry-pick of it."""
    staged = {each: found.summary(WAP) for each in doomed if (found := state.snapshot(each))}
    staged = {each: name for each, name in staged.items() if name is not None}
    if not staged:
        return set()
    published = {name for each in ancestors(state) for name in (each.summary(WAP), each.summary(PUBLISHED_WAP))}
    return {each for each, name in staged.items() if name not in published}


def _telling(state: TableState, head: int, connectors: Collection[str]) -> set[int]:
    """The snapshots from `head` down to the nearest one with tokens of each connector; none for one that has none."""
    found: set[int] = set()
    passed: list[int] = []
    waiting = set(connectors)
    for snapshot in itertools.islice(lineage(state, head), MOST_KEPT):
        passed.append(snapshot.id)
        named = {each for each in waiting if snapshot.summary(key_of(each)) is not None}
        if named:
            found.update(passed)
        waiting -= named
        if not waiting:
            break
    return found
