"""Reject lists: which reject files a commit leaves to be delivered (the outbox of design section 3, step 7).

A list is a small JSON file that names the commit's reject files and its undelivered predecessor. Lists and reject files
live under the namespace's `_frazil/`, outside every table's location, where nobody's orphan cleaning looks.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from frazil.errors import CatalogUnavailable
from frazil.tables.jvm import JAVA_ERRORS, java_message
from frazil.tables.table import Table


@dataclass(frozen=True, slots=True)
class RejectList:
    """The reject files of one commit."""

    path: str
    commit: str
    files: tuple[str, ...]
    previous: str | None
    """The list of an earlier commit that is not delivered either."""


def directory(table: Table) -> str:
    """Where the reject files and lists of a table go."""
    location = str(table.java.location()).rstrip("/")
    return f"{location.rpartition('/')[0]}/_frazil/{table.name.name}-{table.uuid}"


def new_reject_path(table: Table) -> str:
    """A path for the reject file of one task."""
    return f"{directory(table)}/rejects-{uuid.uuid4()}.parquet"


def write_list(table: Table, commit: str, files: Sequence[str], previous: str | None) -> RejectList:
    """Write the list of a commit that is about to happen; it is an orphan if the commit does not."""
    path = f"{directory(table)}/list-{commit}.json"
    document = {"v": 1, "commit": commit, "table": str(table.name), "files": list(files), "previous": previous}
    text = orjson.dumps(document).decode()
    _write(table, path, text)
    return RejectList(path, commit, tuple(files), previous)


def undelivered(table: Table, newest: str | None) -> Iterator[RejectList]:
    """The lists from the newest back to the oldest that is not delivered."""
    path = newest
    while path is not None:
        document = orjson.loads(_read(table, path))
        yield RejectList(path, document["commit"], tuple(document["files"]), document["previous"])
        path = document["previous"]


def _write(table: Table, path: str, text: str) -> None:
    try:
        stream = table.java.io().newOutputFile(path).createOrOverwrite()
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
    except JAVA_ERRORS as error:
        raise CatalogUnavailable(f"write the reject list {path}", java_message(error)) from error


def _read(table: Table, path: str) -> bytes:
    try:
        file: Any = table.java.io().newInputFile(path)
        stream = file.newStream()
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()
    except JAVA_ERRORS as error:
        raise CatalogUnavailable(f"read the reject list {path}", java_message(error)) from error
