"""Accepted records go on to another stream behind their commits, where the connector says so: each at least once.

The tokens of a table name the lists of what is not sent (`frazil.tables.outbox`). They are sent beside the cycles, the
oldest first. The next commit strikes off what is there by then, and its files are deleted once that is in the table.
Whatever ends the process, the rest stays named, and what was sent but not struck off is sent again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import structlog

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.cycle.open_tables import OpenTable
from frazil.errors import FrazilError
from frazil.sources.base import Output, Source
from frazil.tables import outbox, output_files
from frazil.tables.base import WritableTable
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.tokens import Tokens

_AGAIN: Final = 30.0
"""Seconds until sending is tried again that failed."""

_AT_THE_END: Final = 5.0
"""Seconds that it is waited for by whoever is asked to stop."""

_LOOK: Final = 0.2
"""Seconds after which whoever waits looks around."""

_LATE: Final = 60.0
"""Seconds after which records that wait are told of, and again."""

_FAILURES: Final = (FrazilError, OSError, ValueError, pa.ArrowException)
"""What sending fails with, and is tried again after: a list that somebody has changed is none that can be read."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Outgoing:
    """What is known of the output of one table."""

    sent: list[OutboxList] = field(default_factory=list)
    """What is sent and not struck off, the oldest first; the thread that sends adds to it."""

    striking: int = 0
    """How many of them the commit strikes off that is under way."""

    sending: Future[None] | None = None
    failed: float | None = None
    """When sending failed, on the monotonic clock; None while it works."""


class Republishing:
    """Sends on the accepted records of one connector's tables. That it fails is no reason to stop: they stay named."""

    def __init__(self, settings: ConnectorSettings, source: Source) -> None:
        self._name = settings.name
        self._output = source.output()
        self._sender = ThreadPoolExecutor(1, f"frazil-{settings.key}-output") if self._output else None
        self._outgoing: dict[str, _Outgoing] = {}
        """By the uuid of the table."""

        self._closed = threading.Event()
        self._told = time.monotonic()

    def send(self, opened: OpenTable) -> None:
        """Have sent what the tokens of a table name, beside the cycles."""
        if self._output is None or self._sender is None or not self._is_due(opened):
            return
        faults.reach("before_delivery")
        known = self._of(opened)
        done = {each.path for each in known.sent} | {opened.tokens.output_sent or ""}
        newest = opened.tokens.output
        known.sending = self._sender.submit(self._send, self._output, opened.table, newest, done, known)

    def owes(self, opened: OpenTable) -> bool:
        """Whether the tokens of a table name what is sent."""
        return bool(self._of(opened).sent)

    def struck_off(self, opened: OpenTable, tokens: Tokens) -> Tokens:
        """The tokens that a table is about to get, without what is sent by now."""
        known = self._of(opened)
        known.striking = len(known.sent)
        if not known.striking:
            return tokens
        newest = known.sent[known.striking - 1].path
        if tokens.output in (None, newest):
            return replace(tokens, output=None, output_sent=None)
        return replace(tokens, output_sent=newest)

    def committed(self, opened: OpenTable) -> None:
        """What was struck off is so in the table: its files are deleted, beside the cycles."""
        struck = self._struck(opened)
        if struck and self._sender is not None:
            self._sender.submit(_delete, opened.table, struck)

    def finish(self, tables: Sequence[OpenTable], is_patient: Callable[[], bool]) -> None:
        """Wait for what is not sent yet, as long as that goes on: no cycle is to follow.

        Args:
            tables: whose.
            is_patient: whether there is more time than a moment.
        """
        until: float | None = None
        while waiting := self._under_way(tables):
            if until is None and not is_patient():
                until = time.monotonic() + _AT_THE_END
            if until is not None and time.monotonic() >= until:
                return
            wait(waiting, _LOOK)

    def settled(self, opened: OpenTable) -> None:
        """As `committed`, where no cycle is to follow."""
        _delete(opened.table, self._struck(opened))

    def close(self) -> None:
        """Send nothing more."""
        self._closed.set()
        if self._sender is not None:
            self._sender.shutdown(wait=False, cancel_futures=True)

    def _of(self, opened: OpenTable) -> _Outgoing:
        return self._outgoing.setdefault(opened.uuid, _Outgoing())

    def _is_due(self, opened: OpenTable) -> bool:
        """Whether something is to be sent, and nothing of the table is on its way."""
        known, newest = self._of(opened), opened.tokens.output
        if not self._has_ended(opened, known):
            return False
        if newest is None or newest == opened.tokens.output_sent or any(each.path == newest for each in known.sent):
            return False
        return known.failed is None or time.monotonic() - known.failed >= _AGAIN

    def _under_way(self, tables: Iterable[OpenTable]) -> list[Future[None]]:
        """What is on its way of tables, now that all that is due is."""
        found = []
        for opened in tables:
            self.send(opened)
            if (sending := self._of(opened).sending) is not None:
                found.append(sending)
        return found

    def _has_ended(self, opened: OpenTable, known: _Outgoing) -> bool:
        """Whether nothing of a table is on its way any more; why the last of it is not there is told."""
        if known.sending is None:
            return True
        if not known.sending.done():
            return False
        sending, known.sending = known.sending, None
        try:
            sending.result()
        except _FAILURES as error:
            known.failed = time.monotonic()
            _log.warning("accepted records are not sent on yet", table=str(opened.table.name), cause=str(error))
        else:
            if known.failed is not None:
                _log.info("accepted records are sent on again", table=str(opened.table.name))
            known.failed = None
        return True

    def _send(self, output: Output, table: WritableTable, newest: str | None, done: set[str], known: _Outgoing) -> None:
        """Send the lists of a table that are not `done`, in the thread that sends."""
        for listed in reversed([*outbox.unsent(table, newest, done)]):
            if self._closed.is_set():
                return
            self._tell_if_late(table, listed)
            output.send(output_files.records_in(table, listed), self._name, table.name)
            faults.reach("after_delivery")
            known.sent.append(listed)

    def _tell_if_late(self, table: WritableTable, listed: OutboxList) -> None:
        late = time.time() - listed.at / 1000
        if late > _LATE and time.monotonic() - self._told > _LATE:
            self._told = time.monotonic()
            _log.warning(
                "accepted records wait to be sent on: the output takes less than comes in, or was not there",
                table=str(table.name),
                seconds=round(late),
            )

    def _struck(self, opened: OpenTable) -> list[OutboxList]:
        known = self._of(opened)
        struck = known.sent[: known.striking]
        del known.sent[: known.striking]
        known.striking = 0
        return struck


def _delete(table: WritableTable, lists: Iterable[OutboxList]) -> None:
    for listed in lists:
        try:
            output_files.delete(table, listed)
        except FrazilError as error:
            _log.debug("what was sent on cannot be deleted, and stays for now", list=listed.path, cause=error.message)
