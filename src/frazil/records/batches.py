"""Batches of records: as readers yield them, whatever the source, and as converters leave them for transforms."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TOPIC: Final = pa.dictionary(pa.int32(), pa.string())
"""The type of the column of topics: a batch has few."""

HEADERS: Final = pa.map_(pa.string(), pa.binary())
"""The type of the column of headers as read."""

TEXT_OR_JSON: Final = pa.struct([("text", pa.string()), ("is_json", pa.bool_())])
"""The type of converted keys and header values: a text, or the text of a JSON document; null for none."""

TYPES: Final = pa.dictionary(pa.int32(), pa.string())
"""The type of the column of what values are by their schemas (`frazil.records.schema_types`): a batch has few."""


def schema(partition: pa.DataType, offset: pa.DataType) -> pa.Schema:
    """One record a row, as read; partitions and offsets are of the source's own types.

    Timestamps are ms since the epoch, null when the record has none.
    """
    return pa.schema(
        [
            ("topic", TOPIC),
            ("partition", partition),
            ("offset", offset),
            ("timestamp", pa.int64()),
            ("log_append_time", pa.bool_()),
            ("key", pa.binary()),
            ("value", pa.binary()),
            ("headers", HEADERS),
        ]
    )


def converted_schema(read: pa.Schema) -> pa.Schema:
    """One record a row, converted; of the columns of `read`, those that say where it comes from stay as they are.

    The value is JSON text, null for a tombstone; its types and the schema ids are null where it has no schema.
    """
    converted = {"key": TEXT_OR_JSON, "value": pa.string(), "headers": pa.map_(pa.string(), TEXT_OR_JSON)}
    fields = [(field.name, converted.get(field.name, field.type)) for field in read]
    return pa.schema([*fields, ("types", TYPES), ("schema_id", pa.int32()), ("key_schema_id", pa.int32())])


def topics(topic: str, count: int) -> pa.DictionaryArray:
    """The column of topics of `count` records of one topic."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([topic], pa.string()))
