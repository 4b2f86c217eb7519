"""The swap: data files and tokens in exactly one compare-and-swap, checked before each attempt (design section 4).

Each attempt looks at the very version it replaces, checks it, and either replaces that version or nothing. A pure
rule: how a version is replaced is `frazil.tables.iceberg.swap`'s for Iceberg.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from frazil import faults
from frazil.errors import CatalogUnavailable, CommitUnknown, FrazilError
from frazil.model import StagedFile, WriteShape
from frazil.tables.base import OutcomeUnknown, RaceLost, Swap, WritableTable
from frazil.tables.rules.checks import Expectation, check, require_clock, require_fresh, require_same_columns
from frazil.tables.rules.state import SnapshotState
from frazil.tables.rules.tokens import Tokens, encode, key_of

_ATTEMPTS: Final = 20
"""Lost races in a row after which the cycle is planned again."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that is in the table."""

    tokens: Tokens
    snapshot: int
    time: int
    """When the snapshot was made, in ms since the epoch."""

    attempts: int


def commit(
    table: WritableTable,
    files: Sequence[StagedFile],
    tokens: Tokens,
    expected: Expectation,
    notes: Mapping[str, str] | None = None,
    undone: Callable[[], None] | None = None,
) -> Committed:
    """Append `files` and replace the tokens, in one swap.

    Args:
        table: where to.
        files: staged for `expected.shapes`; none for a commit that only moves tokens.
        tokens: what the table says afterwards; `snapshot_seq` is filled in here.
        expected: what must hold of the version that is replaced.
        notes: what else the snapshot's summary says.
        undone: called before an error goes up where it is certain that no snapshot names the files, nor ever will.

    Raises:
        Fenced, TokensMoved, ShapeMoved, TableReplaced, StageTooOld: as `frazil.tables.rules.checks` says.
        ClockBehind: this machine's clock is behind the table's times.
        CommitUnknown: the catalog did not say what became of the swap, and the commit is not in the table.
        CatalogUnavailable: the catalog failed before the swap.
        SchemaRace: the commit happened, but so did a change of the columns, at the same moment.
    """
    trying = Attempts(table, expected.shapes)
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            swap = table.begin()
            check(swap.base, str(table.name), expected)
            require_fresh(str(table.name), expected, time.monotonic())
            require_clock(swap.base, str(table.name), time.time())
            numbered = replace(tokens, snapshot_seq=swap.base.next_sequence_number)
            swap.build(files, key_of(expected.connector), encode(numbered), notes or {})
            faults.reach("before_swap")
            snapshot = trying.swapped(swap, numbered.commit)
            if snapshot is not None:
                return Committed(numbered, snapshot.id, snapshot.timestamp, attempt)
            _log.info("somebody else committed first; looking again", table=str(table.name), attempt=attempt)
        raise CatalogUnavailable(f"commit to {table.name}", f"{_ATTEMPTS} other commits came first")
    except FrazilError:
        if undone and not trying.may_have_happened:
            undone()
        raise


class Attempts:
    """The swaps of one commit, as far as their outcomes are known."""

    def __init__(self, table: WritableTable, shapes: Sequence[WriteShape]) -> None:
        """Swap versions of `table`, with files that were staged for `shapes`."""
        self._table = table
        self._shapes = shapes
        self.may_have_happened = False
        """Whether one of the swaps may be, or come to be, in the table."""

    def swapped(self, swap: Swap, commit: str) -> SnapshotState | None:
        """Swap; the snapshot that was made, or None if somebody else was first.

        A lost race, too, may have been won: a client of a catalog that asks again when an answer is lost finds the
        version it has just replaced gone, and takes that for somebody else's doing.

        Raises:
            CatalogUnavailable: it was not tried.
            CommitUnknown: the catalog did not say, and it is not in the table.
            SchemaRace: it happened, but so did a change of the columns.
        """
        built = swap.made.current
        self.may_have_happened = True
        try:
            made = swap.swap()
        except (RaceLost, OutcomeUnknown) as error:
            found = None if built is None else self._look_for(built.id, commit, error)
            if found is None and isinstance(error, OutcomeUnknown):
                raise CommitUnknown(str(self._table.name), commit, str(error)) from error
            self.may_have_happened = found is not None
            if found is not None:
                # Where an append is put on top of whatever schema there is, only what was found tells which it was.
                version = swap.made if swap.whole else self._table.state()
                require_same_columns(version, str(self._table.name), self._shapes, found.id)
            return found
        _read_back(self._table)
        require_same_columns(swap.made, str(self._table.name), self._shapes, made.id)
        return made

    def _look_for(self, snapshot: int, commit: str, error: RaceLost | OutcomeUnknown) -> SnapshotState | None:
        """Look for a snapshot before anything else is done: also where somebody has gone on from it since."""
        name = str(self._table.name)
        if isinstance(error, OutcomeUnknown):
            _log.warning(
                "the catalog did not say whether the commit happened; looking for it", table=name, cause=str(error)
            )
        try:
            self._table.refresh()
            return self._table.state().snapshot(snapshot)
        except CatalogUnavailable as unavailable:
            cause = f"{error}; {unavailable.message}" if str(error) else unavailable.message
            raise CommitUnknown(name, commit, cause, looked=False) from unavailable


def _read_back(table: WritableTable) -> None:
    """Have the version that was made at hand. It is in the table, whether it can be read now or not."""
    try:
        table.refresh()
    except CatalogUnavailable as error:
        _log.warning("a commit happened, but cannot be read back now", table=str(table.name), cause=error.message)
