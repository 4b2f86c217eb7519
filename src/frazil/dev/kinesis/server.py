"""The local stream: an engine on a directory, served on the loopback address by a thread of this process."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3
from botocore.config import Config as ClientConfig
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.utils import wrap_app

from frazil.dev.directory import occupied
from frazil.dev.errors import PortInUse
from frazil.dev.kinesis import shapes
from frazil.dev.kinesis.app import Application
from frazil.dev.kinesis.engine import REGION, Engine
from frazil.dev.kinesis.faults import Faults
from frazil.dev.kinesis.store import Store
from frazil.dev.ports import LOOPBACK, free_port, is_free

RECORDS = "kinesis.db"
"""The file in the directory that everything is in."""

IDLE = 300
"""Seconds a connection may be idle; clients keep theirs for later."""

ENDED_WITHIN = 1.0
"""Seconds that requests may take to notice that their connection is gone."""

TRIMMED_EVERY = 60.0
"""Seconds between two removals of what is past its retention; reading never gives it, removed or not."""

MOST_SUBSCRIPTIONS = 1000
"""Requests that one connection of HTTP/2 has at a time; each subscription is one."""

_RESETS = struct.pack("ii", 1, 0)
"""Closed so, a connection is reset: what the client gets is no end but an error."""


class LocalKinesis:
    """A Kinesis-compatible server that keeps its records in `directory` and can be started on it again.

    Args:
        directory: Where records are kept; a temporary one, gone with `stop`, when not given.
        port: The port of the loopback address to listen on; 0 picks a free one, kept across restarts.
        quotas: Whether what exceeds AWS's quotas is refused.
        clock: Gives the time in seconds; retention, iterators, quotas and arrivals go by it.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        port: int = 0,
        quotas: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.directory = directory
        self.port = port or free_port()
        self.faults = Faults()
        """What goes wrong on demand."""

        self._quotas = quotas
        self._clock = clock
        self._engine: Engine | None = None
        self._held = ExitStack()

    @property
    def endpoint(self) -> str:
        """What a client takes as its endpoint URL."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def region(self) -> str:
        """The region that its streams are in."""
        return REGION

    @property
    def engine(self) -> Engine:
        """The streams; hold its lock to look at what requests may change."""
        if self._engine is None:
            raise RuntimeError("the local stream is not started")
        return self._engine

    def client(self, service: str = "kinesis", **options: Any) -> Any:
        """A boto3 client of this server; `options` go to its configuration."""
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id="local",
            aws_secret_access_key="local",  # noqa: S106 (nobody checks it)
            config=ClientConfig(**options),
        )

    def provide(self, stream: str, shards: int = 1) -> None:
        """See to it that there is a stream of that name; if it has to be made, it has so many shards and is ACTIVE.

        Raises:
            Refused: no stream is called so, or none has so many shards.
        """
        shapes.request(shapes.model().operation_model("CreateStream"), {"StreamName": stream, "ShardCount": shards})
        with self.engine.lock:
            if stream not in [found.name for found in self.engine.streams()]:
                self.engine.create(stream, shards).settles = 0.0

    def start(self) -> Self:
        """Serve, and return once requests are answered.

        Raises:
            PortInUse: somebody else listens on its port.
            DirectoryInUse: another server runs on its directory.
        """
        if self._engine is not None:
            return self
        if not is_free(self.port):
            raise PortInUse(self.port)
        with ExitStack() as held:
            directory = self.directory or Path(held.enter_context(tempfile.TemporaryDirectory()))
            held.enter_context(occupied(directory))
            engine = Engine(Store(directory / RECORDS), self._clock, quotas=self._quotas, faults=self.faults)
            held.callback(engine.close)
            thread = _Thread(engine, self.port)
            held.callback(thread.end)
            thread.begin()
            self._held = held.pop_all()
        self._engine = engine
        return self

    def stop(self) -> None:
        """End all connections, and free the directory."""
        self._held.close()
        self._engine = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Thread:
    """The server's event loop."""

    def __init__(self, engine: Engine, port: int) -> None:
        self._engine = engine
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._context = WorkerContext(None)
        self._connections: dict[tuple[str, int], asyncio.StreamWriter] = {}
        self._thread = threading.Thread(target=self._run, name="local-kinesis", daemon=True)

    def begin(self) -> None:
        """Listen, then serve."""
        try:
            self._server = self._loop.run_until_complete(self._listen())
        except OSError as error:
            self._loop.close()
            raise PortInUse(self._port) from error
        self._thread.start()

    def end(self) -> None:
        """Listen no more, and end all connections."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    async def _listen(self) -> asyncio.Server:
        config = Config()
        config.include_date_header = False  # answers have the date of the engine's clock
        config.include_server_header = False
        config.keep_alive_timeout = IDLE
        config.keep_alive_max_requests = sys.maxsize
        config.h2_max_concurrent_streams = MOST_SUBSCRIPTIONS
        config.loglevel = "WARNING"
        answering: Any = Application(self._engine, self._reset)  # typed as ASGI is, not as hypercorn types it
        application = wrap_app(answering, config.wsgi_max_body_size, "asgi")

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            client = writer.get_extra_info("peername")[:2]
            self._connections[client] = writer
            try:
                # The loop that ends cancels it, which asyncio's streams would report as a failure.
                with suppress(asyncio.CancelledError):
                    await TCPServer(application, self._loop, config, self._context, {}, reader, writer)
            finally:
                self._connections.pop(client, None)

        return await asyncio.start_server(connected, LOOPBACK, self._port, backlog=config.backlog)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        trimming = self._loop.create_task(self._trim())
        try:
            self._loop.run_forever()
        finally:
            trimming.cancel()
            self._loop.run_until_complete(self._drop())
            self._loop.close()

    async def _trim(self) -> None:
        while True:
            await asyncio.sleep(TRIMMED_EVERY)
            with self._engine.lock:
                self._engine.trim()

    async def _drop(self) -> None:
        self._server.close()
        await self._context.terminated.set()
        for writer in list(self._connections.values()):
            writer.transport.abort()
        tasks = asyncio.all_tasks(self._loop) - {asyncio.current_task()}
        if not tasks:
            return
        _, left = await asyncio.wait(tasks, timeout=ENDED_WITHIN)
        for task in left:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _reset(self, client: tuple[str, int]) -> None:
        connection = self._connections.get(client)
        if connection is None:  # it went by itself
            return
        connection.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
        connection.transport.abort()
