"""Which pipe the records of a topic come through on their way to a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache

import structlog

from frazil.config import ConnectorSettings
from frazil.errors import InvalidQuery, PipeBroken, PipeGone, PipeRefused
from frazil.model import Column, Conversion, PipeSpec, TableName
from frazil.pipes.stored import PREFIX, StoredPipe, decode, matching
from frazil.tables.base import WritableTable
from frazil.tables.rules.state import TableState

_log = structlog.get_logger(__name__)


class Pipes:
    """Finds the pipes of one connector, each compiled for the columns that its table has."""

    def __init__(self, settings: ConnectorSettings) -> None:
        self._settings = settings
        self._used: dict[tuple[TableName, str], PipeSpec | None] = {}
        """The pipe that records of a topic came through last, for the log."""

    def name(self, topic: str) -> str:
        """What a user's pipe is called that takes a topic's records: as the table that the topic is mapped to."""
        return mapped(self._settings, topic)

    def is_default(self, table: TableName, topic: str, stored: Collection[str]) -> bool:
        """Whether a topic's records come through the default pipe, to a table that has the users' pipes `stored`."""
        used = self._used.get((table, topic))
        gone = used is not None and used.name.lower() != table.name.lower() and used.name not in stored
        return not gone and is_default(self._settings, table, topic, stored)

    def of(self, target: WritableTable, topic: str, columns: tuple[Column, ...]) -> PipeSpec | None:
        """The user's pipe between a topic and a table of these columns; None where it is the default pipe.

        A pipe that an older frazil stored has no ids of its columns yet: the table keeps those it has now.

        Raises:
            PipeBroken: it does not go with the table's columns.
            PipeGone: the pipe that led to a table of another name than the topic's is not there any more.
            PipeRefused: there is one, and the configuration does not go with that.
            CatalogUnavailable: the ids of its columns could not be stored.
        """
        table, stored = target.name, stored_pipes(target.state())
        names = {each: each for each in stored}
        wanted = self.name(topic)
        name = matching(names, wanted)
        used = self._used.get((table, topic))
        if name is None and used is not None and used.name.lower() != table.name.lower():
            raise PipeGone(used.name, str(table))
        name = name or matching(names, table.name)
        if name is None:
            self._note(table, topic, None)
            return None
        if self._settings.validation == "client_side":
            raise PipeRefused(name, str(table))
        try:
            spec = compiled(stored[name], columns, self._settings.conversion)
        except InvalidQuery as error:
            raise PipeBroken(name, str(table), error.message) from error
        if spec.targets != stored[name].targets:
            _keep_targets(target, stored[name], spec)
            return self.of(target, topic, columns)
        self._note(table, topic, spec)
        return spec

    def _note(self, table: TableName, topic: str, spec: PipeSpec | None) -> None:
        before = self._used.get((table, topic))
        self._used[table, topic] = spec
        if (before and before.identity) == (spec and spec.identity):
            return
        if spec is None:
            _log.info("records come through the default pipe again", table=str(table), topic=topic)
            return
        _log.info("records come through a pipe", table=str(table), topic=topic, pipe=spec.name)
        for warning in spec.warnings:
            _log.warning("the pipe may not do what was meant", pipe=spec.name, table=str(table), reason=warning)


def mapped(settings: ConnectorSettings, topic: str) -> str:
    """The name of the table that a topic is mapped to, whatever table it goes to through a pipe of that name."""
    return settings.table_of(topic).name


def is_default(settings: ConnectorSettings, table: TableName, topic: str, stored: Collection[str]) -> bool:
    """Whether none of the users' pipes of a table takes a topic's records."""
    names = {each: each for each in stored}
    return matching(names, mapped(settings, topic)) is None and matching(names, table.name) is None


def stored_pipes(state: TableState) -> dict[str, StoredPipe]:
    """The pipes that users wrote for a table, by name."""
    return {name: decode(name, text) for name, text in state.properties_under(PREFIX).items()}


def _keep_targets(table: WritableTable, pipe: StoredPipe, spec: PipeSpec) -> None:
    """Store with a pipe which columns its items go to."""
    key = PREFIX + pipe.name
    before = table.state().property(key)
    if before is not None:
        table.replace_property(key, before, replace(pipe, targets=spec.targets).encode())
    _log.info("the table keeps which columns the pipe fills", table=str(table.name), pipe=pipe.name)


@lru_cache(maxsize=256)
def compiled(pipe: StoredPipe, columns: tuple[Column, ...], conversion: Conversion) -> PipeSpec:
    """A pipe compiled for the columns of its table; the same pipe for the same columns once.

    Raises:
        InvalidQuery: it does not go with them.
    """
    # A connector whose tables all have default pipes needs no SQL.
    from frazil.pipes.sql.compiling import compile_pipe
    from frazil.snowflake.pipes import read_pipe

    return compile_pipe(read_pipe(pipe.sql), pipe.name, columns, conversion, pipe.targets)
