"""Run a real Kafka broker on this machine: one KRaft node, bound to the loopback address.

The broker is a process of its own in a session of its own, so Ctrl-C in the terminal reaches only its owner, which
then stops it. Should the owner die without doing so, a small watcher ends the broker.
"""

from __future__ import annotations

import base64
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from frazil.dev.directory import SETTINGS, occupied
from frazil.dev.errors import BrokerFailed, PortInUse
from frazil.dev.jars import kafka_jars, pyspark_jars
from frazil.dev.java import require_java
from frazil.dev.ports import LOOPBACK, answers, free_port, is_free
from frazil.dev.secured import Secured
from frazil.dev.settings import LOGGING, as_properties, behind, server_properties

READY_WITHIN = 60.0
"""Seconds a broker may take to answer; three is usual."""

STOPPED_WITHIN = 20.0
"""Seconds a broker may take to stop before it is killed."""

# Kafka's own jars have no SLF4J binding, so it would log nothing; pyspark's have one.
LOGGING_JARS = ("slf4j-api-*.jar", "log4j-slf4j2-impl-*.jar", "log4j-api-*.jar", "log4j-core-*.jar")


class KafkaBroker:
    """A broker that keeps its records in `directory` and can be started on it again.

    Args:
        directory: Where everything it writes goes; made if missing. Its log is `broker.log`.
        port: The port of the loopback address to listen on; 0 picks a free one, kept across restarts.
        properties: Broker settings that win over those in `frazil.dev.settings`.
        progress: Called with a line of text when something takes long.
        secured: A second listener, with SASL and TLS; none by default.
        proxied: A further plain listener tells its clients to come to this `host:port`, where a proxy stands before it.
        jvm: Options of its JVM.
    """

    def __init__(
        self,
        directory: Path,
        port: int = 0,
        properties: Mapping[str, str] | None = None,
        progress: Callable[[str], None] = lambda _: None,
        secured: Secured | None = None,
        proxied: str | None = None,
        jvm: Sequence[str] = ("-Xmx512m",),
    ) -> None:
        self.directory = directory.absolute()
        self.port = port or free_port()
        self.secured_port = free_port(self.port)
        self.proxied_port = free_port(self.port, self.secured_port)
        self.properties = dict(properties or {})
        self.secured = secured
        self.proxied = proxied
        self.jvm = tuple(jvm)
        self._progress = progress
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What a client puts into `bootstrap.servers`."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def secured_servers(self) -> str:
        """The same for a client that speaks SASL over TLS."""
        return f"{LOOPBACK}:{self.secured_port}"

    @property
    def proxied_servers(self) -> str:
        """Where the proxy finds the listener that is behind it."""
        return f"{LOOPBACK}:{self.proxied_port}"

    @property
    def log(self) -> Path:
        """Where the broker writes its log, across restarts."""
        return self.directory / "broker.log"

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start the broker and return when it answers metadata requests.

        Raises:
            ProgramMissing: there is no Java.
            JarsUnavailable: Kafka's jars could not be fetched.
            PortInUse: somebody else listens on its port.
            DirectoryInUse: another broker runs on its directory.
            BrokerFailed: the broker ended, or did not answer in time.
        """
        if self.running:
            return self
        # Kafka would find out too, but only after somebody else's server had passed for it.
        if not is_free(self.port):
            raise PortInUse(self.port)
        jars = kafka_jars(self._progress)
        with occupied(self.directory) as hold:
            self._write_settings()
            self._format(jars)
            self._progress(f"starting the broker on {self.bootstrap_servers}")
            self._process = self._spawn(jars, hold)
        self._watcher = watch(self._process.pid)
        try:
            self._wait_until_ready(self._process)
            if self.secured:
                self.secured.add_users(AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0}))
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Ask the broker to stop, and kill it if it does not."""
        if self._process is None:
            return
        self._process.terminate()
        self._unwatch()
        try:
            self._process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """Kill the broker as a power cut would."""
        if self._process is None:
            return
        self._process.kill()
        self._unwatch()
        self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _settings(self) -> Path:
        return self.directory / SETTINGS

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _write_settings(self) -> None:
        settings = server_properties(self.port, free_port(self.port, self.secured_port, self.proxied_port), self._data)
        if self.secured:
            settings |= self.secured.properties(self.secured_port, settings)
            self._settings.touch(mode=0o600)  # it holds the users' passwords
        if self.proxied:
            settings |= behind(self.proxied, self.proxied_servers, settings)
        self._settings.write_text(as_properties({**settings, **self.properties}))
        (self.directory / "log4j2.properties").write_text(LOGGING)

    def _format(self, jars: Path) -> None:
        if (self._data / "meta.properties").exists():
            return
        options = ["format", f"--cluster-id={cluster_id()}", "--config", str(self._settings)]
        with self.log.open("ab") as log:
            command = self._java(jars, "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", *options)
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise BrokerFailed("could not format its storage", self.log, tail(self.log))

    def _spawn(self, jars: Path, hold: IO[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._java(jars, *self.jvm, "kafka.Kafka", str(self._settings)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[hold.fileno()],  # the broker holds its directory until it ends, whoever started it
            )

    def _java(self, jars: Path, *arguments: str) -> list[str]:
        logging = [str(jar) for pattern in LOGGING_JARS for jar in pyspark_jars().glob(pattern)]
        classpath = os.pathsep.join([*logging, f"{jars}/*"])
        configuration = f"-Dlog4j2.configurationFile={self.directory / 'log4j2.properties'}"
        return [require_java(), "-cp", classpath, configuration, *arguments]

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            if answers(self.port) and serves_metadata(self.bootstrap_servers):
                return
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            raise BrokerFailed(f"ended with status {process.returncode}", self.log, tail(self.log))
        raise BrokerFailed(f"did not answer within {READY_WITHIN:.0f} s", self.log, tail(self.log))

    def _unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.kill()
            self._watcher.communicate()
            self._watcher = None


def watch(pid: int) -> subprocess.Popen[bytes]:
    """Start a watcher that ends `pid` when this process dies, however it dies."""
    # The pipe closes with its last holder; the read then returns.
    script = 'read -r _; kill "$0"'
    null = subprocess.DEVNULL
    return subprocess.Popen(
        ["sh", "-c", script, str(pid)], stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True
    )


def serves_metadata(bootstrap_servers: str) -> bool:
    """Whether the broker has joined its own cluster and says so."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    try:
        return bool(admin.list_topics(timeout=2).brokers)
    except KafkaException:
        return False


def cluster_id() -> str:
    """A random cluster id as Kafka writes them: 16 bytes in URL-safe base64."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of `log`, without Java's stack frames."""
    messages = [line for line in log.read_text(errors="replace").splitlines() if not line.startswith("\t")]
    return "\n".join(messages[-lines:])
