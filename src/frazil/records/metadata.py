"""RECORD_METADATA: what is told about a record beside its value (spec section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import Column, Conversion, MapType, MetadataPart, Primitive, StructType
from frazil.records.headers import headers
from frazil.records.keys import keys
from frazil.records.metadata_variant import encoded

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

KEY_IS_JSON: Final = "key is JSON"
"""The column that says whether `key` is JSON to be kept as such where the metadata is JSON."""

STRUCTURED_HEADERS: Final = "structured headers"
"""The column of headers as JSON text with the types of their values; null unless the configuration wants it."""

ENCODED: Final = "metadata encoded"
"""The column of the whole metadata as a VARIANT's bytes; null where they come of a cast from JSON."""

_FIELDS_OF: Final[Mapping[MetadataPart, tuple[str, ...]]] = {
    "topic": ("topic",),
    "offset_and_partition": ("offset", "partition"),
    "create_time": ("CreateTime", "LogAppendTime"),
    "push_time": ("SnowflakeConnectorPushTime",),
}


@dataclass(frozen=True, slots=True)
class Told:
    """What is told about the records of a batch."""

    columns: Mapping[str, pa.Array]
    """One for each of `FIELDS`, `KEY_IS_JSON`, `STRUCTURED_HEADERS` and `ENCODED`; null is what is not told."""

    bad: Mapping[int, str]
    """Why records cannot be told about, by row: a key or header that is not what its converter reads."""


def column_type() -> StructType:
    """The struct of a created table; field ids are given by the catalog."""
    texts = MapType(0, Primitive("string"), 0, Primitive("string"), value_required=False)
    return StructType(
        tuple(Column(0, name, texts if kind == "map" else Primitive(kind)) for name, kind in FIELDS),
    )


def always_told(conversion: Conversion) -> frozenset[str]:
    """The fields every record has."""
    parts = (conversion.metadata or frozenset()) - {"create_time"}
    return frozenset(name for part in parts for name in _FIELDS_OF[part])


def tell(batch: pa.RecordBatch, conversion: Conversion, now: int) -> Told:
    """What is told about the records of a batch.

    Args:
        batch: as `frazil.records.batches.schema` says.
        conversion: what is told, and how keys and headers are converted; without any metadata they are not looked at.
        now: when the records are converted, in ms since the epoch (SnowflakeConnectorPushTime).
    """
    count = batch.num_rows
    key_bytes, header_bytes = batch.column("key"), batch.column("headers")
    if conversion.metadata is None:
        key_bytes, header_bytes = pa.nulls(count, key_bytes.type), pa.nulls(count, header_bytes.type)
    key = keys(key_bytes, conversion.key_converter)
    header = headers(header_bytes, conversion.header_converter, structured=conversion.structured_headers)
    stamps, appended = batch.column("timestamp"), batch.column("log_append_time")
    missing = pa.scalar(None, pa.int64())
    told = {
        "topic": batch.column("topic"),
        "partition": batch.column("partition"),
        "offset": batch.column("offset"),
        "key": key.values,
        "schema_id": pa.nulls(count, pa.int32()),
        "key_schema_id": pa.nulls(count, pa.int32()),
        "CreateTime": pc.if_else(appended, missing, stamps),
        "LogAppendTime": pc.if_else(appended, stamps, missing),
        "SnowflakeConnectorPushTime": pa.repeat(pa.scalar(now, pa.int64()), count),
        "headers": header.texts,
        KEY_IS_JSON: key.is_json,
        STRUCTURED_HEADERS: header.structured,
    }
    for part in _FIELDS_OF.keys() - (conversion.metadata or frozenset()):
        told.update({name: pa.nulls(count, told[name].type) for name in _FIELDS_OF[part]})
    jsons = (("key", pc.if_else(key.is_json, key.values, pa.scalar(None, pa.string()))), ("headers", header.structured))
    told[ENCODED], too_deep = encoded({name: told[name] for name, _ in FIELDS}, jsons)
    return Told(told, {**too_deep, **header.bad, **key.bad})
