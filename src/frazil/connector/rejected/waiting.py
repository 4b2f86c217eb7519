"""Rejects that wait in outboxes: which there are, brought to their error table, or forgotten.

A connector delivers what waits in the tables that it opens. What waits in others, after a change of its configuration
or the end of a topic, stays named in their tokens until a person decides. So do lists and files that were set aside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from frazil.connector.amending import DESPITE, Amended, amend, audited, require_stopped
from frazil.connector.registered import Registered
from frazil.connector.token_scan import ConnectorTokens, connector_tokens
from frazil.cycle.laying_out import lay_out
from frazil.errors import ReplayRefused
from frazil.tables import outbox
from frazil.tables.error_tables import Appended, ErrorTable
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.stages import stage_of_output, stage_of_rejects
from frazil.tables.rules.tokens import Tokens

AUDIT: Final = "frazil.dlq"
"""The summary key of the audit entry of what was done with rejects that waited."""

_MOST: Final = 500
"""Lists appended in one swap."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in the outbox of one table, by the tokens of one connector."""

    table: str
    connector: str
    """The connector's key."""

    lists: int
    """Reject lists that have not come to all places."""

    since: int | None
    """When the oldest of them was written, in ms since the epoch; None where nothing says so."""

    reached: Mapping[str, str]
    """By place, the newest list that has come there."""

    set_aside: Sequence[str]
    refused: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Delivered:
    """What was appended of what waited."""

    waiting: Waiting
    rows: int
    damaged: Sequence[str]
    """Lists and files that still cannot be read; the tokens go on naming them."""


