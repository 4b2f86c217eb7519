"""The classic converters of Snowflake's connector: Avro as JSON without a schema.

Bytes are base64 and decimals numbers, where the original gives texts in ISO-8859-1 and misplaced points.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import fastavro

from frazil.errors import RegistryRefused, RegistryUnavailable
from frazil.records.connect.avro import MISREAD, definitions_of, parsed_schema, require_end
from frazil.records.connect.avro_bounds import bounds
from frazil.records.connect.avro_container import blocks, opened
from frazil.records.connect.avro_schema import Translation, refused
from frazil.records.connect.data import SchemaAndValue
from frazil.records.connect.decoding import WithoutSchemas
from frazil.records.connect.json_text import writer
from frazil.records.connect.registry import Registry, parted, registry, schema_id
from frazil.records.connect.unreadable import Unreadable, shown

_WRITE: Final = writer(None)


@dataclass(slots=True)
class SnowflakeAvroDecoder(WithoutSchemas):
    """SnowflakeAvroConverter: Avro behind a magic byte and the id of its schema, read by another one if that is set."""

    registry: Registry
    reader_schema: str | None = None
    """What values are resolved to, as Avro resolves schemas; None leaves them as they were written."""

    breaks: bool = False
    """Whether a registry that does not give a schema stops the connector (`break.on.schema.registry.error`)."""

    readers: dict[int, Callable[[bytes], Any]] = field(default_factory=dict)
    """By schema id."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value, without a schema."""
        number, body = parted(data)
        return SchemaAndValue(None, self._reader(number)(body))

    def text(self, data: bytes) -> str | None:
        """The value as JSON."""
        return _WRITE(self.decode(data).value)

    def schema_id(self, data: bytes) -> int | None:
        """The id in front."""
        return schema_id(data)

    def _reader(self, number: int) -> Callable[[bytes], Any]:
        if number not in self.readers:
            try:
                registered = self.registry.schema(number)
                others = definitions_of(registered, self.registry)
            except (Unreadable, RegistryUnavailable) as error:
                if self.breaks:
                    raise RegistryRefused(f"{error}; break.on.schema.registry.error is true") from error
                raise
            if registered.kind != "AVRO":
                raise Unreadable(f"has the schema id '{number}', which is one of {registered.kind}, not of AVRO")
            self.readers[number] = _plain_reader(registered.text, self.reader_schema, others)
        return self.readers[number]


class SnowflakeAvroFileDecoder(WithoutSchemas):
    """SnowflakeAvroConverterWithoutSchemaRegistry: a whole Avro file in each record, with its schema and one value."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value in it, without a schema."""
        file = opened(data)
        found = [block for block in blocks(file) if block.records]
        if (count := sum(block.records for block in found)) != 1:
            raise Unreadable(f"is an Avro file of {count} values, and a record becomes one row")
        return SchemaAndValue(None, _read(_plain_type(parsed_schema(file.schema), {}), found[0].data))

    def text(self, data: bytes) -> str | None:
        """The value as JSON."""
        return _WRITE(self.decode(data).value)

    def schema_id(self, data: bytes) -> int | None:  # noqa: ARG002
        """There is no registry."""
        return None


def snowflake_avro_file_decoder(_: Mapping[str, str]) -> SnowflakeAvroFileDecoder:
    """A decoder of whole Avro files, which has no options."""
    return SnowflakeAvroFileDecoder()


def snowflake_avro_decoder(options: Mapping[str, str]) -> SnowflakeAvroDecoder:
    """A decoder by the options of a SnowflakeAvroConverter, without its prefix.

    Raises:
        ValueError: they name no registry, contradict each other, or their reader schema is none.
    """
    reader = options.get("reader.schema")
    if reader is not None:
        try:
            _plain_type(parsed_schema(reader), {})
        except Unreadable as error:
            raise ValueError(f"reader.schema {error}") from error
    breaks = options.get("break.on.schema.registry.error", "false").lower() == "true"
    return SnowflakeAvroDecoder(registry(options), reader, breaks)


def _plain_reader(text: str, reader: str | None, others: Mapping[str, Any]) -> Callable[[bytes], Any]:
    written = _plain_type(parsed_schema(text), others)
    if reader is None:
        return lambda body: _read(written, body)
    wanted = _plain_type(parsed_schema(reader), {})
    try:
        before = fastavro.parse_schema(_bare(parsed_schema(text)), dict(_bare(others)))
        after = fastavro.parse_schema(_bare(parsed_schema(reader)))
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise refused(str(error)) from error

    def read(body: bytes) -> Any:
        # fastavro resolves values, and `wanted` reads bytes: what was resolved is written down in between.
        resolved = io.BytesIO()
        if written.check is not None:
            written.check(body)
        try:
            stream = io.BytesIO(body)
            value = fastavro.schemaless_reader(stream, before, after, return_record_name=True)
            require_end(stream, body)
            fastavro.schemaless_writer(resolved, after, value)
        except MISREAD as error:
            raise _misread(error) from error
        return _read(wanted, resolved.getvalue())

    return read


def _bare(schema: Any) -> Any:
    """A schema without logical types: numbers and bytes come as they are written."""
    match schema:
        case Mapping():
            return {key: _bare(value) for key, value in schema.items() if key != "logicalType"}
        case list():
            return [_bare(each) for each in schema]
        case _:
            return schema


def _read(kind: _Plain, body: bytes) -> Any:
    if kind.check is not None:
        kind.check(body)
    try:
        stream = io.BytesIO(body)
        found = fastavro.schemaless_reader(
            stream, kind.wire, None, return_record_name=True, return_record_name_override=True
        )
        require_end(stream, body)
        return kind.convert(found)
    except Unreadable:
        raise
    except MISREAD as error:
        raise _misread(error) from error


def _misread(error: BaseException) -> Unreadable:
    if isinstance(error, RecursionError):
        return Unreadable("is nested too deep")
    return Unreadable(f"is no Avro of its schema: {type(error).__name__}: {shown(str(error))}")


@dataclass(frozen=True, slots=True)
class _Plain:
    """A schema ready to read values by."""

    wire: Any
    convert: Callable[[Any], Any]
    check: Callable[[bytes], None] | None


def _plain_type(written: Any, others: Mapping[str, Any]) -> _Plain:
    try:
        found = Translation(others, plain=True).translate(written)
        return _Plain(fastavro.parse_schema(found.wire), found.convert, bounds(found.wire))
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise refused(str(error)) from error
    except RecursionError as error:
        raise refused("it is nested too deep") from error
