"""Step 7 of the cycle: what was rejected goes where its users look for it.

That is the table's error table, the connector's dead-letter topic or stream, or both. Neither waits for the other: the
tokens name the newest reject list that has not come to both, and how far each has come (`frazil.cycle.sending`). A
reject is in the error table once, for the table says itself what it has; in the dead-letter topic it is at least once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle.laying_out import lay_out
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.sending import Came, Sender
from frazil.model import ERROR_LOGGING
from frazil.sources.base import DeadLetters, Source
from frazil.tables.base import TableCatalog, WritableTable
from frazil.tables.error_files import rejects_in
from frazil.tables.error_tables import ErrorTable
from frazil.tables.listed_files import DamagedFile
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.tokens import Tokens


class _RejectPlace:
    """A place that rejects go to."""

    name: str
    records: Final = "rejected records"

    def newest(self, tokens: Tokens) -> str | None:
        """The newest list of rejects that has not come to all places."""
        return tokens.rejects

    def reached(self, tokens: Tokens) -> str | None:
        """The newest of them that has come here."""
        return tokens.reached.get(self.name)


class ErrorTablePlace(_RejectPlace):
    """The error tables of a connector's tables; see `frazil.cycle.sending.Place`."""

    name = "error table"
    most: Final = 500

    def __init__(self, settings: ConnectorSettings, catalog: TableCatalog) -> None:
        self._settings = settings
        self._catalog = catalog
        self._tables: dict[str, ErrorTable] = {}
        """By the uuid of the table whose rejects they have."""

    def deliver_lists(self, table: WritableTable, lists: Sequence[OutboxList]) -> Came:
        """Append the rejects, and expire old snapshots of the error table as of any other."""
        known = self._tables.get(table.uuid)
        if known is None or known.table is not table:
            known = self._tables[table.uuid] = ErrorTable(self._catalog, table, self._settings.key, lay_out)
        appended = known.append(lists, self._settings.name)
        faults.reach("after_append")
        known.expire(self._settings.snapshots_min_age_ms)
        return Came(appended.damaged)


class DeadLetterPlace(_RejectPlace):
    """The topic or stream of dead letters; see `frazil.cycle.sending.Place`."""

    name = "dead letters"
    most: Final = 100

    def __init__(self, letters: DeadLetters, connector: str) -> None:
        """Send what the connector of that name rejected."""
        self._letters = letters
        self._connector = connector

    def deliver_lists(self, table: WritableTable, lists: Sequence[OutboxList]) -> Came:
        """Send the rejects."""
        damaged: list[DamagedFile] = []
        refused = self._letters.send(rejects_in(table, lists, damaged.append), self._connector, table.name)
        return Came([each.path for each in damaged], refused)


class Delivery:
    """Delivers the rejects of one connector's tables."""

    def __init__(self, settings: ConnectorSettings, catalog: TableCatalog, source: Source) -> None:
        self._settings = settings
        letters = source.dead_letters()
        self._error_tables = Sender(settings.key, ErrorTablePlace(settings, catalog))
        self._letters = Sender(settings.key, DeadLetterPlace(letters, settings.name)) if letters else None

    def deliver(self, opened: OpenTable) -> None:
        """Have delivered what the tokens of a table name, beside the cycles."""
        if opened.tokens.rejects is not None:
            for each in self._places(opened):
                each.send(opened)

    def owes(self, opened: OpenTable) -> bool:
        """Whether the tokens of a table do not say yet what is delivered."""
        return any(each.owes(opened) for each in self._senders())

    def struck_off(self, opened: OpenTable) -> Tokens:
        """The tokens of a table without what is delivered."""
        tokens = opened.tokens
        for each in self._senders():
            tokens = each.note(opened, tokens)
        if tokens.rejects is None:
            return tokens
        came = {each.place.name: each.came_to(opened) for each in self._places(opened)}
        if came and all(path == tokens.rejects for path in came.values()):
            return replace(tokens, rejects=None, reached={})
        return replace(tokens, reached=_known({**tokens.reached, **came}))

    def committed(self, opened: OpenTable) -> None:
        """What was struck off is so in the table."""
        for each in self._senders():
            each.committed(opened)

    def work(self, tables: Iterable[OpenTable]) -> list[tuple[Sender, OpenTable]]:
        """What sends the lists of tables, to each place that those of a table go to."""
        return [(each, opened) for opened in tables if opened.tokens.rejects for each in self._places(opened)]

    def close(self) -> None:
        """Deliver nothing more."""
        for each in self._senders():
            each.close()

    def _senders(self) -> list[Sender]:
        return [self._error_tables, *([self._letters] if self._letters else [])]

    def _places(self, opened: OpenTable) -> list[Sender]:
        """The places that the rejects of a table go to."""
        asked = self._settings.errors_table or opened.table.state().property(ERROR_LOGGING) == "true"
        return [each for each in self._senders() if asked or each is not self._error_tables]


def _known(came: Mapping[str, str | None]) -> dict[str, str]:
    return {name: path for name, path in came.items() if path is not None}
