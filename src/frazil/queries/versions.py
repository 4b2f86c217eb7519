"""A table at a moment of its life."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from frazil.errors import CatalogUnavailable, InvalidQuery
from frazil.model import TableName
from frazil.snowflake.lake import NOW, Moment
from frazil.tables.iceberg.java import SCHEMA_PARSER, java_errors, java_message, java_type

LISTS: Final = "org.apache.iceberg.relocated.com.google.common.collect.Lists"
"""Makes of what Java iterates over what Python can, too."""

_SNAPSHOTS: Final = "org.apache.iceberg.util.SnapshotUtil"
_CHANGING: Final = frozenset({"overwrite", "delete"})
"""Operations after which rows are no longer there that were; `replace` has only moved them to other files."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a table was at a moment."""

    snapshot: int | None
    """The snapshot's id; None of a table that has none yet."""

    schema: str
    """As Iceberg's SchemaParser writes it."""

    is_current: bool


class OpenTable:
    """A loaded table: what it answers does not change."""

    def __init__(self, name: TableName, java: Any, jvm: Any) -> None:
        """Wrap Iceberg's Java table."""
        self.name = name
        self.java = java
        self.jvm = jvm
        self._versions: dict[Moment, Version] = {}

    @cached_property
    def current(self) -> int | None:
        """The id of the current snapshot."""
        found = self.java.currentSnapshot()
        return None if found is None else int(found.snapshotId())

    def property(self, key: str) -> str | None:
        """A property of the table."""
        found = self.java.properties().get(key)
        return None if found is None else str(found)

    @cached_property
    def is_encrypted(self) -> bool:
        """Whether Iceberg encrypts the table's files."""
        return self.property("encryption.key-id") is not None

    @cached_property
    def totals(self) -> dict[str, Any]:
        """What the current snapshot says of the whole table, by the names information_schema has for it."""
        found = self.java.currentSnapshot()
        summary = {} if found is None else found.summary()
        oldest = self._oldest()
        return {
            "ROW_COUNT": _rows(summary) if found is not None else 0,
            "BYTES": _number(summary.get("total-files-size")) if found is not None else 0,
            "CREATED": None if oldest is None else _moment(int(oldest.timestampMillis())),
            "LAST_ALTERED": None if found is None else _moment(int(found.timestampMillis())),
        }

    def at(self, moment: Moment) -> Version:
        """The table at a moment.

        Raises:
            InvalidQuery: it has nothing at that moment, or no longer has it.
            CatalogUnavailable: its metadata cannot be read.
        """
        if moment not in self._versions:
            try:
                self._versions[moment] = self._version(moment)
            except java_errors() as error:
                raise CatalogUnavailable(f"read the history of {self.name}", java_message(error)) from error
        return self._versions[moment]

    def start(self, since: Moment, end: int) -> int | None:
        """The snapshot after which changes begin that lead to the snapshot `end`; None if they begin with the first.

        Raises:
            InvalidQuery: the way between them is not known any more, or rows were deleted or overwritten on it.
        """
        start = self._as_of(since, first_is_empty=True)
        snapshots = java_type(self.jvm, _SNAPSHOTS)
        if start is not None and not snapshots.isAncestorOf(self.java, end, start):
            raise InvalidQuery(f"{self.name}: the changes after snapshot {start} do not lead to snapshot {end}")
        for each in java_type(self.jvm, LISTS).newArrayList(snapshots.ancestorsBetween(self.java, end, start)):
            operation = str(each.operation())
            if operation in _CHANGING:
                raise InvalidQuery(
                    f"{self.name}: snapshot {each.snapshotId()} ({operation}) deleted or overwrote rows, and CHANGES "
                    "knows appended ones only. Ask for the changes before it and after it, or compare the table at "
                    "two moments"
                )
        return start

    def _version(self, moment: Moment) -> Version:
        parser = java_type(self.jvm, SCHEMA_PARSER)
        if moment == NOW:
            return Version(self.current, str(parser.toJson(self.java.schema())), is_current=True)
        snapshot = self._as_of(moment)
        schema = java_type(self.jvm, _SNAPSHOTS).schemaFor(self.java, snapshot)
        return Version(snapshot, str(parser.toJson(schema)), is_current=False)

    def _as_of(self, moment: Moment, *, first_is_empty: bool = False) -> int | None:
        if moment.snapshot is not None:
            return self._of_id(moment.snapshot, before=moment.before, first_is_empty=first_is_empty)
        if moment.timestamp is None:
            return self.current
        asked = moment.timestamp - (1 if moment.before else 0)
        found = java_type(self.jvm, _SNAPSHOTS).nullableSnapshotIdAsOfTime(self.java, asked)
        if found is None:
            if first_is_empty and self._oldest_is_first():
                return None
            raise self._nothing(f"nothing at {_shown(moment.timestamp)}")
        if self.java.snapshot(int(found)) is None:
            raise self._nothing(f"no longer what it was at {_shown(moment.timestamp)}: its snapshot has expired")
        return int(found)

    def _of_id(self, asked: int, *, before: bool, first_is_empty: bool) -> int | None:
        # Iceberg takes 64 bits, and py4j chooses by the size of a number among methods.
        found = self.java.snapshot(asked) if -(2**63) <= asked < 2**63 else None
        if found is None:
            raise self._nothing(f"no snapshot {asked}; it may have expired")
        if not before:
            return asked
        parent = found.parentId()
        if parent is None:
            if first_is_empty:
                return None
            raise self._nothing(f"nothing before snapshot {asked}")
        if self.java.snapshot(int(parent)) is None:
            raise self._nothing(f"no longer what was before snapshot {asked}: it has expired")
        return int(parent)

    def _oldest(self) -> Any:
        oldest = None
        for each in java_type(self.jvm, LISTS).newArrayList(self.java.snapshots()):
            if oldest is None or int(each.timestampMillis()) < int(oldest.timestampMillis()):
                oldest = each
        return oldest

    def _oldest_is_first(self) -> bool:
        oldest = self._oldest()
        return oldest is None or oldest.parentId() is None

    def _nothing(self, reason: str) -> InvalidQuery:
        oldest = self._oldest()
        rest = (
            "It has no snapshot yet"
            if oldest is None
            else f"The oldest snapshot there is: {oldest.snapshotId()} of {_shown(int(oldest.timestampMillis()))}"
        )
        return InvalidQuery(f"the table {self.name} has {reason}. {rest}")


def _rows(summary: Any) -> int | None:
    """How many rows a snapshot has; None where equality deletes leave it open."""
    if _number(summary.get("total-equality-deletes")):
        return None
    there, deleted = (_number(summary.get(f"total-{key}")) for key in ("records", "position-deletes"))
    return None if there is None else there - (deleted or 0)


def _number(text: Any) -> int | None:
    return None if text is None else int(text)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _shown(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms since 1970"
