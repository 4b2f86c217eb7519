"""A REST catalog on this machine: Iceberg's own handlers of the protocol behind Python's HTTP server.

The handlers are those that Iceberg's reference server is made of; they run in the JVM of the tests' Spark session, on a
JDBC catalog of their own. Clients reach them over HTTP only.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from frazil.dev.ports import LOOPBACK
from frazil.tables.iceberg.java import java_class, java_message

STATUS = {
    "NotImplementedError": 404,
    "NoSuchTableException": 404,
    "NoSuchNamespaceException": 404,
    "NoSuchViewException": 404,
    "AlreadyExistsException": 409,
    "CommitFailedException": 409,
}
REQUESTS = "org.apache.iceberg.rest.requests"
Vending = Callable[[str], Mapping[str, str]]


class RestCatalog:
    """A catalog behind a server."""

    def __init__(self, spark: SparkSession, properties: Mapping[str, str]) -> None:
        """Serve a catalog with these properties of Iceberg's."""
        self._jvm = spark._jvm
        self._gateway = spark.sparkContext._gateway
        java = self._jvm.java.util.HashMap()
        for key, value in properties.items():
            java.put(key, value)
        configuration = spark._jsc.hadoopConfiguration()
        self.catalog = self._jvm.org.apache.iceberg.CatalogUtil.buildIcebergCatalog("behind", java, configuration)
        self._handlers = self._jvm.org.apache.iceberg.rest.CatalogHandlers
        self._mapper = self._made_mapper()
        self.vending: Vending | None = None
        """What opens a location, if the catalog gives it out with each table."""

        self.before_update: Callable[[], object] = lambda: None
        """Called right before a table is updated."""

        self.after_update: Callable[[], object] = lambda: None
        """Called right after a table was updated, before that is answered; what it raises is the answer."""

        self.loads = 0
        """Tables loaded so far."""

    def handle(self, method: str, parts: list[str], body: str) -> str | None:
        """Answer a request to a path below `/v1`; None has no content."""
        match method, parts:
            case "GET", ["config"]:
                return '{"defaults": {}, "overrides": {}}'
            case "GET", ["namespaces"]:
                return self._json(self._handlers.listNamespaces(self.catalog, self._namespace()))
            case "POST", ["namespaces"]:
                return self._json(self._handlers.createNamespace(self.catalog, self._read(body, "CreateNamespace")))
            case "GET" | "HEAD", ["namespaces", name]:
                return self._json(self._handlers.loadNamespace(self.catalog, self._namespace(name)))
            case "GET", ["namespaces", name, "tables"]:
                return self._json(self._handlers.listTables(self.catalog, self._namespace(name)))
            case "POST", ["namespaces", name, "tables"]:
                return self._create(self._namespace(name), body)
            case _, ["namespaces", name, "tables", table]:
                return self._table(method, self._identifier(name, table), body)
            case "POST", ["namespaces", _, "tables", _, "metrics"]:
                return None
            case _:
                raise NotImplementedError(f"{method} {parts}")

    def _create(self, namespace: Any, body: str) -> str:
        request = self._read(body, "CreateTable")
        make = self._handlers.stageTableCreate if request.stageCreate() else self._handlers.createTable
        return self._told(make(self.catalog, namespace, request))

    def _table(self, method: str, name: Any, body: str) -> str | None:
        match method:
            case "GET":
                self.loads += 1
                every = self._jvm.org.apache.iceberg.rest.RESTCatalogProperties.SnapshotMode.ALL
                return self._told(self._handlers.loadTable(self.catalog, name, every))
            case "HEAD":
                return self._handlers.tableExists(self.catalog, name)
            case "POST":
                self.before_update()
                request = self._jvm.org.apache.iceberg.rest.requests.UpdateTableRequestParser.fromJson(body)
                updated = self._handlers.updateTable(self.catalog, name, request)
                self.after_update()
                return self._told(updated)
            case "DELETE":
                return self._handlers.dropTable(self.catalog, name)
        raise NotImplementedError(method)

    def _told(self, response: Any) -> str:
        text = self._jvm.org.apache.iceberg.rest.responses.LoadTableResponseParser.toJson(response)
        if self.vending is None:
            return text
        location = response.tableMetadata().location()
        given = [{"prefix": location, "config": dict(self.vending(location))}]
        return json.dumps({**json.loads(text), "storage-credentials": given})

    def error(self, error: Exception) -> tuple[int, str]:
        """A failure as the protocol tells it."""
        kind = java_class(error)
        status = STATUS.get(kind, 500)
        return status, json.dumps({"error": {"message": java_message(error), "type": kind, "code": status}})

    def _read(self, body: str, what: str) -> Any:
        kind = self._jvm.org.apache.spark.util.Utils.classForName(f"{REQUESTS}.{what}Request", True, False)
        return self._mapper.readValue(body, kind)

    def _json(self, java: Any) -> str:
        return self._mapper.writeValueAsString(java)

    def _namespace(self, name: str = "") -> Any:
        levels = name.split("\x1f") if name else []
        array = self._gateway.new_array(self._jvm.java.lang.String, len(levels))
        for index, level in enumerate(levels):
            array[index] = level
        return self._jvm.org.apache.iceberg.catalog.Namespace.of(array)

    def _identifier(self, namespace: str, table: str) -> Any:
        return self._jvm.org.apache.iceberg.catalog.TableIdentifier.of(self._namespace(namespace), table)

    def _made_mapper(self) -> Any:
        """A mapper set up as Iceberg sets up its own."""
        jackson = self._jvm.org.apache.iceberg.shaded.com.fasterxml.jackson
        mapper = jackson.databind.ObjectMapper()
        mapper.setVisibility(
            jackson.annotation.PropertyAccessor.FIELD, jackson.annotation.JsonAutoDetect.Visibility.ANY
        )
        mapper.setPropertyNamingStrategy(jackson.databind.PropertyNamingStrategies.KebabCaseStrategy())
        self._jvm.org.apache.iceberg.rest.RESTSerializers.registerAll(mapper)
        return mapper

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve it for the time of the block; gives its address."""
        server = ThreadingHTTPServer((LOOPBACK, 0), _handler(self))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{LOOPBACK}:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()


def _handler(catalog: RestCatalog) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            path = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
            try:
                text = catalog.handle(self.command, path[1:], body)
                status = 204 if text is None else 200
            except Exception as error:  # noqa: BLE001 (a server answers whatever happens)
                status, text = catalog.error(error)
            content = (text or "").encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815 (as the base class wants them)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
