"""Kafka Connect's JsonConverter: JSON with schemas in envelopes, and without."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from frazil.records.connect.data import Schema, SchemaAndValue
from frazil.records.connect.envelope_schema import schema_of
from frazil.records.connect.exact_json import parsed
from frazil.records.connect.framed import framed
from frazil.records.connect.json_text import Write, writer
from frazil.records.connect.json_values import Read, reader
from frazil.records.connect.unreadable import Unreadable

_MARK: Final = b"\xef\xbb\xbf"
_MOST_SCHEMAS: Final = 1000
"""Schemas that are kept; what writes each record with another one is not to fill the memory."""


class JsonDecoder:
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

    known: dict[bytes, _Known] = field(default_factory=dict)
    """By the text of a schema."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The payload with its schema."""
        if not data:
            return SchemaAndValue(None, None)
        schema, payload = self._opened(data)
        return SchemaAndValue(schema.schema, schema.read(parsed(payload)))

    def text(self, data: bytes) -> str | None:
        """The payload as JSON."""
        if not data:
            return None
        schema, payload = self._opened(data)
        return schema.write(schema.read(parsed(payload)))

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
            known = _read(text)
            if len(self.known) >= _MOST_SCHEMAS:
                self.known.clear()
            self.known[text] = known
        return known, bytes(envelope.payload)


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    schema: msgspec.Raw
    payload: msgspec.Raw


class _Known(NamedTuple):
    """A schema, and what reads and writes its values."""

    schema: Schema | None
    read: Read
    write: Write


def _read(text: bytes) -> _Known:
    try:
        schema = schema_of(parsed(text))
        return _Known(schema, reader(schema), writer(schema))
    except RecursionError as error:
        raise Unreadable("has a schema that is nested too deep") from error


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_WRITE: Final = writer(None)
