"""Kafka Connect's JsonConverter: JSON with schemas in envelopes, and without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import msgspec

from frazil.records.connect.data import Schema, SchemaAndValue
from frazil.records.connect.decoding import WithoutSchemas
from frazil.records.connect.envelope_schema import schema_of
from frazil.records.connect.exact_json import parsed
from frazil.records.connect.framed import framed
from frazil.records.connect.json_text import Write, writer
from frazil.records.connect.json_values import Read, reader
from frazil.records.connect.unreadable import Unreadable

_MARK: Final = b"\xef\xbb\xbf"
_MOST_SCHEMAS: Final = 1000
_MOST_TEXT: Final = 4 << 20
"""Bytes of the texts of schemas that are kept. What reads and writes their values takes some thirty times as much."""


class JsonDecoder(WithoutSchemas):
    """JSON without schemas; an empty body is null (spec 4.1)."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value as `frazil.records.connect.data` has what has no schema."""
        if (reason := framed(data)) is not None:
            raise Unreadable(reason)
        return SchemaAndValue(None, parsed(data) if data else None)

    def text(self, data: bytes) -> str | None:
        """The value, compact."""
        return _WRITE(self.decode(data).value)

    def schema_id(self, data: bytes) -> int | None:  # noqa: ARG002
        """There is no registry."""
        return None


@dataclass(slots=True)
class EnvelopeDecoder:
    """JSON in envelopes of `schema` and `payload`; an empty body is null.

    Producers write the same schema in each record: it is read once for as long as its text stays the same.
    """

    nulls_stay: bool = False
    """Whether a null is null though its schema has a default (`replace.null.with.default=false`)."""

    known: dict[bytes, _Known] = field(default_factory=dict)
    """By the text of a schema."""

    kept: int = 0
    """Bytes of these texts."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The payload with its schema."""
        if not data:
            return SchemaAndValue(None, None)
        schema, payload = self._opened(data)
        return SchemaAndValue(schema.schema, schema.read(parsed(payload)))

    def text(self, data: bytes) -> str | None:
        """The payload as JSON."""
        return self.text_and_schema(data)[0]

    def text_and_schema(self, data: bytes) -> tuple[str | None, Schema | None]:
        """The same, and the schema."""
        if not data:
            return None, None
        schema, payload = self._opened(data)
        return schema.write(schema.read(parsed(payload))), schema.schema

    def schema_id(self, data: bytes) -> int | None:  # noqa: ARG002
        """There is no registry."""
        return None

    def _opened(self, data: bytes) -> tuple[_Known, bytes]:
        try:
            envelope = _ENVELOPE.decode(data.removeprefix(_MARK))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unreadable(
                f"is no JSON object of a schema and a payload: {error}. For plain JSON, set the converter's "
                "schemas.enable to false"
            ) from error
        except RecursionError as error:
            raise Unreadable("is nested too deep") from error
        text = bytes(envelope.schema)
        known = self.known.get(text)
        if known is None:
            known = _read(text, nulls_stay=self.nulls_stay)
            if len(self.known) >= _MOST_SCHEMAS or self.kept + len(text) > _MOST_TEXT:
                self.known.clear()
                self.kept = 0
            self.known[text] = known
            self.kept += len(text)
        return known, bytes(envelope.payload)


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    schema: msgspec.Raw
    payload: msgspec.Raw


class _Known(NamedTuple):
    """A schema, and what reads and writes its values."""

    schema: Schema | None
    read: Read
    write: Write


def envelope_decoder(options: Mapping[str, str]) -> EnvelopeDecoder:
    """A decoder by the options of a JsonConverter, without its prefix."""
    return EnvelopeDecoder(options.get("replace.null.with.default", "true").lower() == "false")


def _read(text: bytes, *, nulls_stay: bool) -> _Known:
    try:
        schema = schema_of(parsed(text))
        if nulls_stay and schema is not None:
            schema = _without_defaults(schema)
        return _Known(schema, reader(schema), writer(schema))
    except RecursionError as error:
        raise Unreadable("has a schema that is nested too deep") from error


def _without_defaults(schema: Schema) -> Schema:
    """A schema whose optional values have no defaults, at any depth."""
    fields = tuple(replace(each, schema=_without_defaults(each.schema)) for each in schema.fields)
    key, value = (None if each is None else _without_defaults(each) for each in (schema.key, schema.value))
    default = None if schema.optional else schema.default
    return replace(schema, fields=fields, key=key, value=value, default=default)


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_WRITE: Final = writer(None)
