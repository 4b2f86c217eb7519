"""Stand between a client and an HTTP server on this machine, and give answers that are not true, or come too late."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class Lies:
    """What happens to uploads in one request each; everything else is passed on."""

    address: str
    """Where clients find it."""

    loses: bool = False
    """An upload is answered as a success, and not passed on."""

    late: str | None = None
    """The answers to uploads of objects whose name ends so, which are passed on, wait for `answers`."""

    answers: threading.Event = field(default_factory=threading.Event)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_PUT(self) -> None:
        lies: Lies = self.server.lies
        body = self._body()
        if lies.loses:
            self._answer(200, {"ETag": '"0"'}, b"")
            return
        answer = self._passed_on(body)
        if lies.late is not None and self.path.partition("?")[0].endswith(lies.late):
            lies.answers.wait()
        self._answer(*answer)

    def do_GET(self) -> None:
        self._answer(*self._passed_on(self._body()))

    do_HEAD = do_POST = do_DELETE = do_GET  # noqa: N815 (the base class looks for these names)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        pass

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _passed_on(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.server.behind)
        kept = {key: value for key, value in self.headers.items() if key.lower() not in ("transfer-encoding", "expect")}
        headers = {**kept, "Content-Length": str(len(body))}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        length = {"Content-Length": headers.get("Content-Length", str(len(body)))}
        for key, value in {**headers, **length}.items():
            if key.lower() not in ("transfer-encoding", "connection"):
                self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            with suppress(BrokenPipeError):  # the client has not waited
                self.wfile.write(body)


@contextmanager
def lying(behind: str) -> Iterator[Lies]:
    """Stand before the server at the address `behind`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.behind = behind  # type: ignore[attr-defined]
    lies = Lies(f"127.0.0.1:{server.server_port}")
    server.lies = lies  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield lies
    finally:
        lies.answers.set()
        server.shutdown()
        server.server_close()
