"""What a worker answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from frazil.model.places import Position, SourcePartition
from frazil.model.rejects import RejectSummary
from frazil.model.schema import Drift, SchemaChange, TableName
from frazil.model.tasks import WriteShape

PartitionValue: TypeAlias = bool | int | float | str | None
"""One value of a partition's tuple, as Iceberg's JSON has single values; a `float` may be none that JSON has."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A Parquet data file that is in no snapshot yet."""

    path: str
    rows: int
    size: int
    """Bytes."""

    metrics: Mapping[str, Any] = field(repr=False, default_factory=dict)
    """Iceberg's file metrics by the names of its content-file JSON; bounds are hex."""

    partition: tuple[PartitionValue, ...] = ()
    """What its rows have in common, a value for each field of the partition spec."""


@dataclass(frozen=True, slots=True)
class StagedRange:
    """How far a task came in one range, and what it met."""

    partition: SourcePartition
    start: Position
    covered: Position
    """Everything before it is covered: the range's end, or where the record is that stopped the task."""

    parsed: int = 0
    """Records read."""

    inserted: int = 0
    """Rows written."""

    errors: int = 0
    """Records rejected."""

    skipped: int = 0
    """Tombstones, and records that a transform dropped; `parsed` is the sum of the three."""

    bytes: int = 0
    """Bytes of values read."""

    record_epoch: int | None = None
    """Leader epoch of the last record read; None in sources without."""

    read_through: int | None = None
    """What had come by then was read, in ms since the epoch, be there anything behind it or not; None in sources that
    cannot tell."""

    arrived: int | None = None
    """When the record right before `covered` arrived, in ms since the epoch; None where `covered` is not right behind
    a record, and in sources that cannot tell."""

    held: str | None = None
    """Why the source gives no more of it until somebody sees to that; None where it does."""

    trouble: str | None = None
    """Why the source gave nothing of it this time, where it may by itself later; None where it answered."""

    oldest: int | None = None
    """Timestamp of the oldest record read, in ms since the epoch."""

    newest: int | None = None
    """Timestamp of the newest record read, in ms since the epoch."""

    sample: tuple[int, ...] = ()
    """Timestamps of a few of the records, for latencies; bounded."""

    @property
    def span(self) -> int:
        """How many records there may have been between `start` and `covered`; gaps make `parsed` smaller."""
        return self.start.distance(self.covered)


@dataclass(frozen=True, slots=True)
class StagedTable:
    """What one task did for one table."""

    shape: WriteShape
    ranges: tuple[StagedRange, ...]
    """How far the table came in each of the task's ranges: what lies before its own token is in none of the counts."""

    files: tuple[StagedFile, ...] = ()
    rejects: RejectSummary | None = None
    drift: Drift = field(default_factory=dict)
    """Not empty only for a table that evolves; then `files` is empty."""

    change: SchemaChange = field(default_factory=SchemaChange)
    """What its columns have to become besides; likewise."""

    dropped: Mapping[str, int] = field(default_factory=dict)
    """Values of keys that have no column, counted by key."""

    output: str | None = None
    """The path of the file of accepted records that are sent on; None where none are."""

    @property
    def is_outgrown(self) -> bool:
        """Whether the table has to change before its records land."""
        return bool(self.drift) or self.change != SchemaChange()


@dataclass(frozen=True, slots=True)
class Staged:
    """What one task did. A failure is a value too: raising would make a cluster retry it and lose the reason."""

    ranges: tuple[StagedRange, ...]
    """What was read: how far, and how many records and bytes."""

    tables: tuple[StagedTable, ...] = ()
    failure: StageFailure | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Where the task's time went: `read`, `convert`, `project`, `move`."""

    new_values: Mapping[str, str] = field(default_factory=dict)
    """Values by which records are routed and that have no table yet, by the names generated for them; then there are no
    files."""

    schemas: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    """What tells the schemas that records were read by from others, by the registry's address and their id."""

    repeated: bool = False
    """Whether Spark may have run the task more than once: other attempts may have left files, or still write some."""


@dataclass(frozen=True, slots=True)
class StageFailure:
    """Why a task could not stage its ranges."""

    error: str
    """The code of the error it is, as in `frazil.errors`."""

    message: str
    partition: SourcePartition | None = None
    table: TableName | None = None
    """The table that could not be staged for, where it is one table's failure."""
