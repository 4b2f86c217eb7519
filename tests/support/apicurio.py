"""A schema registry that is not ours: Apicurio, in memory, with the interface of Confluent's."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.jars import fetched, unpacked

from frazil.dev.java import require_java
from frazil.dev.ports import LOOPBACK, free_port
from frazil.testing.topics import wait_until

VERSION = "2.6.13.Final"
_READY_WITHIN = 120.0
"""Seconds it may take to answer; eight is usual."""


@contextmanager
def running(log: Path) -> Iterator[str]:
    """The address of an empty registry that runs for the time of the block, and writes its log to `log`."""
    home = unpacked(fetched("io.apicurio", "apicurio-registry-app", VERSION, "all", "tar.gz"))
    port = free_port()
    options = ["-Xmx512m", f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={port}"]
    jar = home / f"apicurio-registry-app-{VERSION}-runner.jar"
    address = f"http://{LOOPBACK}:{port}/apis/ccompat/v7"
    with log.open("w") as output:
        process = subprocess.Popen([require_java(), *options, "-jar", str(jar)], stdout=output, stderr=output)
        try:
            wait_until(lambda: _answers(address) or process.poll() is not None, "the registry to answer", _READY_WITHIN)
            assert process.poll() is None, f"the registry ended: {log.read_text()[-2000:]}"
            yield address
        finally:
            process.terminate()
            process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/subjects", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
