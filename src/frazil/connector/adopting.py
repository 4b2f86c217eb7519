"""`frazil channels adopt`: a table that holds the rows of another one takes over its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from frazil.config.entries import Entry
from frazil.connector.amending import DESPITE, Amended, amend, audited, require_stopped, tokens_of
from frazil.connector.registry import Registry
from frazil.connector.token_scan import tables_of
from frazil.cycle.branches import ROUTE
from frazil.errors import ResetRefused, Terminal
from frazil.model import Position, SourcePartition
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.table import Table
from frazil.tables.rules.state import SnapshotState, TableState, ancestors
from frazil.tables.rules.tokens import ADOPTED, PREFIX, Tokens, decode, key_of, mirrored, read

COMMAND: Final = "frazil channels adopt"


@dataclass(frozen=True, slots=True)
class AdoptedTable:
    """Whose tokens a table takes over."""

    table: str | None = None
    """The table that they are in; None for what the new table brought along itself."""

    snapshot: int | None = None
    """The snapshot of that table which was copied; None if nothing was committed to it since."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """What an adoption does, or did."""

    table: Table
    connector: str
    """The connector's key."""

    tokens: Tokens
    taken_from: str
    owners: Sequence[str]
    """What is known of the owners of both tables."""

    takes_place_of: str | None = None
    """The name that the table has to get, if the tokens were those of a table for one value of a routed topic: its
    records find it by that name."""

    @property
    def entries(self) -> str | None:
        """What `snowflake.topic2table.map` has to say from now on; None if that is nothing about this table."""
        if self.takes_place_of is not None:
            return None
        return ",".join(str(Entry(topic, self.table.name.name, table_quoted=True)) for topic in self.tokens.topics)


class Adopter:
    """Lets tables of one catalog take over tokens."""

    def __init__(self, catalog: Catalog, registry: Registry) -> None:
        self._catalog = catalog
        self._registered = registry.connectors()

    def adopt(self, new: str, source: AdoptedTable, connector: str | None, *, dry: bool, force: bool) -> Adoption:
        """Write a connector's tokens into the table `new`; with `dry`, only say what that would do.

        Args:
            new: the table.
            source: where the tokens come from.
            connector: whose, by name or key; None where there is only one.
            dry: whether nothing is to be written.
            force: whether a connector that runs is no reason to stop.

        Raises:
            ResetRefused: there are no such tables or tokens, or the tokens do not belong to the rows.
            OwnerRuns: the connector runs, and `force` does not allow that.
            TableNotSupported: frazil cannot write the new table.
        """
        table = self._table(new)
        table.shape()
        old = self._table(source.table) if source.table else None
        # What a table brought along is another history's; what is taken from one has to be its own.
        key, tokens = self._tokens(old or table, source.snapshot, connector, () if old else DESPITE)
        owners = self._require_stopped([table] if old is None else [old, table], key, force=force)
        if old is not None:
            if source.snapshot is None:
                _require_no_later_rows(old, table, tokens)
            # The old table goes on naming what is not delivered or sent on; named twice it would be twice.
            tokens = replace(tokens, rejects=None, reached={}, output=None, output_sent=None, set_aside=())

        def change(known: Tokens | None) -> Amended:
            _require_not_ahead(table, known, tokens)
            audit = audited(COMMAND, source=str(old.name) if old else None, snapshot=source.snapshot)
            return Amended(_with_undelivered(tokens, known), audit)

        if dry:
            change(tokens_of(table, key))
        else:
            tokens = amend(table, key, ADOPTED, change)
        kept = (old or table).state().property(ROUTE) is not None
        place = (old or table).name.name if kept else None
        return Adoption(table, key, tokens, str(old.name) if old else "its own properties", owners, place)

    def _table(self, written: str) -> Table:
        names = {str(each.name): each for each in tables_of(self._catalog)}
        found = [each for name, each in names.items() if written.lower() in (name.lower(), each.name.name.lower())]
        exact = [each for each in found if written in (str(each.name), each.name.name)]
        if len(exact or found) != 1:
            reason = "there is no table" if not found else "there are several tables"
            raise ResetRefused(f"{reason} {written!r}", "Write its namespace too, as `frazil channels` shows it.")
        return (exact or found)[0]

    def _tokens(
        self, table: Table, snapshot: int | None, connector: str | None, despite: tuple[type[Terminal], ...]
    ) -> tuple[str, Tokens]:
        """The key of the connector, and its tokens in a table."""
        state = table.state()
        known = {key: mirrored(state, str(table.name), key) for key in state.properties_under(PREFIX)}
        keys = [key for key, tokens in known.items() if tokens and connector in (None, key, tokens.name)]
        if not keys:
            raise ResetRefused(
                f"the table {table.name} has no tokens" + (f" of {connector}" if connector else ""),
                "Name the table that holds the same rows and has them: --from TABLE.",
            )
        if len(keys) > 1:
            raise ResetRefused(
                f"the table {table.name} has tokens of {', '.join(sorted(keys))}", "Say whose: --name CONNECTOR."
            )
        (key,) = keys
        if snapshot is not None:
            return key, _tokens_at(state, snapshot, key, str(table.name))
        found = read(state, str(table.name), key, despite)
        if found is None:
            raise ResetRefused(f"the table {table.name} has no tokens of {key}", "They went away just now; try again.")
        return key, found

    def _require_stopped(self, tables: Sequence[Table], key: str, *, force: bool) -> list[str]:
        known = self._registered.get(key)
        held = [(table, tokens) for table in tables if (tokens := tokens_of(table, key))]
        return [require_stopped(table, key, tokens, known, force=force) for table, tokens in held]


