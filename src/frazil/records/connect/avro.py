"""Confluent's AvroConverter: Avro with the id of its schema in front."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import fastavro

from frazil.records.connect.avro_bounds import bounds
from frazil.records.connect.avro_plain import plain_of
from frazil.records.connect.avro_schema import Translation, definitions, refused
from frazil.records.connect.data import Schema, SchemaAndValue
from frazil.records.connect.json_text import encoded
from frazil.records.connect.registry import RegisteredSchema, Registry, parted, registry, schema_id
from frazil.records.connect.unreadable import Unreadable

MISREAD: Final = (
    ArithmeticError, AssertionError, EOFError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
    struct.error,
)  # fmt: skip
"""What fastavro raises for bytes that are no value of a schema."""


@dataclass(frozen=True, slots=True)
class AvroReader:
    """Reads the values of one Avro schema."""

    schema: Schema
    wire: Any
    convert: Any
    plain: Any
    """Turns a value of fastavro's into what JSON is written of; None where that is nothing to do."""

    check: Callable[[bytes], None] | None
    """Looks at bodies before they are read, where that has to be."""

    is_bare: bool
    """Whether values are the bytes themselves: a schema of nothing but bytes has no length in front."""

    def value(self, body: bytes) -> Any:
        """One value from its binary encoding.

        Raises:
            Unreadable: the bytes are no such value.
        """
        try:
            return self.convert(self._read(body))
        except Unreadable:
            raise
        except MISREAD as error:
            raise self._misread(error) from error

    def text(self, body: bytes) -> str | None:
        """One value as JSON, None for null.

        Raises:
            Unreadable: the bytes are no such value.
        """
        try:
            found = self._read(body)
            if self.plain is not None and found is not None:
                found = self.plain(found)
        except Unreadable:
            raise
        except MISREAD as error:
            raise self._misread(error) from error
        return None if found is None else encoded(found)

    def _read(self, body: bytes) -> Any:
        if self.is_bare:
            return body
        if self.check is not None:
            self.check(body)
        stream = io.BytesIO(body)
        found = fastavro.schemaless_reader(
            stream, self.wire, None, return_record_name=True, return_record_name_override=True
        )
        require_end(stream, body)
        return found

    def _misread(self, error: BaseException) -> Unreadable:
        if isinstance(error, RecursionError):
            return Unreadable("is nested too deep")
        return Unreadable(
            f"is no Avro of its schema {self.schema.name or self.schema.type.value!r}: "
            f"{type(error).__name__}: {str(error)!r}"
        )


def require_end(stream: io.BytesIO, body: bytes) -> None:
    """Require that a value takes all bytes of its body: what is longer was written by another schema.

    Raises:
        Unreadable: bytes are left.
    """
    if left := len(body) - stream.tell():
        raise Unreadable(f"has {left} bytes more than a value of its Avro schema takes")


def avro_reader(text: str, others: Mapping[str, Any] | None = None, nulls_stay: bool = False) -> AvroReader:
    """What reads the values of an Avro schema.

    Args:
        text: the schema.
        others: types that it names and others define, by full name.
        nulls_stay: whether nulls are null though their fields have defaults.

    Raises:
        Unreadable: it is no Avro schema.
    """
    try:
        written = parsed_schema(text)
        found = Translation(others or {}, nulls_stay).translate(written)
        wire = fastavro.parse_schema(found.wire)
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise refused(str(error)) from error
    except RecursionError as error:
        raise refused("it is nested too deep") from error
    return AvroReader(found.schema, wire, found.convert, plain_of(found), bounds(found.wire), found.wire == "bytes")


def parsed_schema(text: str) -> Any:
    """The JSON of a schema; a bare name is one, too.

    Raises:
        Unreadable: it is no JSON.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        if text.strip().isidentifier():
            return text.strip()
        raise refused(str(error)) from error


@dataclass(slots=True)
class AvroDecoder:
    """Avro behind a magic byte and the id of its schema."""

    registry: Registry
    nulls_stay: bool = False
    readers: dict[int, AvroReader] = field(default_factory=dict)
    """By schema id."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value with its schema."""
        number, body = parted(data)
        reader = self._reader(number)
        return SchemaAndValue(reader.schema, reader.value(body))

    def text(self, data: bytes) -> str | None:
        """The value as JSON."""
        return self.text_and_schema(data)[0]

    def text_and_schema(self, data: bytes) -> tuple[str | None, Schema]:
        """The same, and the schema."""
        number, body = parted(data)
        reader = self._reader(number)
        return reader.text(body), reader.schema

    def schema_id(self, data: bytes) -> int | None:
        """The id in front."""
        return schema_id(data)

    def _reader(self, number: int) -> AvroReader:
        if (known := self.readers.get(number)) is not None:
            return known
        registered = self.registry.schema(number)
        if registered.kind != "AVRO":
            raise Unreadable(f"has the schema id '{number}', which is one of {registered.kind}, not of AVRO")
        found = avro_reader(registered.text, definitions_of(registered, self.registry), self.nulls_stay)
        self.readers[number] = found
        return found


def definitions_of(registered: RegisteredSchema, known: Registry) -> dict[str, Any]:
    """The types, by full name, of all schemas that one refers to.

    Raises:
        Unreadable: the registry does not know one of them.
        RegistryUnavailable: it does not answer.
        RegistryRefused: it may not be read.
    """
    found: dict[str, Any] = {}
    for reference in registered.references:
        used = known.referred(reference)
        found |= definitions_of(used, known) | definitions(parsed_schema(used.text))
    return found


def avro_decoder(options: Mapping[str, str]) -> AvroDecoder:
    """A decoder by the options of an AvroConverter, without its prefix.

    Raises:
        ValueError: they name no registry, or contradict each other.
    """
    return AvroDecoder(registry(options), options.get("ignore.default.for.nullables", "").lower() == "true")
