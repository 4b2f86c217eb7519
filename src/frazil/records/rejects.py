"""Records that cannot become rows, as columns: where they came from, their bytes, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import pyarrow as pa

from frazil.errors import InvalidRecord, UnfitValue
from frazil.model import Reject, SourcePartition

SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.map_(pa.string(), pa.binary())),
        ("stage", pa.string()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("column", pa.string()),
    ]
)
"""One reject a row; the columns of a reject file."""


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
        """Hold what `tables`, of `SCHEMA`, hold."""
        self.tables: Final = tuple(tables)

    def __len__(self) -> int:
        return sum(table.num_rows for table in self.tables)

    def __iter__(self) -> Iterator[Reject]:
        for table in self.tables:
            for batch in table.to_batches(max_chunksize=1000):
                yield from map(reject, batch.to_pylist())

    def __add__(self, other: Rejects) -> Rejects:
        return Rejects((*self.tables, *other.tables))


def rejects_of(
    records: pa.Table, topic: str, stage: Literal["convert", "project"], unfit: Mapping[int, RejectReason]
) -> Rejects:
    """The rejects for some rows of a table of records as read (`frazil.sources.kafka.reader.SCHEMA`)."""
    if not unfit:
        return Rejects()
    rows = sorted(unfit)
    read = records.take(pa.array(rows, pa.int64()))
    told = {
        "topic": pa.repeat(topic, len(rows)),
        "stage": pa.repeat(stage, len(rows)),
        "code": pa.array([unfit[row].code for row in rows], pa.string()),
        "reason": pa.array([unfit[row].reason for row in rows], pa.string()),
        "column": pa.array([unfit[row].column for row in rows], pa.string()),
    }
    columns = [told[name] if name in told else read.column(name) for name in SCHEMA.names]
    return Rejects([pa.Table.from_arrays(columns, schema=SCHEMA)])


def reject(row: Mapping[str, Any]) -> Reject:
    """The reject that one row of `SCHEMA` holds."""
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