def _tokens_at(state: TableState, snapshot: int, connector: str, table: str) -> Tokens:
    """The tokens that held when `snapshot` was the current one."""
    found: SnapshotState | None = state.snapshot(snapshot)
    while found is not None:
        text = found.summary(key_of(connector))
        if text is not None:
            return decode(text)
        found = None if found.parent is None else state.snapshot(found.parent)
    raise ResetRefused(
        f"neither the snapshot {snapshot} of {table} nor one before it has tokens of {connector}",
        "Look for one in the table's snapshots; those that expired are gone.",
    )


def _require_no_later_rows(old: Table, new: Table, tokens: Tokens) -> None:
    """Refuse tokens that moved after the new table had got its rows: it lacks those that came with them."""
    first = [*ancestors(new.state())][-1:]
    if not first or first[0].parent is not None:
        return
    later = [time for time in _times(tokens) if time > first[0].timestamp]
    if later:
        raise ResetRefused(
            f"records landed in {old.name} after {new.name} was made, and are not in it",
            "Say which snapshot it was made from: --snapshot ID; or stop the connector and copy again.",
        )


def _with_undelivered(tokens: Tokens, known: Tokens | None) -> Tokens:
    """Tokens to take, with what a table itself has not delivered or sent on where they name nothing of it."""
    if known is None:
        return tokens
    kept = replace(tokens, set_aside=(*dict.fromkeys((*known.set_aside, *tokens.set_aside)),))
    kept = kept if tokens.rejects else replace(kept, rejects=known.rejects, reached=known.reached)
    return kept if tokens.output else replace(kept, output=known.output, output_sent=known.output_sent)


def _require_not_ahead(table: Table, known: Tokens | None, tokens: Tokens) -> None:
    """Refuse to move channels of the new table back."""
    held = _positions(known) if known else {}
    taken = _positions(tokens)
    ahead = sorted(partition for partition, place in held.items() if partition not in taken or taken[partition] < place)
    if ahead:
        first = ahead[0]
        raise ResetRefused(
            f"the table {table.name} is ahead of the tokens it is to take: {first} is at {held[first].last} there",
            "If its records are to be read again, use `frazil channels reset`.",
        )


def _positions(tokens: Tokens) -> Mapping[SourcePartition, Position]:
    known = {partition: tokens.position(partition) for partition, _ in tokens.channels()}
    return {partition: place for partition, place in known.items() if place is not None}


def _times(tokens: Tokens) -> list[int]:
    return [channel.time for _, channel in tokens.channels() if channel.time is not None]
