"""kinesisMetadata: what is recorded of a record of a stream beside its value, as Openflow's connector does."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import Column, Conversion, Primitive, StructType
from frazil.records.metadata import MetadataColumns
from frazil.records.value import values

COLUMN: Final = "kinesisMetadata"
"""The column's name in tables frazil creates; in others it is found ignoring case."""

FIELDS: Final[tuple[tuple[str, str], ...]] = (
    ("stream", "string"),
    ("shardId", "string"),
    ("approximateArrival", "timestamptz"),
    ("partitionKey", "string"),
    ("sequenceNumber", "string"),
    ("subSequenceNumber", "long"),
    ("shardedSequenceNumber", "string"),
)
"""The fields of the struct, with their Iceberg types."""

_SUB_DIGITS: Final = 20
"""Digits of a sub-sequence number behind its sequence number."""


def column_type() -> StructType:
    """The struct of a created table; field ids are given by the catalog."""
    return StructType(tuple(Column(0, name, Primitive(kind)) for name, kind in FIELDS))


def always_present(conversion: Conversion) -> frozenset[str]:
    """The fields every record has: all but the partition key, which streams may do without."""
    if conversion.metadata is None:
        return frozenset()
    return frozenset(name for name, _ in FIELDS) - {"partitionKey"}


def columns(records: pa.RecordBatch, conversion: Conversion, now: int) -> MetadataColumns:  # noqa: ARG001 (as Kafka's)
    """What is recorded of the records of a batch, the time of arrival in ms since the epoch.

    Args:
        records: as `frazil.records.batches.converted_schema` says.
        conversion: whether anything is recorded.
        now: when the records are converted, in ms since the epoch.
    """
    count = records.num_rows
    if conversion.metadata is None:
        kinds = {"string": pa.string(), "timestamptz": pa.int64(), "long": pa.int64()}
        return MetadataColumns({name: pa.nulls(count, kinds[kind]) for name, kind in FIELDS}, {})
    # Records that are made up to explain a pipe have numbers for both.
    partitions, offsets = (records.column(name).cast(pa.string()) for name in ("partition", "offset"))
    key = values(records.column("key"))
    if pc.any(pc.match_substring(offsets, ":")).as_py():
        parts = pc.split_pattern(offsets, ":", max_splits=1)
        sequences = pc.list_element(parts, 0)
        texts = pa.array([part[1] if len(part) > 1 else "0" for part in parts.to_pylist()], pa.string())
    else:
        sequences, texts = offsets, pa.repeat(pa.scalar("0"), count)
    padded = pc.utf8_lpad(texts, _SUB_DIGITS, "0")
    found = {
        "stream": records.column("topic"),
        "shardId": partitions,
        "approximateArrival": records.column("timestamp"),
        "partitionKey": key.texts,
        "sequenceNumber": sequences,
        "subSequenceNumber": pc.cast(texts, pa.int64()),
        "shardedSequenceNumber": pc.binary_join_element_wise(sequences, padded, ""),
    }
    return MetadataColumns(found, {row: f"the partition key {reason}" for row, reason in key.bad.items()})
