"""RECORD_METADATA: what is told about a record beside its value (spec section 3)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import Column, MapType, Primitive, StructType

COLUMN: Final = "RECORD_METADATA"
"""The column's name in tables frazil creates; in others it is found ignoring case."""

FIELDS: Final[tuple[tuple[str, str], ...]] = (
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "long"),
    ("key", "string"),
    ("schema_id", "int"),
    ("key_schema_id", "int"),
    ("CreateTime", "long"),
    ("LogAppendTime", "long"),
    ("SnowflakeConnectorPushTime", "long"),
    ("headers", "map"),
)
"""The fields of the struct, with their Iceberg types; times are ms since the epoch."""

_HEADERS = pa.map_(pa.string(), pa.string())


def column_type() -> StructType:
    """The struct of a created table; field ids are given by the catalog."""
    headers = MapType(0, Primitive("string"), 0, Primitive("string"), value_required=False)
    return StructType(
        tuple(Column(0, name, headers if kind == "map" else Primitive(kind)) for name, kind in FIELDS),
    )


def arrow_fields(batch: pa.RecordBatch, topic: str, keys: pa.StringArray, now: int) -> dict[str, pa.Array]:
    """The struct's fields for a batch of records, by name.

    Args:
        batch: as `frazil.sources.kafka.reader.SCHEMA` says.
        topic: where the records come from.
        keys: the record keys as text.
        now: when the records are converted, in ms since the epoch (SnowflakeConnectorPushTime).
    """
    stamps, appended = batch.column("timestamp"), batch.column("log_append_time")
    missing = pa.scalar(None, pa.int64())
    count = batch.num_rows
    return {
        "topic": pa.repeat(topic, count),
        "partition": batch.column("partition"),
        "offset": batch.column("offset"),
        "key": keys,
        "schema_id": pa.nulls(count, pa.int32()),
        "key_schema_id": pa.nulls(count, pa.int32()),
        "CreateTime": pc.if_else(appended, missing, stamps),
        "LogAppendTime": pc.if_else(appended, stamps, missing),
        "SnowflakeConnectorPushTime": pa.repeat(pa.scalar(now, pa.int64()), count),
        "headers": _headers(batch.column("headers")),
    }


def _headers(column: pa.MapArray) -> pa.MapArray:
    """Header values as text; of duplicate names the last wins (spec 3.1)."""
    if column.null_count == len(column):
        return pa.nulls(len(column), _HEADERS)
    texts = [
        None
        if not cell
        else [(name, None if value is None else value.decode("utf-8", "replace")) for name, value in dict(cell).items()]
        for cell in column.to_pylist()
    ]
    return pa.array(texts, _HEADERS)
