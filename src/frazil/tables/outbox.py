"""The outbox: which files a commit leaves to be delivered (design section 3, step 7).

A list is a small JSON file that names files of one commit and the list before it that was not delivered by then. Those
of rejects and those of accepted records that are sent on have a chain each. Files and lists live under the namespace's
`_frazil/`, outside every table's location, where nobody's orphan cleaning looks; where a catalog gives out credentials
for each table, they live under the table's own `_frazil/`, for these open nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import structlog

from frazil.tables.base import WritableTable
from frazil.tables.rules.stages import Stage

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OutboxList:
    """The files of one commit that are to be delivered."""

    path: str
    commit: str
    files: tuple[str, ...]
    previous: str | None
    """The list of an earlier commit that was not delivered either."""

    at: int = 0
    """When it was written, in ms since the epoch."""

    damage: str | None = None
    """Why the list cannot be read; then what it named, and the lists before it, are not known from it."""


def directory(table: WritableTable) -> str:
    """Where the files and lists of a table go."""
    parent = table.location.rpartition("/")[0]
    # A bucket has no parent; and below a table, too, Iceberg's own cleaning passes over names with an underscore.
    root = table.location if table.confined or parent.endswith("/") else parent
    return f"{root}/_frazil/{table.name.name}-{table.uuid}"


def new_path(table: WritableTable, name: str) -> str:
    """The path of a file or list of that name."""
    return f"{directory(table)}/{name}"


def checksum_of(path: str) -> str:
    """Where Hadoop keeps the checksum of a list, if it does."""
    before, _, name = path.rpartition("/")
    return f"{before}/.{name}.crc"


def write_list(table: WritableTable, path: str, stage: Stage, files: Sequence[str], previous: str | None) -> OutboxList:
    """Write the list of a commit that is about to happen; it is an orphan if the commit does not."""
    at = time.time_ns() // 1_000_000
    named = {"commit": stage.id, "table": str(table.name), "files": list(files), "previous": previous, "at": at}
    table.write_file(path, orjson.dumps({"v": 1, **named}))
    return OutboxList(path, stage.id, tuple(files), previous, at)


def waiting(table: WritableTable, newest: str | None, ends: Collection[str] = ()) -> list[OutboxList]:
    """The lists from the newest back to the one after the first of `ends`, the oldest first.

    The oldest may be one that is damaged or gone: what was before it is unknown.

    Raises:
        CatalogUnavailable: one cannot be read now.
    """
    return [*undelivered(table, newest, ends)][::-1]


def undelivered(table: WritableTable, newest: str | None, ends: Collection[str] = ()) -> Iterator[OutboxList]:
    """The same lists, the newest first, each as soon as it is read."""
    path, seen = newest, {*ends}
    while path is not None and path not in seen:
        seen.add(path)
        try:
            listed = _read(table, path)
        except FileNotFoundError:
            # Lists of what was sent on are deleted. A table that was set back to a time before names them again.
            _log.warning("a list of records is gone: what it named is not sent", table=str(table.name), list=path)
            listed = OutboxList(path, "", (), None)
        yield listed
        path = listed.previous


def _read(table: WritableTable, path: str) -> OutboxList:
    try:
        document: dict[str, Any] = orjson.loads(table.read_file(path))
        files, previous = tuple(document["files"]), document["previous"]
        if not all(isinstance(each, str) for each in (*files, previous or "", document["commit"])):
            raise TypeError("a path is not a text")
        return OutboxList(path, document["commit"], files, previous, int(document.get("at", 0)))
    except (ValueError, KeyError, TypeError) as error:
        return OutboxList(path, "", (), None, damage=f"{type(error).__name__}: {error}")
