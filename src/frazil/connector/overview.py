"""Every channel of every connector: the tables are read while the brokers are asked, who may be slow or gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillAsked
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from frazil.connector.channels import channels_of
from frazil.connector.registered import LeftOut, Registered
from frazil.connector.registry import Registry
from frazil.connector.states import Condition, State
from frazil.connector.token_scan import ConnectorTokens, connector_tokens
from frazil.errors import FrazilError, wording_of
from frazil.model import ChannelStatus, Position, SourcePartition, TableName
from frazil.pipes.naming import default_pipe
from frazil.sources import kinds
from frazil.sources.base import Held, Source
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.rules.tokens import Tokens

_PATIENCE: Final = 3.0
"""Seconds to wait for brokers once the tables are read."""

_Result = TypeVar("_Result")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What brokers are asked of one connector's channels."""

    connector: str
    tables: Sequence[tuple[TableName, Tokens]]
    condition: Condition
    left_out: Sequence[LeftOut]
    held: Mapping[TableName, ConnectorTokens]
    """What it holds, in tables that can be read."""

    known: Registered | None

    @property
    def _waiting(self) -> dict[SourcePartition, Held]:
        """Why records of partitions cannot be had."""
        held = self.known.held if self.known else ()
        return {SourcePartition(each.topic, each.partition): Held(each.reason, each.passes) for each in held}

    @property
    def partitions(self) -> list[SourcePartition]:
        return sorted({partition for _, tokens in self.tables for partition, _ in tokens.channels()})

    def channels(self, latest: Mapping[SourcePartition, Position], source: Source | None) -> list[ChannelStatus]:
        return channels_of(
            self.connector,
            self.tables,
            latest,
            self.condition,
            source,
            self.left_out,
            self._waiting,
            pipe_of=self._pipe_of,
            application=self.known.application if self.known else None,
            waiting_outputs=self.known.waiting_outputs if self.known else (),
        )

    def _pipe_of(self, table: TableName, topic: str) -> str:
        held = self.held.get(table)
        return held.pipe_of(topic, self.known) if held else default_pipe(table.name)


class _Desk:
    """The brokers of one connector: connected ahead, asked in threads that nobody has to wait for."""

    def __init__(self, known: Registered) -> None:
        self._known = known
        self._source: Future[Source] = _in_thread(lambda: kinds.observe(known.source, known.client(), ()))
        self._latest: Future[Mapping[SourcePartition, Position]] = Future()
        self._channels: Future[list[ChannelStatus]] = Future()
        self._channels.set_result([])
        self._said: str | None = None
        """What was said last of what it does not answer."""

    def ask(self, asked: _Asked) -> None:
        """Ask, unless the last question is still open."""
        if self._channels.done():
            self._latest = _in_thread(lambda: self._source.result().ends(asked.partitions))
            latest = self._latest
            self._channels = _in_thread(lambda: asked.channels(latest.result(), self._source.result()))

    def answer(self, asked: _Asked, deadline: float) -> list[ChannelStatus]:
        """The channels, with as much as the brokers have said by then, on the monotonic clock."""
        try:
            found = self._channels.result(max(0.0, deadline - time.monotonic()))
        except StillAsked:
            cause = f"no answer within {_PATIENCE:.0f} s"
        except FrazilError as error:
            cause = error.message
        else:
            self._said = None
            return found
        reached = not self._source.done() or self._source.exception() is None
        service = wording_of(self._known.source).service
        warning = f"{service} did not answer" if reached else f"{service} cannot be asked"
        if cause != self._said:
            _log.warning(warning, connector=self._known.name, cause=cause)
        self._said = cause
        latest = self._latest.result() if self._latest.done() and self._latest.exception() is None else {}
        return asked.channels(latest, None)

    def close(self) -> None:
        """Let go of the brokers, unless they are still asked: that ends with the process."""
        if self._channels.done() and self._source.done() and self._source.exception() is None:
            self._source.result().close()


class Overview:
    """The connectors of one home and one catalog, looked at as often as one likes."""

    def __init__(self, registry: Registry) -> None:
        """Begin to connect to the brokers of all connectors that are registered."""
        self._registry = registry
        self._desks: dict[str, _Desk] = {}
        self._connect(registry.connectors())

    def look(self, catalog: Catalog) -> tuple[list[ChannelStatus], list[ConnectorTokens]]:
        """The channels, and the tokens they were made of.

        Raises:
            CatalogUnavailable: the catalog does not say what tables it has.
        """
        held = list(connector_tokens(catalog))
        registered = self._registry.connectors()
        self._connect(registered)
        all_asked = [
            _asked(connector, mine, registered.get(connector))
            for connector, mine in _by_connector(held, registered).items()
        ]
        for asked in all_asked:
            if asked.connector in self._desks:
                self._desks[asked.connector].ask(asked)
        deadline = time.monotonic() + _PATIENCE
        found = [each for asked in all_asked for each in self._answered(asked, deadline)]
        return found, held

    def close(self) -> None:
        """Let go of the brokers."""
        for desk in self._desks.values():
            desk.close()

    def _connect(self, registered: Mapping[str, Registered]) -> None:
        for key, known in registered.items():
            if key not in self._desks:
                self._desks[key] = _Desk(known)

    def _answered(self, asked: _Asked, deadline: float) -> Iterable[ChannelStatus]:
        desk = self._desks.get(asked.connector)
        return desk.answer(asked, deadline) if desk else asked.channels({}, None)


def _asked(connector: str, held: Sequence[ConnectorTokens], known: Registered | None) -> _Asked:
    left_out = {each.table: each for each in known.left_out} if known else {}
    opened = {each.table.name: each.tokens for each in held}
    tables = [*({name: each.tokens for name, each in left_out.items()} | opened).items()]
    condition = Condition(known.current_state() if known else State.STOPPED)
    by_table = {each.table.name: each for each in held}
    return _Asked(connector, tables, condition, [*left_out.values()], by_table, known)


def _by_connector(
    held: Sequence[ConnectorTokens], registered: Mapping[str, Registered]
) -> dict[str, list[ConnectorTokens]]:
    """What connectors hold, those included that could open none of their tables."""
    found: dict[str, list[ConnectorTokens]] = {key: [] for key, known in registered.items() if known.left_out}
    for each in held:
        found.setdefault(each.connector, []).append(each)
    return found


def _in_thread(work: Callable[[], _Result]) -> Future[_Result]:
    """What `work` gives, from a thread that does not keep the process alive."""
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 (it is raised where the result is wanted)
            future.set_exception(error)

    threading.Thread(target=run, name="frazil-brokers", daemon=True).start()
    return future
