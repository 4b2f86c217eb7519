"""Values that were written for a schema registry: no converter that is built reads them, and their reject says so.

They begin with a zero, the magic byte, and four bytes of the schema's id. No JSON text begins with a zero.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_MAGIC: Final = b"\0"
_HEAD: Final = 5
"""Bytes of the magic byte and the id."""

_JSON: Final = ("JSON Schema", "io.confluent.connect.json.JsonSchemaConverter", "is")
_BINARY: Final = (
    "Avro or Protobuf",
    "io.confluent.connect.avro.AvroConverter or io.confluent.connect.protobuf.ProtobufConverter",
    "are",
)


def registered(values: pa.BinaryArray) -> dict[int, str]:
    """Why the values of a schema registry's serialisers cannot be read, by row."""
    found = pc.fill_null(pc.starts_with(values, _MAGIC), pa.scalar(False))
    if not pc.any(found).as_py():
        return {}
    rows = pc.indices_nonzero(found).to_pylist()
    return {row: _reason(value) for row in rows if len(value := values[row].as_py()) > _HEAD}


def _reason(value: bytes) -> str:
    body = value[_HEAD:].strip()
    what, converters, verb = _JSON if body[:1] + body[-1:] in (b"{}", b"[]") else _BINARY
    schema = int.from_bytes(value[1:_HEAD], "big")
    return (
        f"the value begins with the magic byte of a schema registry and the schema id '{schema}', so it seems to be "
        f"{what}: that needs value.converter={converters}, which {verb} not built yet. Until then, produce plain JSON"
    )
