"""Where rejected records are: the error tables of a catalog, and what was replayed of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from frazil.config import ConnectorSettings, load
from frazil.connector.registered import Registered
from frazil.errors import ErrorTableUnfit, ReplayRefused, TableMissing
from frazil.model import RecordPlace, TableName
from frazil.names import sanitise
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.replaying import ledger_in
from frazil.tables.rules.error_tables import columns_in, is_marked, name_of, name_of_source, unfit
from frazil.tables.rules.replays import Ledger


@dataclass(frozen=True, slots=True)
class FoundErrors:
    """An error table, and the table whose rejects it has."""

    table: TableName
    errors: TableName


def all_errors(catalog: Catalog) -> Iterator[FoundErrors]:
    """All tables of a catalog that have the name of an error table and stand beside the table that it would be of."""
    for namespace in catalog.namespaces():
        known = {*catalog.list_tables(namespace)}
        for errors in sorted(known):
            table = name_of_source(errors)
            if table in known and table is not None:
                yield FoundErrors(table, errors)


def require_error_table(catalog: Catalog, name: TableName) -> None:
    """Refuse a table that has the name of an error table and is something else.

    Raises:
        ErrorTableUnfit: its columns are others, it is not marked as one, or topics land in it.
        TableMissing: it is gone.
        CatalogUnavailable: it cannot be read.
    """
    state = catalog.table(name).state()
    reason = unfit(state, columns_in(state)) or (None if is_marked(state) else "frazil has appended nothing to it")
    if reason:
        raise ErrorTableUnfit(str(name), reason)


def errors_of(catalog: Catalog, name: str) -> FoundErrors:
    """The error table of the table of that name, or of that name itself.

    Raises:
        ReplayRefused: there is none, or there are several.
    """
    *before, last = name.split(".")
    within = ".".join(before).lower()
    found = [
        each
        for each in all_errors(catalog)
        if last.lower() in (each.table.name.lower(), each.errors.name.lower())
        and (not within or within == ".".join(each.table.namespace).lower())
    ]
    exact = [each for each in found if last in (each.table.name, each.errors.name)]
    found = exact if len(exact) == 1 else found
    if len(found) > 1:
        names = " or ".join(str(each.table) for each in found)
        raise ReplayRefused(f"{name} may be {names}", "Write the namespace before it.")
    if not found:
        own = name_of(TableName(tuple(before), last))
        raise ReplayRefused(
            f"there is no table {name} with an error table {own} beside it",
            "Rejected records get one with frazil.errors.table=true; those in a dead-letter topic are read with "
            "--topic and --connector.",
        )
    return found[0]


def named(catalog: Catalog, text: str) -> TableName:
    """The table whose whole name, as people see it, is `text`: names may hold dots of their own.

    Raises:
        ReplayRefused: there is none.
    """
    for namespace in catalog.namespaces():
        for table in catalog.list_tables(namespace):
            if str(table) == text:
                return table
    raise ReplayRefused(f"there is no table {text} any more", "Make it again, or choose other records: --where.")


class Ledgers:
    """What was replayed, of any connector to any table of a catalog; each ledger is read once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[tuple[str, str], Ledger] = {}

    def has(self, table: str, connector: str, place: RecordPlace) -> bool:
        """Whether a record of a connector was replayed to a table, both by name."""
        key = (table, sanitise(connector))
        if key not in self._known:
            self._known[key] = self._read(*key)
        return place in self._known[key]

    def _read(self, table: str, connector: str) -> Ledger:
        try:
            opened = self._catalog.table(named(self._catalog, table))
        except (TableMissing, ReplayRefused):
            return Ledger()
        return ledger_in(opened, opened.state(), connector).ledger


def settings_of(connector: str, known: dict[str, Registered], given: ConnectorSettings | None) -> ConnectorSettings:
    """The settings of a connector, by its name: of the file that was given, or of the one it last ran with.

    Raises:
        ReplayRefused: they are not known, or the file is another connector's.
        InvalidConfiguration: its file is none.
    """
    if given is not None:
        if given.key != sanitise(connector):
            raise ReplayRefused(
                f"the file given describes the connector {given.name}, and records are there that {connector} read",
                f"Give that connector's file, or choose records: --where \"connector = '{given.name}'\".",
            )
        return given
    registered = known.get(sanitise(connector))
    if registered is None or registered.connector is None:
        raise ReplayRefused(
            f"the settings of the connector {connector} are not known here", "Name its file: --connector FILE."
        )
    return load(Path(registered.connector), Path(registered.worker) if registered.worker else None)
