"""Step 7 of the cycle: what was rejected goes where its users look for it.

The tokens of a table name the rejects that are not delivered (`frazil.tables.outbox`). Whatever ends the process,
they are named until a commit follows their delivery; what has taken them by then takes none of them twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

import pyarrow as pa
import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle.open_tables import OpenTable
from frazil.errors import FrazilError
from frazil.model import ERROR_LOGGING, TableName
from frazil.sources.base import Source
from frazil.tables import outbox
from frazil.tables.base import TableCatalog
from frazil.tables.error_files import rejects_in
from frazil.tables.error_tables import ErrorTable
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.tokens import Tokens

_AGAIN: Final = 30.0
"""Seconds until delivery is tried again that failed."""

_PATIENCE: Final = 1.0
"""Seconds that a cycle waits for a dead-letter topic; what takes longer goes on beside the cycles."""

_AT_THE_END: Final = 5.0
"""Seconds that it is waited for where no cycle is to follow."""

_FAILURES: Final = (FrazilError, OSError, pa.ArrowException)
"""What delivery fails with, and is tried again after."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Sending:
    """Rejects of one table on their way to the dead-letter topic."""

    newest: str
    """The newest of their lists."""

    done: Future[None]


class Delivery:
    """Delivers the rejects of one connector's tables. That it fails is no reason to stop: they stay named."""

    def __init__(self, settings: ConnectorSettings, catalog: TableCatalog, source: Source) -> None:
        self._settings = settings
        self._catalog = catalog
        self._dead_letters = source.dead_letters()
        self._sender = ThreadPoolExecutor(1, f"frazil-{settings.key}-dead-letters") if self._dead_letters else None
        self._sending: dict[TableName, _Sending] = {}
        """What is on its way to the dead-letter topic."""

        self._delivered: dict[TableName, str] = {}
        """The newest list of each table that is delivered."""

        self._failed: dict[TableName, float] = {}
        """When delivery failed, on the monotonic clock."""

    def deliver(self, opened: OpenTable) -> None:
        """Deliver what the tokens of a table name; of a topic that is slow, some later cycle hears."""
        newest, name = opened.tokens.rejects, opened.table.name
        if not self._has_come_through(name) or newest is None or newest == self._delivered.get(name):
            return
        to_table = self._settings.errors_table or opened.table.state().property(ERROR_LOGGING) == "true"
        if not (to_table or self._dead_letters):
            return
        if time.monotonic() - self._failed.get(name, -_AGAIN) < _AGAIN:
            return
        faults.reach("before_delivery")
        try:
            lists = [*outbox.undelivered(opened.table, newest)]
            if to_table:
                ErrorTable(self._catalog, opened.table, self._settings.key).append(lists, self._settings.name)
                faults.reach("after_append")
        except _FAILURES as error:
            self._fail(name, error)
            return
        self._send(opened, newest, lists)

    def finish(self) -> None:
        """Wait a while for what is on its way: no cycle is to follow."""
        wait([each.done for each in self._sending.values()], _AT_THE_END)
        for name in [*self._sending]:
            self._has_come_through(name)

    def close(self) -> None:
        """Send nothing more."""
        if self._sender:
            self._sender.shutdown(wait=False, cancel_futures=True)

    def _send(self, opened: OpenTable, newest: str, lists: Sequence[OutboxList]) -> None:
        name, letters, sender = opened.table.name, self._dead_letters, self._sender
        if letters is None or sender is None:
            self._note(name, newest)
            return
        # Commits may have followed while others of these were on their way, which the tokens still named.
        left = [*takewhile(lambda each: each.path != self._delivered.get(name), lists)]

        def send() -> None:
            letters.send(rejects_in(opened.table, reversed(left)), self._settings.name, name)

        self._sending[name] = sending = _Sending(newest, sender.submit(send))
        wait([sending.done], _PATIENCE)
        self._has_come_through(name)

    def _has_come_through(self, name: TableName) -> bool:
        """Whether nothing of a table is on its way any more; what has come through is noted."""
        sending = self._sending.get(name)
        if sending is None:
            return True
        if not sending.done.done():
            return False
        del self._sending[name]
        try:
            sending.done.result()
        except _FAILURES as error:
            self._fail(name, error)
        else:
            self._note(name, sending.newest)
        return True

    def _note(self, name: TableName, newest: str) -> None:
        faults.reach("after_delivery")
        self._failed.pop(name, None)
        self._delivered[name] = newest

    def _fail(self, name: TableName, error: Exception) -> None:
        self._failed[name] = time.monotonic()
        _log.warning("rejected records are not delivered yet", table=str(name), cause=str(error))

    def owes(self, opened: OpenTable) -> bool:
        """Whether the tokens of a table name what is delivered."""
        return opened.tokens.rejects is not None and opened.tokens.rejects == self._delivered.get(opened.table.name)

    def struck_off(self, opened: OpenTable) -> Tokens:
        """The tokens of a table without what is delivered."""
        return replace(opened.tokens, rejects=None) if self.owes(opened) else opened.tokens
