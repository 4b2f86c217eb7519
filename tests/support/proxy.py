"""Stand between a client and a server on this machine, and misbehave when told to.

    with Proxy("127.0.0.1:9092") as proxy:
        client = connect(proxy.address)
        with proxy.behaving(Swallow()):
            ...  # nothing arrives any more, and nobody says so

It speaks no protocol, only TCP, so it stands before a broker, a catalog's database or an HTTP server alike. One thread
serves all its connections and ends with the block. What it is told to do applies at once, to open connections too.
A connection out of which bytes were lost is reset as soon as the proxy forwards again: nobody could read on in it.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from frazil.dev.ports import LOOPBACK, free_port

_CHUNK = 1024 * 1024
"""Bytes forwarded at once, at most."""

_LINGER_NOT = struct.pack("ii", 1, 0)
"""Closing a socket that lingers for zero seconds sends a reset."""


@dataclass(frozen=True, slots=True)
class Forward:
    """Do what a proxy is for."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Forward everything late."""

    seconds: float
    """By which each piece is late, in each direction."""


@dataclass(frozen=True, slots=True)
class Trickle:
    """Forward a few bytes at a time."""

    size: int = 1
    """Bytes at a time, in each direction of each connection."""

    seconds: float = 1.0
    """Between two times."""


