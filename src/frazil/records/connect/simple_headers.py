"""Kafka Connect's SimpleHeaderConverter, for records that transforms look at."""

from __future__ import annotations

from frazil.records.connect.data import Schema, SchemaAndValue, Type
from frazil.records.connect.decoding import WithoutSchemas
from frazil.records.connect.exact_json import parsed
from frazil.records.connect.json_text import json_text
from frazil.records.simple_header import guess

_TEXT = Schema(Type.STRING, optional=True)


class SimpleDecoder(WithoutSchemas):
    """Texts that may stand for other values, as `frazil.records.simple_header` takes them."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value that a text stands for."""
        found = guess(data.decode("utf-8", "replace"))
        if found.text is None or not found.is_json:
            return SchemaAndValue(_TEXT, found.text)
        return SchemaAndValue(None, parsed(found.text.encode()))

    def text(self, data: bytes) -> str | None:
        """The same as JSON."""
        return json_text(self.decode(data))

    def schema_id(self, data: bytes) -> int | None:  # noqa: ARG002
        """There is no registry."""
        return None
