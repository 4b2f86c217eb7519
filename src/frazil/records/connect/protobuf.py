"""Confluent's ProtobufConverter: Protobuf with the id of its schema and the message's place in it in front."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka.schema_registry.common.protobuf import _init_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from frazil.records.connect.data import Schema, SchemaAndValue
from frazil.records.connect.json_text import Write, encoded, writer
from frazil.records.connect.protobuf_plain import Plain, PlainMessages
from frazil.records.connect.protobuf_schema import Convert, MessageTranslation
from frazil.records.connect.registry import RegisteredSchema, Registry, parted, registry, schema_id
from frazil.records.connect.unreadable import Unreadable, shown

_MOST_LEVELS = 100
"""Messages in messages, as Protobuf itself limits them."""


class _Reader(NamedTuple):
    """Reads one message of a schema."""

    schema: Schema
    message: Any
    convert: Convert
    write: Write
    plain: Plain | None
    """The short way to JSON; None where there is none."""


@dataclass(slots=True)
class ProtobufDecoder:
    """Protobuf behind a magic byte, the id of its schema, and the indexes of its message.

    The registry is asked for compiled schemas (`format=serialized`).
    """

    registry: Registry
    translation: Callable[[], MessageTranslation] = MessageTranslation
    """Makes what translates a message; each has its own."""

    files: dict[int, Any] = field(default_factory=dict)
    """File descriptors by schema id."""

    readers: dict[tuple[int, tuple[int, ...]], _Reader] = field(default_factory=dict)

    def decode(self, data: bytes) -> SchemaAndValue:
        """The message with its schema."""
        reader, body = self._opened(data)
        return SchemaAndValue(reader.schema, reader.convert(_parsed(reader, body)))

    def text(self, data: bytes) -> str | None:
        """The message as JSON."""
        return self.text_and_schema(data)[0]

    def text_and_schema(self, data: bytes) -> tuple[str | None, Schema]:
        """The same, and the schema."""
        reader, body = self._opened(data)
        message = _parsed(reader, body)
        if reader.plain is not None:
            try:
                return encoded(reader.plain(message)), reader.schema
            except Unreadable:
                pass  # the long way says where in the message it is
        return reader.write(reader.convert(message)), reader.schema

    def schema_id(self, data: bytes) -> int | None:
        """The id in front."""
        return schema_id(data)

    def _opened(self, data: bytes) -> tuple[_Reader, bytes]:
        number, rest = parted(data)
        indexes, body = _indexes(rest)
        if (number, indexes) not in self.readers:
            self.readers[number, indexes] = self._reader(number, indexes)
        return self.readers[number, indexes], body

    def _reader(self, number: int, indexes: tuple[int, ...]) -> _Reader:
        if number not in self.files:
            self.files[number] = self._file(number)
        inner = self.files[number].message_types_by_name.values()
        descriptor = None
        for index in indexes:
            if not 0 <= index < len(inner):
                raise Unreadable(f"is of a message with the indexes {list(indexes)}, which schema '{number}' has not")
            descriptor = list(inner)[index]
            inner = descriptor.nested_types
        translation = self.translation()
        schema, convert = translation.message(descriptor)
        plain = PlainMessages(translation).message(descriptor) if translation.is_struct(descriptor) else None
        return _Reader(schema, GetMessageClass(descriptor), convert, writer(schema), plain)

    def _file(self, number: int) -> Any:
        registered = self.registry.schema(number)
        if registered.kind != "PROTOBUF":
            raise Unreadable(f"has the schema id '{number}', which is one of {registered.kind}, not of PROTOBUF")
        pool = DescriptorPool()
        _init_pool(pool)
        name = f"frazil/{number}.proto"
        self._add(pool, name, registered)
        return pool.FindFileByName(name)

    def _add(self, pool: DescriptorPool, name: str, registered: RegisteredSchema) -> None:
        for reference in registered.references:
            if not _has(pool, reference[0]):
                self._add(pool, reference[0], self.registry.referred(reference))
        try:
            described = FileDescriptorProto.FromString(base64.b64decode(registered.text, validate=True))
        except (binascii.Error, DecodeError, ValueError) as error:
            raise Unreadable(
                f"has a Protobuf schema, {name!r}, that the schema registry at {self.registry.url} gives as text, not "
                "compiled: it has to know format=serialized"
            ) from error
        described.name = name
        try:
            pool.AddSerializedFile(described.SerializeToString())
        except TypeError as error:
            raise Unreadable(f"has a Protobuf schema that cannot be built: {str(error)!r}") from error


def protobuf_decoder(options: Mapping[str, str]) -> ProtobufDecoder:
    """A decoder by the options of a ProtobufConverter, without its prefix.

    Raises:
        ValueError: they name no registry, or contradict each other.
    """

    def is_true(name: str, default: str = "false") -> bool:
        return options.get(name, default).lower() == "true"

    translation = partial(
        MessageTranslation,
        flat_oneofs=is_true("flatten.unions"),
        indexed_oneofs=is_true("generate.index.for.unions", "true"),
        bare_wrappers=is_true("wrapper.for.nullables"),
    )
    return ProtobufDecoder(registry(options, "serialized"), translation)


def _has(pool: DescriptorPool, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True


def _parsed(reader: _Reader, body: bytes) -> Any:
    try:
        return reader.message.FromString(body)
    except DecodeError as error:
        raise Unreadable(f"is no Protobuf message {reader.schema.name!r}: {shown(str(error))}") from error


def _indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """Which message of a file it is, at each level; a single zero says it is the first."""
    count, at = _zigzag(data, 0)
    if not 0 <= count <= _MOST_LEVELS:
        raise Unreadable(f"has {count} message indexes: {shown(data[:20])}")
    found = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        found.append(index)
    return tuple(found) or (0,), data[at:]


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    """A number in Protobuf's zigzag varints, and where it ends."""
    value = 0
    for place, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), at + place + 1
    raise Unreadable(f"has no message indexes behind its schema id: {shown(data[:20])}")
