"""kinesisMetadata, what is recorded of a stream's records, in the types a table's column may have."""

from __future__ import annotations

from typing import Final

from frazil.model import Conversion, IcebergType, Primitive
from frazil.pipes.metadata_form import MetadataForm
from frazil.records import kinesis_metadata as metadata
from frazil.sql import ident

_ARRIVAL: Final = "approximateArrival"
_MICROSECONDS: Final = f"1000 * {ident(_ARRIVAL)}"
_TIMES: Final = {
    "timestamptz": f"make_timestamptz({_MICROSECONDS})",
    "timestamptz_ns": f"CAST(make_timestamp({_MICROSECONDS}) AS TIMESTAMP_NS)",
    "timestamp": f"make_timestamp({_MICROSECONDS})",
    "timestamp_ns": f"CAST(make_timestamp({_MICROSECONDS}) AS TIMESTAMP_NS)",
    "string": f"strftime(make_timestamp({_MICROSECONDS}), '%Y-%m-%dT%H:%M:%S.%gZ')",
}
"""SQL for the time of arrival in a type, where it is not milliseconds since the epoch."""

_TEXTS: Final = ("stream", "shardId", "partitionKey", "sequenceNumber", "shardedSequenceNumber")


def _member(name: str) -> str:
    return f"CAST(to_json({ident(name)}) AS VARCHAR)" if name in _TEXTS else f"CAST({ident(name)} AS VARCHAR)"


def _created(conversion: Conversion) -> IcebergType:
    return metadata.column_type() if conversion.structured_metadata else Primitive("string")


def _field_sql(name: str, kind: IcebergType) -> str | None:
    return _TIMES.get(kind.name) if name == _ARRIVAL and isinstance(kind, Primitive) else None


KINESIS: Final = MetadataForm(
    column=metadata.COLUMN,
    fields=metadata.FIELDS,
    inputs=tuple(name for name, _ in metadata.FIELDS),
    members={name: _member(name) for name, _ in metadata.FIELDS},
    anything=f"{ident('sequenceNumber')} IS NOT NULL",
    always=metadata.always_present,
    created=_created,
    field_sql=_field_sql,
    documents={},
)
