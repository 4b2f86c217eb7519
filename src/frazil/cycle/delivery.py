"""Step 7 of the cycle: what was rejected goes where its users look for it.

The tokens of a table name the rejects that are not delivered (`frazil.tables.reject_lists`). Whatever ends the process,
they are named until a commit follows their delivery; what has taken them by then takes none of them twice.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

import pyarrow as pa
import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle.open_tables import OpenTable
from frazil.errors import FrazilError
from frazil.model import ERROR_LOGGING, TableName
from frazil.sources.base import Source
from frazil.tables import reject_lists
from frazil.tables.base import TableCatalog
from frazil.tables.error_files import rejects_in
from frazil.tables.error_tables import ErrorTable
from frazil.tables.rules.tokens import Tokens

_AGAIN: Final = 30.0
"""Seconds until delivery is tried again that failed."""

_log = structlog.get_logger(__name__)


class Delivery:
    """Delivers the rejects of one connector's tables. That it fails is no reason to stop: they stay named."""

    def __init__(self, settings: ConnectorSettings, catalog: TableCatalog, source: Source) -> None:
        self._settings = settings
        self._catalog = catalog
        self._dead_letters = source.dead_letters()
        self._delivered: dict[TableName, str] = {}
        """The newest list of each table that is delivered."""

        self._failed: dict[TableName, float] = {}
        """When delivery failed, on the monotonic clock."""

    def deliver(self, opened: OpenTable) -> None:
        """Deliver what the tokens of a table name."""
        newest, name = opened.tokens.rejects, opened.table.name
        if newest is None or newest == self._delivered.get(name):
            return
        to_table = self._settings.errors_table or opened.table.state().property(ERROR_LOGGING) == "true"
        if not (to_table or self._dead_letters):
            return
        if time.monotonic() - self._failed.get(name, -_AGAIN) < _AGAIN:
            return
        faults.reach("before_delivery")
        try:
            lists = [*reject_lists.undelivered(opened.table, newest)]
            if to_table:
                ErrorTable(self._catalog, opened.table, self._settings.key).append(lists, self._settings.name)
                faults.reach("after_append")
            if self._dead_letters:
                self._dead_letters.send(rejects_in(opened.table, reversed(lists)), self._settings.name, name)
        except (FrazilError, OSError, pa.ArrowException) as error:
            self._failed[name] = time.monotonic()
            _log.warning("rejected records are not delivered yet", table=str(name), cause=str(error))
            return
        faults.reach("after_delivery")
        self._failed.pop(name, None)
        self._delivered[name] = newest

    def owes(self, opened: OpenTable) -> bool:
        """Whether the tokens of a table name what is delivered."""
        return opened.tokens.rejects is not None and opened.tokens.rejects == self._delivered.get(opened.table.name)

    def struck_off(self, opened: OpenTable) -> Tokens:
        """The tokens of a table without what is delivered."""
        return replace(opened.tokens, rejects=None) if self.owes(opened) else opened.tokens
