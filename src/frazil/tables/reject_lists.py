"""Reject lists: which reject files a commit leaves to be delivered (the outbox of design section 3, step 7).

A list is a small JSON file that names the commit's reject files and its undelivered predecessor. Lists and reject files
live under the namespace's `_frazil/`, outside every table's location, where nobody's orphan cleaning looks; where a
catalog gives out credentials for each table, they live under the table's own `_frazil/`, for these open nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from frazil.tables.base import WritableTable
from frazil.tables.rules.stages import Stage


@dataclass(frozen=True, slots=True)
class RejectList:
    """The reject files of one commit."""

    path: str
    commit: str
    files: tuple[str, ...]
    previous: str | None
    """The list of an earlier commit that is not delivered either."""

    at: int = 0
    """When it was written, in ms since the epoch."""


def directory(table: WritableTable) -> str:
    """Where the reject files and lists of a table go."""
    parent = table.location.rpartition("/")[0]
    # A bucket has no parent; and below a table, too, Iceberg's own cleaning passes over names with an underscore.
    root = table.location if table.confined or parent.endswith("/") else parent
    return f"{root}/_frazil/{table.name.name}-{table.uuid}"


def new_reject_path(table: WritableTable, stage: Stage, task: int) -> str:
    """A path for the reject file of one task."""
    return f"{directory(table)}/{stage.reject_file(task)}"


def list_path(table: WritableTable, stage: Stage) -> str:
    """The path of the reject list of a commit."""
    return f"{directory(table)}/{stage.reject_list}"


def write_list(table: WritableTable, stage: Stage, files: Sequence[str], previous: str | None) -> RejectList:
    """Write the list of a commit that is about to happen; it is an orphan if the commit does not."""
    path = list_path(table, stage)
    at = time.time_ns() // 1_000_000
    named = {"commit": stage.id, "table": str(table.name), "files": list(files), "previous": previous, "at": at}
    table.write_file(path, orjson.dumps({"v": 1, **named}))
    return RejectList(path, stage.id, tuple(files), previous, at)


def undelivered(table: WritableTable, newest: str | None) -> Iterator[RejectList]:
    """The lists from the newest back to the oldest that is not delivered."""
    path = newest
    while path is not None:
        document = orjson.loads(table.read_file(path))
        files, previous = tuple(document["files"]), document["previous"]
        yield RejectList(path, document["commit"], files, previous, document.get("at", 0))
        path = document["previous"]
