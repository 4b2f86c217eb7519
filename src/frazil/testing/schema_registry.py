"""A schema registry served over HTTP: the paths that confluent-kafka's client uses, and outages on demand."""

from __future__ import annotations

import json
import re
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_SCHEMA_UNKNOWN: Final = (404, 40403, "Schema not found")
_SUBJECT_UNKNOWN: Final = (404, 40401, "Subject not found")
_VERSION_UNKNOWN: Final = (404, 40402, "Version not found")
_UNAUTHORIZED: Final = (401, 40101, "Unauthorized")


@dataclass(slots=True)
class SchemaRegistry:
    """What a registry holds, how it is asked, and how it fails; `served` gives one."""

    url: str
    user_info: str | None = None
    """`user:password` to ask with, if any is demanded."""

    token: str | None = None
    """A bearer token to ask with, if one is demanded."""

    failing: int | None = None
    """An HTTP status that all requests are answered with; None in good health."""

    answer: bytes | None = None
    """A body that all requests are answered with, instead of what was asked for."""

    answers: threading.Event | None = None
    """What answers wait for to be set; None waits for nothing."""

    encoding: str | None = None
    """What the header Content-Encoding of answers says."""

    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By id, as they were registered."""

    subjects: dict[str, list[int]] = field(default_factory=dict)
    """The ids of each subject's versions."""

    requests: list[str] = field(default_factory=list)
    """The paths that were asked for, in their order."""

    def register(
        self, subject: str, schema: str, kind: str = "AVRO", references: list[dict[str, Any]] | None = None
    ) -> int:
        """Register a schema and return its id; the same schema has the same id in all subjects."""
        return self.add(subject, {"schema": schema, "schemaType": kind, "references": references or []})

    def add(self, subject: str, written: Mapping[str, Any]) -> int:
        """Register what a client sends."""
        schema = {
            "schema": written["schema"],
            "schemaType": written.get("schemaType", "AVRO"),
            "references": written.get("references") or [],
        }
        found = next((each for each, known in self.schemas.items() if known == schema), None)
        id_ = len(self.schemas) + 1 if found is None else found
        self.schemas[id_] = schema
        versions = self.subjects.setdefault(subject, [])
        if id_ not in versions:
            versions.append(id_)
        return id_


@contextmanager
def served(
    user_info: str | None = None, token: str | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[SchemaRegistry]:
    """An empty registry on a port of its own, over HTTPS if `tls` says what to show."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    scheme = "http" if tls is None else "https"
    registry = SchemaRegistry(f"{scheme}://127.0.0.1:{server.server_port}", user_info, token)
    server.registry = registry  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Failed(Exception):
    """An answer that is an error: its HTTP status, the registry's code and its text."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def _answer(self, method: str) -> None:
        registry: SchemaRegistry = self.server.registry  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        registry.requests.append(path)
        if registry.answers is not None:
            registry.answers.wait()
        try:
            self._admit(registry)
            self._send(200, _found(registry, method, path, json.loads(body) if body else {}))
        except _Failed as error:
            status, code, message = error.args
            self._send(status, {"error_code": code, "message": message})

    def _admit(self, registry: SchemaRegistry) -> None:
        if registry.failing is not None:
            raise _Failed(registry.failing, registry.failing * 100, "Out of order")
        given = self.headers.get("Authorization")
        if registry.user_info is not None and given != f"Basic {b64encode(registry.user_info.encode()).decode()}":
            raise _Failed(*_UNAUTHORIZED)
        if registry.token is not None and given != f"Bearer {registry.token}":
            raise _Failed(*_UNAUTHORIZED)

    def _send(self, status: int, content: Any) -> None:
        registry: SchemaRegistry = self.server.registry  # type: ignore[attr-defined]
        body = json.dumps(content).encode() if registry.answer is None else registry.answer
        self.send_response(status)
        if registry.encoding is not None:
            self.send_header("Content-Encoding", registry.encoding)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _found(registry: SchemaRegistry, method: str, path: str, body: dict[str, Any]) -> Any:
    for wanted, pattern, answer in _ROUTES:
        if method == wanted and (matched := re.fullmatch(pattern, path)):
            return answer(registry, body, *map(unquote, matched.groups()))
    raise _Failed(404, 404, "HTTP 404 Not Found")


def _by_id(registry: SchemaRegistry, _: dict[str, Any], id_: str) -> Any:
    if int(id_) not in registry.schemas:
        raise _Failed(*_SCHEMA_UNKNOWN)
    return registry.schemas[int(id_)]


def _subjects(registry: SchemaRegistry, _: dict[str, Any]) -> Any:
    return sorted(registry.subjects)


def _versions(registry: SchemaRegistry, _: dict[str, Any], subject: str) -> Any:
    return list(range(1, len(_ids(registry, subject)) + 1))


def _version(registry: SchemaRegistry, _: dict[str, Any], subject: str, version: str) -> Any:
    ids = _ids(registry, subject)
    number = len(ids) if version in ("latest", "-1") else int(version)
    if not 0 < number <= len(ids):
        raise _Failed(*_VERSION_UNKNOWN)
    return {"subject": subject, "version": number, "id": ids[number - 1], **registry.schemas[ids[number - 1]]}


def _register(registry: SchemaRegistry, body: dict[str, Any], subject: str) -> Any:
    return {"id": registry.add(subject, body)}


def _look_up(registry: SchemaRegistry, body: dict[str, Any], subject: str) -> Any:
    for version, id_ in enumerate(_ids(registry, subject), 1):
        if registry.schemas[id_]["schema"] == body["schema"]:
            return {"subject": subject, "version": version, "id": id_, **registry.schemas[id_]}
    raise _Failed(*_SCHEMA_UNKNOWN)


def _types(_: SchemaRegistry, __: dict[str, Any]) -> Any:
    return ["AVRO", "JSON", "PROTOBUF"]


def _ids(registry: SchemaRegistry, subject: str) -> list[int]:
    if subject not in registry.subjects:
        raise _Failed(*_SUBJECT_UNKNOWN)
    return registry.subjects[subject]


_ROUTES: Final[tuple[tuple[str, str, Callable[..., Any]], ...]] = (
    ("GET", r"/schemas/types", _types),
    ("GET", r"/schemas/ids/(-?\d+)", _by_id),
    ("GET", r"/subjects", _subjects),
    ("GET", r"/subjects/([^/]+)/versions", _versions),
    ("GET", r"/subjects/([^/]+)/versions/([^/]+)", _version),
    ("POST", r"/subjects/([^/]+)/versions", _register),
    ("POST", r"/subjects/([^/]+)", _look_up),
)
