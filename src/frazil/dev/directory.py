"""A local server's directory belongs to one server at a time."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from frazil.dev.errors import DirectoryInUse, DirectoryUnusable, NotABrokerDirectory

SETTINGS = "server.properties"
"""The file that tells a broker's directory from any other."""


@contextmanager
def occupied(directory: Path) -> Iterator[IO[str]]:
    """Make `directory` if need be and hold it; a process that inherits the file holds it for as long as it lives.

    Kafka locks its directories too, but only after a second broker has joined the first one's cluster under its name
    and stopped it from working.

    Raises:
        DirectoryInUse: a server runs on it.
        DirectoryUnusable: it cannot be made, or nothing can be written into it.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / "lock").open("w")
    except OSError as error:
        raise DirectoryUnusable(directory, str(error.strerror)) from error
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DirectoryInUse(directory) from None
        yield file


def empty(directory: Path, known_by: str = SETTINGS) -> None:
    """Remove a server's directory, and nothing else; it has a file named `known_by`.

    Raises:
        DirectoryInUse: a server runs on it.
        NotABrokerDirectory: something else is in it.
    """
    if not directory.exists() or not any(directory.iterdir()):
        return
    if not (directory / known_by).exists():
        raise NotABrokerDirectory(directory)
    with occupied(directory):
        shutil.rmtree(directory)
