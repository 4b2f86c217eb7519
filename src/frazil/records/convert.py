"""Records as read → the columns every pipe projects from: JSON text, metadata, and where each came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from frazil.errors import InvalidRecord, UnfitValue
from frazil.model import Conversion, Reject, SourcePartition
from frazil.records import metadata
from frazil.records.keys import keys
from frazil.records.text import empty_as_null, utf8

VALUE = "value"
"""The column of JSON text; null for a tombstone."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A batch of records with their values as JSON text."""

    table: pa.Table
    """`value`, and one column for each field of RECORD_METADATA under the field's name."""

    records: pa.Table
    """The same rows as they were read, for rejects."""

    rejects: tuple[Reject, ...]
    """The records whose bytes are no text; they are in neither table."""


def convert(batch: pa.RecordBatch, topic: str, conversion: Conversion, now: int) -> Converted:
    """Convert values with the JSON converter, keys and headers as `conversion` says.

    Whether the text is a JSON object is for the projection to find out: it parses it anyway.

    Args:
        batch: as `frazil.sources.kafka.reader.SCHEMA` says.
        topic: where the records come from.
        conversion: how records are converted.
        now: when the records are converted, in ms since the epoch.
    """
    value = utf8(empty_as_null(batch.column("value")))
    key = keys(batch.column("key"), conversion.key_converter)
    table = pa.table({VALUE: value.values, **metadata.arrow_fields(batch, topic, key.values, now)})
    records = pa.Table.from_batches([batch])
    bad = {**{row: f"the key is no text: {reason}" for row, reason in key.bad.items()}, **value.bad}
    if not bad:
        return Converted(table, records, ())
    good = pa.array([row not in bad for row in range(batch.num_rows)])
    rejects = rejects_of(records, topic, "convert", {row: Unfit(reason) for row, reason in bad.items()})
    return Converted(table.filter(good), records.filter(good), rejects)


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a record cannot become a row."""

    reason: str
    column: str | None = None

    @property
    def code(self) -> str:
        """The code of the error it is: a value that fits no column is another error than a record without columns."""
        return InvalidRecord.code if self.column is None else UnfitValue.code


def rejects_of(
    records: pa.Table, topic: str, stage: Literal["convert", "project"], unfit: Mapping[int, Unfit]
) -> tuple[Reject, ...]:
    """The rejects for some rows of a table of records as read (`frazil.sources.kafka.reader.SCHEMA`)."""
    rows = sorted(unfit)
    return tuple(
        Reject(
            partition=SourcePartition(topic, record["partition"]),
            offset=record["offset"],
            timestamp=record["timestamp"],
            key=record["key"],
            value=record["value"],
            headers=tuple(record["headers"] or ()),
            stage=stage,
            code=unfit[row].code,
            reason=unfit[row].reason,
            column=unfit[row].column,
        )
        for row, record in zip(rows, records.take(pa.array(rows, pa.int64())).to_pylist(), strict=True)
    )
