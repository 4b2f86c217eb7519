"""How a table keeps the pipes that users wrote for it: as properties, so that they travel with it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import msgspec
import orjson

from frazil.model import PipeTarget
from frazil.pipes.naming import default_pipe

PREFIX: Final = "frazil.pipe."
"""What the keys of the properties begin with; the pipe's name follows.

On a table the value is what `StoredPipe.encode` gives. On a namespace it is the name of the table that has the pipe,
for those pipes that are called otherwise than their table."""

_MEMBERS: Final = {"sql", "created", "creator", "comment", "columns"}
"""What a value has; with others it is that of another version, in which the statement may not be all there is."""

_LAST_MOMENT: Final = 253_402_300_799_999
"""The last ms of the year 9999: later times cannot be shown."""


@dataclass(frozen=True, slots=True)
class StoredPipe:
    """A pipe as a table keeps it."""

    name: str
    sql: str
    """Its CREATE PIPE as it was written; it is read again whenever it is used."""

    created: int
    """When, in ms since the epoch."""

    creator: str
    """Who created it, for people: user and host."""

    comment: str | None = None
    targets: tuple[PipeTarget, ...] = ()
    """The columns that its items go to, in the order of its select list; empty where the names in it decide, and for a
    pipe that an older frazil stored."""

    @property
    def identity(self) -> str:
        """Tells the pipe from what it is replaced by."""
        return identity_of(self.sql, self.targets)

    def encode(self) -> str:
        """The property's value."""
        members = {
            "sql": self.sql,
            "created": self.created,
            "creator": self.creator,
            "comment": self.comment,
            "columns": [asdict(target) for target in self.targets] or None,
        }
        return orjson.dumps({key: value for key, value in members.items() if value is not None}).decode()


def identity_of(sql: str, targets: Sequence[PipeTarget]) -> str:
    """What tells pipes apart: their statements, and the columns that their items go to."""
    ids = ",".join(str(target.id) for target in targets)
    return hashlib.sha256(f"{sql}\0{ids}".encode()).hexdigest()[:16]


def decode(name: str, text: str) -> StoredPipe:
    """The pipe that a property's value says.

    A value that frazil did not write, or that has members it does not know, is taken for the statement itself: it is
    refused when it is read, and nobody takes the table for one without a pipe.
    """
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, Mapping) or not isinstance(found.get("sql"), str) or found.keys() - _MEMBERS:
        return StoredPipe(name, text, 0, "")
    targets = _targets(found.get("columns", []))
    if targets is None:
        return StoredPipe(name, text, 0, "")
    created, comment = found.get("created"), found.get("comment")
    return StoredPipe(
        name,
        found["sql"],
        created if isinstance(created, int) and 0 <= created <= _LAST_MOMENT else 0,
        str(found.get("creator", "")),
        comment if isinstance(comment, str) else None,
        targets,
    )


def _targets(found: object) -> tuple[PipeTarget, ...] | None:
    """The columns that a property's value has; None if that is not how frazil writes them."""
    try:
        return tuple(msgspec.convert(found, list[PipeTarget]))
    except msgspec.ValidationError:
        return None


def of_channel(pipes: Collection[str], topic_table: str, table: str) -> str:
    """The pipe through which a channel's records come to a table: a user's, or the default pipe.

    Args:
        pipes: the names of the users' pipes that the table has.
        topic_table: the name that the channel's topic is mapped to.
        table: the table's own name.
    """
    by_name = {name: name for name in pipes}
    return matching(by_name, topic_table) or matching(by_name, table) or default_pipe(table)


def matching(pipes: Mapping[str, str], name: str, *, quoted: bool = False) -> str | None:
    """The pipe that a name means: the one of exactly that name, else the one equal ignoring case."""
    if name in pipes or quoted:
        return name if name in pipes else None
    return next((each for each in sorted(pipes) if each.lower() == name.lower()), None)
