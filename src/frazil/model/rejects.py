"""Records that could become no row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from frazil.model.places import RecordOffset, SourcePartition

RejectStage: TypeAlias = Literal["convert", "transform", "route", "project"]
"""`convert`: a converter cannot read the bytes; `transform`: a transform cannot take the record; `route`: it leads to
no table; `project`: the value is not a JSON object, or does not fit its column."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that could not become a row."""

    partition: SourcePartition
    offset: RecordOffset
    timestamp: int | None
    """Milliseconds since the epoch."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    stage: RejectStage

    code: str
    """Stable error code, as in `frazil.errors`: 5030 where a value does not fit its column, else 5015."""

    reason: str
    column: str | None = None

    def start_of_value(self, length: int = 80) -> str:
        """The first `length` characters of the value, undecodable bytes replaced."""
        return (self.value or b"")[: length * 4].decode("utf-8", "replace")[:length]


@dataclass(frozen=True, slots=True)
class RejectKind:
    """Rejects of one task whose reasons differ only in what they show of the record."""

    code: str
    column: str | None
    reason: str
    """The reason without what it shows of the record."""

    count: int
    first: Reject
    """The first of them, shortened."""


@dataclass(frozen=True, slots=True)
class RejectSummary:
    """What the driver needs to know about a task's rejects; the records are in the file."""

    count: int
    first: Reject
    """The first by partition and offset, shortened: the start of its value, no key and no headers."""

    path: str
    kinds: tuple[RejectKind, ...]
    """A bounded number of them; the last one counts those that are one too many."""
