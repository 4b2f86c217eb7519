"""Stages that were never committed: known for certain, or not at all.

That no snapshot refers to a file is not enough. It may have been committed once: rows are compacted, snapshots expire,
tables are rolled back. What decides is that its stage can be in no commit, neither before nor from now on. Two things
prove it, because a commit has to find the tokens it was planned from (`frazil.tables.rules.checks`):

- An opening replaces the connector's last commit. Whatever was staged from that commit has come to nothing.
- A commit of this process replaces the one it was planned from. So have earlier stages from there, which it gave up.

A third thing is known of a stage that was committed: which of its files the commit named. Where Spark has run a task
more than once, the attempts that lost have written others.

Only a rollback to that very commit could let a stale writer commit after all, within `frazil.stage.max.age`; then a
snapshot refers to its files, which is looked at as well. Where a rollback came first, nothing is certain.

Either is seen once, at that moment, but files are removed a day later. A note under `_frazil/` keeps it until then; if
the process dies before the note is written, the files stay.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from frazil.tables.base import WritableTable
from frazil.tables.outbox import directory
from frazil.tables.rules.stages import UUID, Stage, connector_in_names, whole
from frazil.tables.rules.state import TableState
from frazil.tables.rules.tokens import Tokens, decode, key_of

_NOTE: Final = re.compile(rf"abandoned-([A-Z0-9_$]+)-{UUID}\.json")
_PROBES: Final = 3
"""Names of which a location provider that spreads files over directories does not put all into one."""


def last_commit(state: TableState, known: Tokens | None, connector: str) -> str | None:
    """The connector's last commit in this version of a table; None where that is not certain.

    `known` are the tokens that hold. After a rollback they are not those of the last commit, which the mirror tells.
    """
    mirror = state.property(key_of(connector))
    if known is None or mirror is None:
        return None
    try:
        return known.commit if decode(mirror).commit == known.commit else None
    except ValueError:
        return None


def belong_to_the_table_alone(state: TableState) -> bool:
    """Whether files may be deleted because of what this table says: Iceberg's `gc.enabled`.

    Catalogs with branches, and tables made of another one's snapshot, say no.
    """
    return (state.property("gc.enabled") or "true").lower() == "true"


@dataclass(frozen=True, slots=True)
class Note:
    """Stages of which files may lie about that no commit named."""

    abandoned: frozenset[str] = frozenset()
    """Stages that were never committed: all their files."""

    committed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Stages that were committed, and the names of the files that their commits named: all their other files, which
    attempts at a task have written that lost to another attempt."""

    def __bool__(self) -> bool:
        return bool(self.abandoned or self.committed)

    def covers(self, stage: Stage, name: str) -> bool:
        """Whether no commit named the file of that name, which the stage has written."""
        if stage.id in self.abandoned:
            return True
        named = self.committed.get(stage.id)
        return named is not None and whole(name) not in named

    def joined(self, other: Note) -> Note:
        """What two notes say."""
        return Note(self.abandoned | other.abandoned, {**self.committed, **other.committed})


def note(table: WritableTable, connector: str, found: Note) -> None:
    """Write a note down.

    Raises:
        CatalogUnavailable: the note was not written.
    """
    path = f"{directory(table)}/abandoned-{connector_in_names(connector)}-{uuid.uuid4()}.json"
    document: dict[str, object] = {"v": 1, "stages": sorted(found.abandoned)}
    if found.committed:
        document["committed"] = {stage: sorted(names) for stage, names in found.committed.items()}
    table.write_file(path, orjson.dumps(document))


def noted(table: WritableTable, path: str) -> Note:
    """What a note says.

    Raises:
        CatalogUnavailable: it could not be read.
        ValueError: it is no note.
    """
    try:
        document = orjson.loads(table.read_file(path))
        if document["v"] != 1:
            raise ValueError(f"its version is {document['v']}, this program knows 1")
        committed = document.get("committed", {}).items()
        return Note(
            frozenset(map(str, document["stages"])),
            {str(stage): frozenset(map(str, names)) for stage, names in committed},
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"it is damaged ({type(error).__name__}: {error})") from error


def whose_note(name: str) -> str | None:
    """The connector, as in names, whose note a file of that name is; None for every other file."""
    match = _NOTE.fullmatch(name)
    return match[1] if match else None


def data_directory(table: WritableTable) -> str | None:
    """The one directory that the table's data files go to; None where they go to several."""
    names = [f"frazil-{uuid.uuid4()}.parquet" for _ in range(_PROBES)]
    found = {table.new_data_path(name).removesuffix(f"/{name}") for name in names}
    return found.pop() if len(found) == 1 else None
