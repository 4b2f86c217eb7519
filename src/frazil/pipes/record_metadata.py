"""RECORD_METADATA, what is recorded of Kafka's records, in the types a table's column may have (spec 3)."""

from __future__ import annotations

from typing import Final

from frazil.model import Conversion, IcebergType, Primitive
from frazil.pipes.metadata_form import MetadataForm, json_object
from frazil.records import metadata
from frazil.sql import ident

KEY: Final = (
    f"CASE WHEN {ident(metadata.KEY_IS_JSON)} THEN {ident('key')} ELSE CAST(to_json({ident('key')}) AS VARCHAR) END"
)
"""SQL for the key as JSON text."""

HEADERS: Final = f"coalesce({ident(metadata.STRUCTURED_HEADERS)}, CAST(to_json({ident('headers')}) AS VARCHAR))"
"""SQL for the headers as JSON text."""

_MEMBERS: Final = {
    "topic": f"CAST(to_json({ident('topic')}) AS VARCHAR)",
    "offset": ident("offset"),
    "partition": ident("partition"),
    "schema_id": ident("schema_id"),
    "key_schema_id": ident("key_schema_id"),
    "CreateTime": ident("CreateTime"),
    "LogAppendTime": ident("LogAppendTime"),
    "SnowflakeConnectorPushTime": ident("SnowflakeConnectorPushTime"),
    "key": KEY,
    "headers": HEADERS,
}


_DOCUMENT: Final = json_object(_MEMBERS)
_ANYTHING: Final = " OR ".join([f"{ident(name)} IS NOT NULL" for name, _ in metadata.FIELDS])
_ENCODED: Final = ident(metadata.ENCODED)


class RecordMetadata(MetadataForm):
    """See `frazil.pipes.metadata_form.MetadataForm`."""

    column = metadata.COLUMN
    fields = metadata.FIELDS
    inputs = (
        *(name for name, _ in metadata.FIELDS),
        metadata.KEY_IS_JSON,
        metadata.STRUCTURED_HEADERS,
        metadata.ENCODED,
    )

    def document(self) -> str:
        return _DOCUMENT

    def anything(self) -> str:
        return _ANYTHING

    def variant(self) -> str:
        return (
            f"CASE WHEN {_ENCODED} IS NOT NULL THEN variant_bytes_to_variant({_ENCODED}) "
            f"ELSE CAST(CAST({_DOCUMENT} AS JSON) AS VARIANT) END"
        )

    def field_sql(self, name: str, kind: IcebergType) -> str | None:
        return HEADERS if name == "headers" and kind == Primitive("string") else None

    def field_document(self, name: str) -> str | None:
        if name == "key":
            return KEY
        return HEADERS if name == "headers" else None

    def always_present(self, conversion: Conversion) -> frozenset[str]:
        return metadata.always_present(conversion)

    def created_type(self, conversion: Conversion) -> IcebergType:
        """A struct, unless it is to be a text, or headers to be typed."""
        if not conversion.structured_metadata:
            return Primitive("string")
        if not conversion.structured_headers:
            return metadata.column_type()
        return Primitive("variant" if conversion.nested_type == "variant" else "string")


RECORD: Final = RecordMetadata()
