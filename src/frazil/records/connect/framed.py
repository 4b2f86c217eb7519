"""Values of a schema registry's serialisers, where JSON without schemas is expected."""

from __future__ import annotations

from typing import Final

MAGIC: Final = b"\0"
"""How they begin; no JSON text begins with a zero."""

_HEAD: Final = 5
"""Bytes of the magic byte and of the schema's id behind it."""

_JSON: Final = ("JSON Schema", "io.confluent.connect.json.JsonSchemaConverter")
_BINARY: Final = (
    "Avro or Protobuf",
    "io.confluent.connect.avro.AvroConverter or io.confluent.connect.protobuf.ProtobufConverter",
)


def framed(value: bytes) -> str | None:
    """Why such a value is not JSON, and which converter reads it; None if nothing says that it is one."""
    if not value.startswith(MAGIC) or len(value) <= _HEAD:
        return None
    body = value[_HEAD:].strip()
    what, converters = _JSON if body[:1] + body[-1:] in (b"{}", b"[]") else _BINARY
    schema = int.from_bytes(value[1:_HEAD], "big")
    return (
        f"begins with the magic byte of a schema registry and the schema id '{schema}', so it seems to be {what}: that "
        f"needs value.converter={converters}, and value.converter.schema.registry.url"
    )
