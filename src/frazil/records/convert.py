"""Records as read → the columns every pipe projects from: JSON text, metadata, and where each came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import Conversion
from frazil.records import metadata
from frazil.records.registered import registered
from frazil.records.rejects import RejectReason, Rejects, rejects_of
from frazil.records.text import empty_as_null, utf8, without_mark

VALUE = "value"
"""The column of JSON text; null for a tombstone."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A batch of records with their values as JSON text."""

    table: pa.Table
    """`value`, and the columns of `frazil.records.metadata.Told`."""

    records: pa.Table
    """The same rows as they were read, for rejects."""

    rejects: Rejects
    """The records that cannot be converted; they are in neither table."""

    skipped: Mapping[int | str, int]
    """How many tombstones were left out, by partition; they are in neither table."""


def convert(batch: pa.RecordBatch, conversion: Conversion, now: int) -> Converted:
    """Convert values with the JSON converter, keys and headers as `conversion` says.

    Whether the text is a JSON object is for the projection to find out: it parses it anyway.

    Args:
        batch: as `frazil.records.batches.schema` says.
        conversion: how records are converted.
        now: when the records are converted, in ms since the epoch.
    """
    batch, skipped = _without_tombstones(batch) if conversion.tombstones == "ignore" else (batch, {})
    value = utf8(_document(batch))
    told = metadata.tell(batch, conversion, now)
    table = pa.table({VALUE: value.values, **told.columns})
    records = pa.Table.from_batches([batch])
    bad = {**told.bad, **value.bad, **registered(batch.column("value"))}
    if not bad:
        return Converted(table, records, Rejects(), skipped)
    good = pa.array([row not in bad for row in range(batch.num_rows)])
    rejects = rejects_of(records, "convert", {row: RejectReason(reason) for row, reason in bad.items()})
    return Converted(table.filter(good), records.filter(good), rejects, skipped)


def _without_tombstones(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Mapping[int | str, int]]:
    """The records that have a value, and how many have none, by partition."""
    has_value = pc.is_valid(_document(batch))
    tombstones = batch.column("partition").filter(pc.invert(has_value))
    return (batch.filter(has_value), Counter(tombstones.to_pylist())) if len(tombstones) else (batch, {})


def _document(batch: pa.RecordBatch) -> pa.BinaryArray:
    """The values as the bytes of JSON documents, null where there is none."""
    return empty_as_null(without_mark(batch.column("value")))
