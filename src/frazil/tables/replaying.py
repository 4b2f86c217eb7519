"""Rows of records that were rejected once, appended together with the ledger that says so, in one swap.

Whoever replays the same at the same moment loses that race, finds the ledger moved, and decides again. What connectors
commit in between changes nothing: the tokens stay as they are.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from frazil import faults
from frazil.errors import CatalogUnavailable, LedgerUnreadable, TableReplaced
from frazil.model import RecordPlace, StagedFile, WriteShape
from frazil.tables.base import WritableTable
from frazil.tables.commit import Attempts
from frazil.tables.outbox import directory
from frazil.tables.rules.checks import require_clock, require_shape
from frazil.tables.rules.replays import (
    AUDIT,
    Ledger,
    LedgerName,
    covered,
    decode,
    encode,
    encode_name,
    key_of,
    name_in,
)
from frazil.tables.rules.stages import connector_in_names
from frazil.tables.rules.state import TableState
from frazil.tables.rules.tokens import read

_ATTEMPTS: Final = 20


class LedgerMoved(Exception):
    """Somebody replayed, rolled the table back or reset its tokens since the ledger was read: decide again."""


@dataclass(frozen=True, slots=True)
class OpenLedger:
    """A ledger, and what it is called; None for the empty one of a table to which nothing was replayed."""

    ledger: Ledger
    name: LedgerName | None


def ledger_in(table: WritableTable, state: TableState, connector: str) -> OpenLedger:
    """What was replayed of a connector's rejects, by one version of a table.

    Raises:
        LedgerUnreadable: nobody can tell.
        CatalogUnavailable: its file cannot be read.
    """

    def ledger_at(path: str) -> Ledger:
        try:
            return decode(table.read_file(path), path)
        except FileNotFoundError as error:
            raise LedgerUnreadable(path, "it is gone") from error
        except ValueError as error:
            raise LedgerUnreadable(path, str(error)) from error

    name = name_in(state, connector, ledger_at)
    return OpenLedger(ledger_at(name.path), name) if name else OpenLedger(Ledger(), None)


@dataclass(frozen=True, slots=True)
class Replay:
    """Records that came through a connector's pipes once more, and what was staged of them."""

    connector: str
    """The connector's key."""

    places: Collection[RecordPlace]
    """Where the records were read; those that the pipe leaves out are among them."""

    files: Sequence[StagedFile]
    shapes: Sequence[WriteShape]
    """What the files were staged for."""

    known: OpenLedger
    """The ledger by which none of them was replayed."""

    audit: Mapping[str, Any]
    """What the snapshot's summary says of who did it."""


def append(table: WritableTable, replay: Replay) -> int:
    """Append the rows, and name the records in the ledger, in one swap; the id of the snapshot.

    Raises:
        LedgerMoved: some of the records may be in the table by now.
        ShapeMoved: the files were staged for another schema, spec, sort order or pipe.
        TableReplaced: the table is another one.
        CommitUnknown: the catalog did not say what became of the swap, and the snapshot is not in the table.
        CatalogUnavailable: it was not tried, or others commit all the time.
        SchemaRace: it happened, but so did a change of the columns, at the same moment.
    """
    path = f"{directory(table)}/replayed-{connector_in_names(replay.connector)}-{uuid.uuid4()}"
    is_written = False
    attempts = Attempts(table, replay.shapes)
    notes = {AUDIT: orjson.dumps(replay.audit).decode()}
    for _ in range(_ATTEMPTS):
        swap = table.begin()
        _require_same(table, swap.base, replay)
        if not is_written:
            table.write_file(path, encode(replay.known.ledger.followed_by(replay.places, replay.known.name)))
            is_written = True
        name = LedgerName(path, swap.base.next_sequence_number)
        swap.build(replay.files, key_of(replay.connector), encode_name(name), notes)
        faults.reach("before_swap")
        made = attempts.swapped(swap, path)
        if made is not None:
            faults.reach("after_swap")
            return made.id
    raise CatalogUnavailable(f"replay records to {table.name}", f"{_ATTEMPTS} other commits came first")


def _require_same(table: WritableTable, state: TableState, replay: Replay) -> None:
    name = str(table.name)
    if state.uuid != table.uuid:
        raise TableReplaced(name, table.uuid, state.uuid)
    for shape in replay.shapes:
        if shape.uuid != state.uuid:
            raise TableReplaced(name, shape.uuid, state.uuid)
        require_shape(state, name, shape)
    require_clock(state, name, time.time())
    now = ledger_in(table, state, replay.connector)
    tokens = read(state, name, replay.connector)
    if now.name != replay.known.name or not all(covered(tokens, place) for place in replay.places):
        raise LedgerMoved