@dataclass(frozen=True, slots=True)
class Swallow:
    """Be a black hole: accept connections and bytes, and pass nothing on."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset every connection: open ones now, new ones as soon as they are accepted."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Reset every connection and stop listening, as a server that is down."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Reset each connection once a number of bytes went through it."""

    after: int
    """Bytes of both directions together, counted from now on."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """Forward a request, and reset the connection instead of forwarding the answer.

    The server did what it was asked, and the client cannot know.
    """

    to: bytes = b""
    """What stands in the requests that are meant; empty means all."""

    times: int | None = None
    """After so many lost answers the proxy forwards again; None: it goes on."""


Behaviour = Forward | Delay | Trickle | Swallow | Reset | Refuse | Cut | LoseAnswer
"""What a proxy can be told to do."""


class Proxy:
    """A TCP proxy on the loopback address, for the time of a `with` block.

    Args:
        target: `host:port` of the server; it need not be there yet.
        port: where the proxy listens; 0 picks a free one.
    """

    def __init__(self, target: str, port: int = 0) -> None:
        host, _, number = target.rpartition(":")
        self._target = (host, int(number))
        self.port = port or free_port()
        self.accepted = 0
        """Connections accepted so far."""

        self.lost = 0
        """Answers lost on purpose so far."""

        self.behaviour: Behaviour = Forward()
        """What it does now."""

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy-{self.port}", daemon=True)
        self._server: asyncio.Server | None = None
        self._open: dict[_Connection, asyncio.Task[None]] = {}

    @property
    def address(self) -> str:
        """Where clients connect to: `host:port`."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def open(self) -> int:
        """Connections open now."""
        return len(self._open)

    def behave(self, behaviour: Behaviour) -> None:
        """Do this from now on."""
        self._await(self._switch(behaviour))

    @contextmanager
    def behaving(self, behaviour: Behaviour) -> Iterator[Self]:
        """Do this within the block, and forward after it."""
        self.behave(behaviour)
        try:
            yield self
        finally:
            self.behave(Forward())

    def lose(self, told: LoseAnswer) -> None:
        """Count a lost answer; called by the connection that lost it."""
        self.lost += 1
        if told.times is not None:
            left = told.times - 1
            self.behaviour = LoseAnswer(told.to, left) if left else Forward()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._await(self._listen())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._await(self._close())
        self._end()

    def _await(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, LOOPBACK, self.port, limit=_CHUNK)

    async def _deafen(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _switch(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        for connection in list(self._open):
            connection.switch()
        if isinstance(behaviour, Refuse):
            await self._deafen()
        else:
            await self._listen()

    async def _close(self) -> None:
        await self._deafen()
        tasks = list(self._open.values())
        for connection in list(self._open):
            connection.reset()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        connection = _Connection(self, reader, writer)
        task = asyncio.current_task()
        assert task is not None
        self._open[connection] = task
        try:
            await connection.run(*self._target)
        finally:
            del self._open[connection]


class _Connection:
    """One client's connection and the one to the server that belongs to it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._client = (reader, writer)
        self._server: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._switched = asyncio.Event()
        self._passed = 0
        self._request = b""
        """What the client sent since the server's last answer."""

        self._torn = False
        """Whether bytes were lost out of it."""

    async def run(self, host: str, port: int) -> None:
        """Forward between the two until one of them ends, or the proxy's behaviour ends it."""
        self.switch()
        try:
            self._server = await asyncio.open_connection(host, port, limit=_CHUNK)
        except OSError:
            self._server = None
        if self._server is None or self._client[1].is_closing():
            self.reset()
            return
        there = asyncio.create_task(self._pump(self._client[0], self._server[1], self._ask))
        back = asyncio.create_task(self._pump(self._server[0], self._client[1], self._answer))
        try:
            await asyncio.gather(there, back)
        except OSError:
            self.reset()
        finally:
            there.cancel()
            back.cancel()
            for _, writer in self._ends():
                writer.close()

    def switch(self) -> None:
        """Take note that the proxy behaves otherwise now."""
        self._passed = 0
        self._wake()
        now = self._proxy.behaviour
        if isinstance(now, Reset | Refuse) or (self._torn and not isinstance(now, Swallow)):
            self.reset()

    def reset(self) -> None:
        """End both connections with a reset."""
        for _, writer in self._ends():
            # Whoever closed it already has nothing left to reset.
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            writer.transport.abort()
        self._wake()

    def _wake(self) -> None:
        self._switched.set()
        self._switched = asyncio.Event()

    def _ends(self) -> Iterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        yield self._client
        if self._server is not None:
            yield self._server

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, allows: Callable[[bytes], bool]
    ) -> None:
        while piece := await reader.read(_CHUNK):
            left = piece
            while left and not writer.is_closing() and allows(left):
                left = await self._pass(left, writer)
        if isinstance(self._proxy.behaviour, Swallow):
            self._torn = True
        elif not self._torn:
            writer.write_eof()

    def _ask(self, piece: bytes) -> bool:
        """Whether to forward what the client sent."""
        if isinstance(self._proxy.behaviour, LoseAnswer):
            self._request = (self._request + piece)[-_CHUNK:]
        return self._allows()

    def _answer(self, piece: bytes) -> bool:  # noqa: ARG002 (any answer to that request is meant)
        """Whether to forward what the server sent."""
        now = self._proxy.behaviour
        if isinstance(now, LoseAnswer) and now.to in self._request:
            self._proxy.lose(now)
            self.reset()
            return False
        self._request = b""
        return self._allows()

    def _allows(self) -> bool:
        if isinstance(self._proxy.behaviour, Swallow):
            self._torn = True
        return not self._torn

    async def _pass(self, piece: bytes, writer: asyncio.StreamWriter) -> bytes:
        """Forward of `piece` what is to be forwarded now; what is left."""
        now, size = self._proxy.behaviour, len(piece)
        if isinstance(now, Delay):
            await self._pause(now.seconds)
        elif isinstance(now, Trickle):
            await self._pause(now.seconds)
            size = now.size
        elif isinstance(now, Cut):
            size = min(size, now.after - self._passed)
        if writer.is_closing() or self._proxy.behaviour != now:
            return piece
        writer.write(piece[:size])
        await writer.drain()
        self._passed += size
        if isinstance(now, Cut) and self._passed >= now.after:
            self.reset()
            return b""
        return piece[size:]

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until the proxy is told otherwise."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._switched.wait(), seconds)
