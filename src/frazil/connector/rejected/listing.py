"""Rejected records in groups: where they came from, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from frazil.model import PartitionId, RecordOffset, RecordPlace, SourcePartition
from frazil.staging.rejects import kinds_of_columns, kinds_of_reasons

WasReplayed: TypeAlias = Callable[[str, str, RecordPlace], bool]
"""Whether a record of a connector was replayed to a table, both by name."""


@dataclass(slots=True)
class RejectGroup:
    """Rejects of one partition whose reasons differ only in what they show of the record."""

    table: str | None
    """The table they were rejected for; None where nothing says which."""

    connector: str | None
    topic: str | None
    partition: PartitionId | None
    stage: str | None
    code: str | None
    column: str | None
    reason: str | None
    """The reason without what it shows of the record."""

    count: int = 0
    replayed: int = 0
    """How many of them are in the table by now."""

    first_offset: RecordOffset | None = None
    last_offset: RecordOffset | None = None
    first_time: int | None = None
    last_time: int | None = None
    """When the first and the last of them was rejected, in ms since the epoch; where nobody noted that, when they were
    produced."""


@dataclass(frozen=True, slots=True)
class Described:
    """A reject as its columns have it, and whether it was replayed."""

    row: Mapping[str, Any]
    table: str | None
    replayed: bool


def groups(found: Iterable[pa.RecordBatch], table: str | None, replayed: WasReplayed) -> list[RejectGroup]:
    """The groups of rejects, by where they came from.

    Args:
        found: the rejects, as an error table has them.
        table: the table they were rejected for; None where a column of them says so.
        replayed: what was replayed.
    """
    made: dict[tuple[Any, ...], RejectGroup] = {}
    for batch in found:
        for each, kinds in _with_kinds(batch, table, replayed):
            row = each.row
            key: tuple[Any, ...] = (
                each.table,
                row["connector"],
                row["topic"],
                row["partition"],
                row["stage"],
                row["code"],
                *kinds,
            )
            if key not in made:
                made[key] = RejectGroup(*key)
            _count(made[key], each)
    return sorted(made.values(), key=lambda group: [str(part) for part in _place(group)])


def described(batch: pa.RecordBatch, table: str | None, replayed: WasReplayed) -> Iterator[Described]:
    """The rejects of a batch; arguments as for `groups`."""
    for row in batch.to_pylist():
        named = table or row.get("table")
        place = (SourcePartition(row["topic"], row["partition"]), row["offset"])
        known = named is not None and row["connector"] is not None and row["topic"] is not None
        yield Described(row, named, known and replayed(named, row["connector"], place))


def _with_kinds(
    batch: pa.RecordBatch, table: str | None, replayed: WasReplayed
) -> Iterator[tuple[Described, tuple[str | None, str | None]]]:
    columns = kinds_of_columns(batch.column("column")).to_pylist()
    reasons = kinds_of_reasons(batch.column("message")).to_pylist()
    yield from zip(described(batch, table, replayed), zip(columns, reasons, strict=True), strict=True)


def _count(group: RejectGroup, each: Described) -> None:
    group.count += 1
    group.replayed += each.replayed
    offset, moment = each.row["offset"], each.row["rejected_at"] or each.row["timestamp"]
    if offset is not None:
        group.first_offset, group.last_offset = _reached(group.first_offset, group.last_offset, offset)
    if moment is not None:
        time = int(moment.timestamp() * 1000)
        group.first_time, group.last_time = _widened(group.first_time, group.last_time, time)


def _reached(first: Any, last: Any, one: RecordOffset) -> tuple[Any, Any]:
    """The first and the last offset; texts come in their order, numbers in any."""
    return (one if first is None else first, one) if isinstance(one, str) else _widened(first, last, one)


def _widened(first: Any, last: Any, one: Any) -> tuple[Any, Any]:
    return (one, one) if first is None else (min(first, one), max(last, one))


def _place(group: RejectGroup) -> tuple[object, ...]:
    number = group.partition
    return (group.table, group.topic, f"{number!s:>12}", group.code, group.column, group.reason)
