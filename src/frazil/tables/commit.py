"""The swap: data files and tokens in exactly one compare-and-swap, checked before each attempt (design section 4).

Each attempt looks at the very version it replaces, checks it, and either replaces that version or nothing. A pure
rule: how a version is replaced is `frazil.tables.swap`'s for Iceberg.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from frazil import faults
from frazil.errors import CatalogUnavailable, CommitUnknown
from frazil.model import StagedFile
from frazil.tables.base import OutcomeUnknown, RaceLost, Target
from frazil.tables.checks import Expectation, check, require_fresh, require_same_columns
from frazil.tables.tokens import Tokens, encode, key_of, read

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
    table: Target,
    files: Sequence[StagedFile],
    tokens: Tokens,
    expected: Expectation,
    notes: Mapping[str, str] | None = None,
) -> Committed:
    """Append `files` and replace the tokens, in one swap.

    Args:
        table: where to.
        files: staged for `expected.shapes`; none for a commit that only moves tokens.
        tokens: what the table says afterwards; `snapshot_seq` is filled in here.
        expected: what must hold of the version that is replaced.
        notes: what else the snapshot's summary says.

    Raises:
        Fenced, TokensMoved, ShapeMoved, TableReplaced, StageTooOld: as `frazil.tables.checks` says.
        CommitUnknown: the catalog did not say what became of the swap, and the commit is not in the table.
        CatalogUnavailable: the catalog failed before the swap.
        SchemaRace: the commit happened, but so did a change of the columns, at the same moment.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        swap = table.begin()
        check(swap.base, str(table.name), expected)
        require_fresh(str(table.name), expected, time.time())
        numbered = replace(tokens, snapshot_seq=swap.base.next_sequence_number)
        swap.build(files, key_of(expected.connector), encode(numbered), notes or {})
        faults.reach("before_swap")
        try:
            made = swap.swap()
        except (RaceLost, OutcomeUnknown) as error:
            found = _look_for(table, numbered, expected.connector, error)
            if found is not None:
                return replace(found, attempts=attempt)
            if isinstance(error, OutcomeUnknown):
                raise CommitUnknown(str(table.name), numbered.commit, str(error)) from error
            _log.info("somebody else committed first; looking again", table=str(table.name), attempt=attempt)
            continue
        _read_back(table)
        require_same_columns(swap.made, str(table.name), expected, made.id)
        return Committed(numbered, made.id, made.timestamp, attempt)
    raise CatalogUnavailable(f"commit to {table.name}", f"{_ATTEMPTS} other commits came first")


def _look_for(table: Target, tokens: Tokens, connector: str, error: RaceLost | OutcomeUnknown) -> Committed | None:
    """Look for a commit that did not come about, or not for all we were told, before anything else is done.

    A lost race, too, may have been won: a client of a catalog that asks again when an answer is lost finds the version
    it has just replaced gone, and takes that for somebody else's doing.
    """
    if isinstance(error, OutcomeUnknown):
        _log.warning(
            "the catalog did not say whether the commit happened; looking for it",
            table=str(table.name),
            cause=str(error),
        )
    try:
        table.refresh()
        state = table.state()
    except CatalogUnavailable as unavailable:
        cause = f"{error}; {unavailable.message}" if str(error) else unavailable.message
        raise CommitUnknown(str(table.name), tokens.commit, cause, looked=False) from unavailable
    found = read(state, str(table.name), connector)
    if found is None or found.commit != tokens.commit or state.current is None:
        return None
    return Committed(found, state.current.id, state.current.timestamp, 1)


def _read_back(table: Target) -> None:
    """Have the version that was made at hand. It is in the table, whether it can be read now or not."""
    try:
        table.refresh()
    except CatalogUnavailable as error:
        _log.warning("a commit happened, but cannot be read back now", table=str(table.name), cause=error.message)
