"""Records that cannot become rows, as columns: where they came from, their bytes, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from frazil.errors import InvalidRecord, UnfitValue
from frazil.model import Reject, RejectStage, SourcePartition

_READ: Final = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
_WHY: Final = ("stage", "code", "reason", "column")

COLUMNS: Final = (*_READ, *_WHY)
"""The columns of a reject file."""


def schema(batch: pa.Schema) -> pa.Schema:
    """One reject a row: the columns of a reject file, of records that were read in such batches."""
    read = [("topic", pa.string()), *((name, batch.field(name).type) for name in _READ[1:])]
    return pa.schema([*read, *((name, pa.string()) for name in _WHY)])


@dataclass(frozen=True, slots=True)
class RejectReason:
    """Why a record cannot become a row."""

    reason: str
    """What it shows of the record is in quotes."""

    column: str | None = None

    @property
    def code(self) -> str:
        """The code of the error it is: a value that fits no column is another error than a record without columns."""
        return InvalidRecord.code if self.column is None else UnfitValue.code


class Rejects:
    """Rejected records, kept as columns for there may be millions; a `Reject` is made when one is asked for."""

    def __init__(self, tables: Iterable[pa.Table] = ()) -> None:
        """Hold what `tables`, of a `schema`, hold."""
        self.tables: Final = tuple(tables)

    def __len__(self) -> int:
        return sum(table.num_rows for table in self.tables)

    def __iter__(self) -> Iterator[Reject]:
        for table in self.tables:
            for batch in table.to_batches(max_chunksize=1000):
                yield from map(reject, batch.to_pylist())

    def __add__(self, other: Rejects) -> Rejects:
        return Rejects((*self.tables, *other.tables))


def rejects_of(records: pa.Table, stage: RejectStage, unfit: Mapping[int, RejectReason]) -> Rejects:
    """The rejects for some rows of a table of records as read (`frazil.records.batches.schema`)."""
    if not unfit:
        return Rejects()
    rows = sorted(unfit)
    read = records.take(pa.array(rows, pa.int64()))
    why = {
        "stage": pa.repeat(stage, len(rows)),
        "code": pa.array([unfit[row].code for row in rows], pa.string()),
        "reason": pa.array([unfit[row].reason for row in rows], pa.string()),
        "column": pa.array([unfit[row].column for row in rows], pa.string()),
    }
    return Rejects([pa.table({**{name: read.column(name) for name in _READ}, **why}).cast(schema(records.schema))])


def reject(row: Mapping[str, Any]) -> Reject:
    """The reject that one row of a `schema` holds."""
    return Reject(
        partition=SourcePartition(row["topic"], row["partition"]),
        offset=row["offset"],
        timestamp=row["timestamp"],
        key=row["key"],
        value=row["value"],
        headers=tuple(row["headers"] or ()),
        stage=row["stage"],
        code=row["code"],
        reason=row["reason"],
        column=row["column"],
    )
