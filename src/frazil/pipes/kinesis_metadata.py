"""kinesisMetadata, what is recorded of a stream's records, in the types a table's column may have."""

from __future__ import annotations

from typing import Final

from frazil.model import Conversion, IcebergType, Primitive
from frazil.pipes.metadata_form import MetadataForm, json_object
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

_MEMBERS: Final = {
    "stream": f"CAST(to_json({ident('stream')}) AS VARCHAR)",
    "shardId": f"CAST(to_json({ident('shardId')}) AS VARCHAR)",
    "approximateArrival": ident(_ARRIVAL),
    "partitionKey": f"CAST(to_json({ident('partitionKey')}) AS VARCHAR)",
    "sequenceNumber": f"CAST(to_json({ident('sequenceNumber')}) AS VARCHAR)",
    "subSequenceNumber": ident("subSequenceNumber"),
    "shardedSequenceNumber": f"CAST(to_json({ident('shardedSequenceNumber')}) AS VARCHAR)",
}
_DOCUMENT: Final = json_object(_MEMBERS)


class KinesisMetadata(MetadataForm):
    """See `frazil.pipes.metadata_form.MetadataForm`."""

    column = metadata.COLUMN
    fields = metadata.FIELDS
    inputs = tuple(name for name, _ in metadata.FIELDS)

    def document(self) -> str:
        return _DOCUMENT

    def anything(self) -> str:
        return f"{ident('sequenceNumber')} IS NOT NULL"

    def variant(self) -> str:
        return f"CAST(CAST({_DOCUMENT} AS JSON) AS VARIANT)"

    def field_sql(self, name: str, kind: IcebergType) -> str | None:
        if name != _ARRIVAL or not isinstance(kind, Primitive) or kind.name not in _TIMES:
            return None
        return _TIMES[kind.name]

    def field_document(self, name: str) -> str | None:  # noqa: ARG002 (all of them are of their types)
        return None

    def always_present(self, conversion: Conversion) -> frozenset[str]:
        return metadata.always_present(conversion)

    def created_type(self, conversion: Conversion) -> IcebergType:
        """A struct, unless it is to be a text."""
        return metadata.column_type() if conversion.structured_metadata else Primitive("string")


KINESIS: Final = KinesisMetadata()