class WaitingRejects:
    """What waits in the tables of a catalog."""

    def __init__(self, catalog: Catalog, registered: Mapping[str, Registered]) -> None:
        """Look nothing up yet; `registered` is what a home knows of connectors, by key."""
        self._catalog = catalog
        self._registered = registered

    def all(self, table: str | None = None) -> list[Waiting]:
        """What waits in a table, or in all; raises what `deliver` does, but for connectors that run."""
        return [_waiting(each, self._lists(each)) for each in self._found(table)]

    def deliver(self, table: str, reason: str | None, *, dry: bool, force: bool) -> list[Delivered]:
        """Append what waits in a table to its error table, each reject once; with `dry`, only say what waits.

        Raises:
            ReplayRefused: nothing waits there, or there is no such table.
            OwnerRuns: a connector runs, and `force` does not allow that.
            ErrorTableUnfit, CatalogUnavailable, StorageUnavailable, StorageRefused: it is not delivered.
        """
        return [self._deliver(each, reason, dry=dry, force=force) for each in self._required(table)]

    def drop(self, table: str, reason: str | None, *, dry: bool, force: bool) -> list[Waiting]:
        """Forget what waits in a table, and what was set aside and refused; raises what `deliver` does.

        The files stay where they are.
        """
        return [self._drop(each, reason, dry=dry, force=force) for each in self._required(table)]

    def _found(self, table: str | None) -> list[ConnectorTokens]:
        return [
            each
            for each in connector_tokens(self._catalog, DESPITE)
            if (each.tokens.rejects or each.tokens.set_aside or each.tokens.refused)
            and (table is None or table.lower() in (str(each.table.name).lower(), each.table.name.name.lower()))
        ]

    def _required(self, table: str) -> list[ConnectorTokens]:
        found = self._found(table)
        if not found:
            raise ReplayRefused(
                f"no rejected records wait in a table {table}", "`frazil dlq waiting` shows where some do."
            )
        if len({each.table.name for each in found}) > 1:
            names = " or ".join(sorted({str(each.table.name) for each in found}))
            raise ReplayRefused(f"{table} may be {names}", "Write the namespace before it.")
        return found

    def _require_stopped(self, holding: ConnectorTokens, *, force: bool) -> None:
        known = self._registered.get(holding.connector)
        require_stopped(holding.table, holding.connector, holding.tokens, known, force=force)

    def _lists(self, holding: ConnectorTokens) -> list[OutboxList]:
        return outbox.waiting(holding.table, holding.tokens.rejects)

    def _deliver(self, holding: ConnectorTokens, reason: str | None, *, dry: bool, force: bool) -> Delivered:
        lists = self._lists(holding)
        waiting = _waiting(holding, lists)
        self._require_stopped(holding, force=force)
        if dry:
            return Delivered(waiting, 0, holding.tokens.set_aside)
        lists = [*_restored(holding), *lists]
        appended = self._append(holding, [each for each in lists if each.damage is None])
        damaged = [*appended.damaged, *(each.path for each in lists if each.damage is not None)]
        # What was accepted goes to a stream, which commands do not write to.
        damaged += [path for path in holding.tokens.set_aside if stage_of_output(path.rpartition("/")[2])]

        def change(known: Tokens | None) -> Amended:
            tokens = _same(holding, known)
            audit = audited(
                "frazil dlq deliver", reason=reason, rows=appended.rows, lists=[each.path for each in lists]
            )
            return Amended(replace(tokens, rejects=None, reached={}, set_aside=tuple(dict.fromkeys(damaged))), audit)

        amend(holding.table, holding.connector, AUDIT, change)
        _log.info(
            "rejected records that waited were appended to the error table",
            table=waiting.table,
            connector=waiting.connector,
            rows=appended.rows,
            lists=len(lists),
            reason=reason,
        )
        return Delivered(waiting, appended.rows, damaged)

    def _append(self, holding: ConnectorTokens, lists: Sequence[OutboxList]) -> Appended:
        errors = ErrorTable(self._catalog, holding.table, holding.connector, lay_out)
        rows, damaged = 0, list[str]()
        for first in range(0, len(lists), _MOST):
            done = errors.append(lists[first : first + _MOST], holding.tokens.name)
            rows += done.rows
            damaged += done.damaged
        return Appended(rows, damaged)

    def _drop(self, holding: ConnectorTokens, reason: str | None, *, dry: bool, force: bool) -> Waiting:
        lists = self._lists(holding)
        waiting = _waiting(holding, lists)
        self._require_stopped(holding, force=force)
        if dry:
            return waiting
        paths = [*(each.path for each in lists), *holding.tokens.set_aside]

        def change(known: Tokens | None) -> Amended:
            tokens = _same(holding, known)
            audit = audited("frazil dlq drop", reason=reason, lists=paths, refused=dict(tokens.refused))
            return Amended(replace(tokens, rejects=None, reached={}, set_aside=(), refused={}), audit)

        amend(holding.table, holding.connector, AUDIT, change)
        _log.warning(
            "rejected records that waited were dropped: no place gets them, and their files stay",
            table=waiting.table,
            connector=waiting.connector,
            lists=paths,
            reason=reason,
        )
        return waiting


def _waiting(holding: ConnectorTokens, lists: Sequence[OutboxList]) -> Waiting:
    tokens = holding.tokens
    since = min((each.at for each in lists if each.at), default=None)
    name = str(holding.table.name)
    return Waiting(name, holding.connector, len(lists), since, tokens.reached, tokens.set_aside, tokens.refused)


def _restored(holding: ConnectorTokens) -> list[OutboxList]:
    """The lists and files of rejects that were set aside, as they are now; with a list, those before it."""
    found: list[OutboxList] = []
    for path in holding.tokens.set_aside:
        name = path.rpartition("/")[2]
        stage = stage_of_rejects(name)
        if stage is None:
            continue
        if name.endswith(".json"):
            found += outbox.waiting(holding.table, path)
        else:
            # What else its list named has come by then: the file is told from that by the end of its own name.
            part = name.removesuffix(".parquet").rpartition("-")[2]
            found.append(OutboxList(path, f"{stage.id}-{part}", (path,), None))
    return found


def _same(holding: ConnectorTokens, known: Tokens | None) -> Tokens:
    """The tokens that hold, if the same rejects wait as were looked at."""
    if known is None or (known.rejects, known.set_aside) != (holding.tokens.rejects, holding.tokens.set_aside):
        raise ReplayRefused(
            f"other rejected records wait in {holding.table.name} by now",
            "Stop its connector, and give the command again.",
        )
    return known
