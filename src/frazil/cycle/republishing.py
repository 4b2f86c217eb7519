"""Accepted records go on to another stream behind their commits, where the connector says so: each at least once.

Their files and lists are deleted once the table says that they were sent on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.sending import Backlog, Came, Sender
from frazil.errors import FrazilError
from frazil.sources.base import Output, Source
from frazil.tables import output_files
from frazil.tables.base import WritableTable
from frazil.tables.listed_files import DamagedFile
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.tokens import Tokens

_log = structlog.get_logger(__name__)


class OutputPlace:
    """The stream that accepted records go on to; see `frazil.cycle.sending.Place`."""

    name: Final = "output"
    records: Final = "accepted records"
    most: Final = 1

    def __init__(self, output: Output, connector: str) -> None:
        """Send on what the connector of that name accepted."""
        self._output = output
        self._connector = connector

    def newest(self, tokens: Tokens) -> str | None:
        """The newest list of accepted records that is not sent on."""
        return tokens.output

    def reached(self, tokens: Tokens) -> str | None:
        """The newest list before it that is."""
        return tokens.output_sent

    def deliver_lists(self, table: WritableTable, lists: Sequence[OutboxList]) -> Came:
        """Send the records of each file."""
        damaged, refused = [], 0
        for path in (path for listed in lists for path in listed.files):
            try:
                refused += self._output.send(output_files.records_in(table, path), self._connector, table.name)
            except DamagedFile as error:
                damaged.append(error.path)
        return Came(damaged, refused)


class Republishing:
    """Sends on the accepted records of one connector's tables."""

    def __init__(self, settings: ConnectorSettings, source: Source) -> None:
        output = source.output()
        self._limits = settings.source.output_limits
        self._full: set[str] = set()
        """The uuids of tables of which too much waits."""

        self.sender = Sender(settings.key, OutputPlace(output, settings.name)) if output else None

    def send(self, opened: OpenTable) -> None:
        """Have sent what the tokens of a table name, beside the cycles."""
        if self.sender:
            self.sender.send(opened)

    def owes(self, opened: OpenTable) -> bool:
        """Whether the tokens of a table name what is sent."""
        return self.sender is not None and self.sender.owes(opened)

    def struck_off(self, opened: OpenTable, tokens: Tokens) -> Tokens:
        """The tokens that a table is about to get, without what is sent by now."""
        if self.sender is None:
            return tokens
        tokens = self.sender.note(opened, tokens)
        newest = self.sender.came_to(opened)
        if newest is not None and tokens.output in (None, newest):
            return replace(tokens, output=None, output_sent=None)
        return replace(tokens, output_sent=newest)

    def backlog(self, opened: OpenTable) -> Backlog:
        """What of a table waits to be sent on."""
        return self.sender.backlog(opened) if self.sender else Backlog()

    def fullness(self, opened: OpenTable) -> str | None:
        """Why no more of what feeds a table may be read before something is sent on; None if more may be read."""
        backlog, limits = self.backlog(opened), self._limits
        has_many = limits.files is not None and backlog.files >= limits.files
        is_full = has_many or (limits.seconds is not None and backlog.seconds >= limits.seconds)
        if is_full != (opened.uuid in self._full):
            self._full ^= {opened.uuid}
            _log.warning(
                "too many accepted records wait to be sent on: no more are read until the output has taken enough"
                if is_full
                else "the output has taken enough accepted records: reading goes on",
                table=str(opened.table.name),
                files=backlog.files,
                seconds=round(backlog.seconds),
            )
        if not is_full:
            return None
        return (
            f"{backlog.files:,} files of accepted records wait for the output stream, the oldest for "
            f"{backlog.seconds:,.0f} s. Reading goes on when it has taken enough of them; check the stream, its shards "
            "and our rights"
        )

    def committed(self, opened: OpenTable, files: int = 0) -> None:
        """What was struck off is so in the table: its files are deleted, beside the cycles; `files` were added."""
        if self.sender and files:
            self.sender.added(opened, files)
        if self.sender and (struck := self.sender.committed(opened)):
            self.sender.beside(lambda: _delete(opened.table, struck))

    def work(self, tables: Iterable[OpenTable]) -> list[tuple[Sender, OpenTable]]:
        """What sends the lists of tables."""
        return [(self.sender, each) for each in tables] if self.sender else []

    def settled(self, opened: OpenTable) -> None:
        """As `committed`, where no cycle is to follow."""
        if self.sender:
            _delete(opened.table, self.sender.committed(opened))

    def close(self) -> None:
        """Send nothing more."""
        if self.sender:
            self.sender.close()


def _delete(table: WritableTable, struck: Iterable[tuple[OutboxList, Came]]) -> None:
    for listed, came in struck:
        if listed.damage is not None:
            continue
        try:
            output_files.delete(table, listed, kept=came.damaged)
        except FrazilError as error:
            _log.debug("what was sent on cannot be deleted, and stays for now", list=listed.path, cause=error.message)
