"""Kafka Connect's converters of single values: numbers as Kafka's serialisers write them, texts and bytes."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from frazil.records.connect.data import Schema, SchemaAndValue, Type
from frazil.records.connect.decoding import WithoutSchemas
from frazil.records.connect.json_text import writer
from frazil.records.connect.unreadable import Unreadable, shown


@dataclass(frozen=True, slots=True)
class PrimitiveDecoder(WithoutSchemas):
    """Values of one type, which have no schema in their bytes."""

    type: Type
    read: Callable[[bytes], Any]

    @property
    def schema(self) -> Schema:
        """The same for all values."""
        return Schema(self.type, optional=True)

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value with the schema of all of them."""
        return SchemaAndValue(self.schema, self.read(data))

    def text(self, data: bytes) -> str | None:
        """The value as JSON."""
        return _WRITERS[self.type](self.read(data))

    def schema_id(self, data: bytes) -> int | None:  # noqa: ARG002
        """There is no registry."""
        return None


def numbers(type_: Type) -> PrimitiveDecoder:
    """A decoder for Connect's Short, Integer, Long, Float and Double converters: big-endian bytes."""
    layout = struct.Struct(_LAYOUTS[type_])

    def read(data: bytes) -> Any:
        if len(data) != layout.size:
            raise Unreadable(f"has {len(data)} bytes, and an {type_} has {layout.size}: {shown(data)}")
        return layout.unpack(data)[0]

    return PrimitiveDecoder(type_, read)


def booleans() -> PrimitiveDecoder:
    """A decoder for Connect's BooleanConverter: a byte that is 0 or 1."""

    def read(data: bytes) -> bool:
        if data not in (b"\0", b"\1"):
            raise Unreadable(f"is no boolean, which is a byte 00 or 01: {shown(data)}")
        return data == b"\1"

    return PrimitiveDecoder(Type.BOOLEAN, read)


def texts(options: Mapping[str, str]) -> PrimitiveDecoder:
    """A decoder for Connect's StringConverter; undecodable bytes are replaced, as Java does.

    Raises:
        LookupError: nobody knows the encoding.
    """
    encoding = codecs.lookup(options.get("converter.encoding", "UTF-8")).name

    def read(data: bytes) -> str:
        # Java's UTF-16 is big-endian unless a byte order mark says something else.
        has_mark = data[:2] in (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)
        return data.decode("utf-16-be" if encoding == "utf-16" and not has_mark else encoding, "replace")

    return PrimitiveDecoder(Type.STRING, read)


def plain_bytes() -> PrimitiveDecoder:
    """A decoder for Connect's ByteArrayConverter."""
    return PrimitiveDecoder(Type.BYTES, bytes)


_LAYOUTS: Final = {Type.INT16: ">h", Type.INT32: ">i", Type.INT64: ">q", Type.FLOAT32: ">f", Type.FLOAT64: ">d"}
_WRITERS: Final = {
    type_: writer(Schema(type_, optional=True)) for type_ in (*_LAYOUTS, Type.BOOLEAN, Type.STRING, Type.BYTES)
}
