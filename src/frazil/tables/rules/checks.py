"""What must hold right before the swap (design section 4, *The checks*): pure rules over one version of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from frazil.errors import (
    ClockBehind,
    Fenced,
    SchemaRace,
    ShapeMoved,
    StageTooOld,
    TableOfRejects,
    TableReplaced,
    Terminal,
    TokensMoved,
)
from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType, WriteShape
from frazil.pipes.stored import PREFIX, decode
from frazil.tables.rules.error_tables import is_marked
from frazil.tables.rules.schema import is_promotion
from frazil.tables.rules.state import TableState
from frazil.tables.rules.tokens import Tokens, read

_SKEW: Final = 60_000
"""Milliseconds that Iceberg lets a version be older than the one before it."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a commit was prepared for."""

    connector: str
    owner: str
    epoch: int
    """The owner epoch this opener holds; while it opens, the one it is about to take."""

    commit: str | None
    """The commit id of the tokens that were planned from; None if there were none."""

    shapes: tuple[WriteShape, ...]
    """What files were staged for; none when the commit adds no file."""

    uuid: str
    """The table that was opened."""

    despite: tuple[type[Terminal], ...] = ()
    """What may be wrong with the table's history, as for `frazil.tables.rules.tokens.read`."""

    staged_at: float | None = None
    """When staging began, in seconds on the monotonic clock; None for a commit that only opens."""

    max_age: float = math.inf
    """Seconds after which what was staged is too old."""


def check(state: TableState, table: str, expected: Expectation) -> Tokens | None:
    """Return the tokens that the commit replaces, if it may go on.

    Raises:
        TableReplaced: the table is another one.
        TableOfRejects: it became an error table before its first commit.
        Fenced: a newer opener owns it.
        TokensMoved: the tokens are not those that were planned from.
        ShapeMoved: files were staged for another schema, spec, sort order or pipe.
        TableBegunAnew, TokensUncertain, CherryPicked: as `frazil.tables.rules.tokens.read` says, unless `expected`
            allows it.
    """
    if state.uuid != expected.uuid:
        raise TableReplaced(table, expected.uuid, state.uuid)
    found = read(state, table, expected.connector, expected.despite)
    if found is None and is_marked(state):
        raise TableOfRejects(table, None)
    if found is not None and (
        found.epoch > expected.epoch or (found.epoch == expected.epoch and found.owner != expected.owner)
    ):
        raise Fenced(expected.connector, table, expected.epoch, found.epoch, found.opener)
    if (found.commit if found else None) != expected.commit:
        raise TokensMoved(table, expected.commit, found.commit if found else None)
    for shape in expected.shapes:
        require_shape(state, table, shape)
    return found


def require_fresh(table: str, expected: Expectation, now: float) -> None:
    """Refuse files so old that somebody who cleans up could take them for orphans.

    Args:
        table: where they were to go.
        expected: when they were staged.
        now: in seconds on the monotonic clock.

    Raises:
        StageTooOld: they are.
    """
    if expected.staged_at is not None and now - expected.staged_at > expected.max_age:
        raise StageTooOld(table, now - expected.staged_at, expected.max_age)


def require_clock(state: TableState, table: str, now: float) -> None:
    """Refuse a clock by which Iceberg would refuse a commit, with files already written for it.

    Args:
        state: the version that is to be replaced.
        table: its name.
        now: what the clock says, in seconds since the epoch.

    Raises:
        ClockBehind: it is too far behind the times in the table.
    """
    if now * 1000 < state.last_changed - _SKEW:
        raise ClockBehind(table, now, state.last_changed / 1000)


def require_same_columns(made: TableState, table: str, shapes: Sequence[WriteShape], snapshot: int) -> None:
    """Look once more, at what the commit became: REST catalogs do not guard an append against ALTER.

    Partition specs and sort orders need no second look: a file says which it was written for.

    Raises:
        SchemaRace: the columns changed in between.
    """
    for shape in shapes:
        if made.schema_id != shape.schema_id and (change := incompatible_change(shape.columns, made.columns())):
            raise SchemaRace(table, change, snapshot)


def require_shape(state: TableState, table: str, staged: WriteShape) -> None:
    """Refuse files that were staged for another schema, spec, sort order or pipe.

    Raises:
        ShapeMoved: they were.
    """
    if state.spec_id != staged.spec_id:
        raise ShapeMoved(table, f"partition spec {staged.spec_id} became {state.spec_id}")
    if state.sort_order_id != staged.sort_order_id:
        raise ShapeMoved(table, f"sort order {staged.sort_order_id} became {state.sort_order_id}")
    if staged.pipe_name and (now := stored_identity(state, staged.pipe_name)) != staged.pipe:
        happened = "was created" if staged.pipe is None else "was dropped" if now is None else "was replaced"
        raise ShapeMoved(table, f"the pipe {staged.pipe_name} {happened}")
    if state.schema_id != staged.schema_id and (change := incompatible_change(staged.columns, state.columns())):
        raise ShapeMoved(table, change)


def stored_identity(state: TableState, pipe: str) -> str | None:
    """What tells the pipe of that name that a table has; None if it has none."""
    text = state.property(PREFIX + pipe)
    return decode(pipe, text).identity if text is not None else None


def incompatible_change(staged: Sequence[Column], current: Sequence[Column]) -> str | None:
    """Why files written for `staged` columns cannot be added to `current` ones; None if they can.

    Added optional columns and promotions pass; everything else does not.
    """
    now = {column.id: column for column in current}
    for column in staged:
        found = now.pop(column.id, None)
        if found is None:
            return f"column {column.name} was dropped"
        if found.name != column.name:
            return f"column {column.name} was renamed to {found.name}"
        if found.required and not column.required:
            return f"column {column.name} became NOT NULL"
        if change := _type_change(column.type, found.type):
            return f"column {column.name}: {change}"
    added = next((column for column in now.values() if column.required), None)
    return f"column {added.name} was added and is NOT NULL" if added else None


def _type_change(staged: IcebergType, current: IcebergType) -> str | None:
    changed = f"its type {staged} became {current}"
    match staged, current:
        case Primitive(), Primitive():
            return None if is_promotion(staged, current) else changed
        case StructType(fields=before), StructType(fields=after):
            return incompatible_change(before, after)
        case ListType(element=before), ListType(element=after):
            if (staged.element_id, staged.element_required) != (current.element_id, current.element_required):
                return changed
            return _type_change(before, after)
        case MapType(), MapType():
            return None if staged == current else changed
        case _:
            return changed
