"""Confluent's JsonSchemaConverter: JSON with the id of its JSON Schema in front.

A schema that Connect's can express becomes one. A value of which that would lose something (a field that the schema
does not name, an integer of more than 64 bits), and values of other schemas (with choices, of several types, in
themselves) stay JSON without a schema; only what is marked as a type of Connect's is read as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from frazil.records.connect.data import Schema, SchemaAndValue, Type
from frazil.records.connect.exact_json import parsed
from frazil.records.connect.json_schema_references import Documents
from frazil.records.connect.json_schema_types import JsonSchema, keeps_all
from frazil.records.connect.json_text import Write, writer
from frazil.records.connect.json_values import Read, reader
from frazil.records.connect.registry import RegisteredSchema, Registry, parted, registry, schema_id
from frazil.records.connect.unreadable import Unreadable

_MOST_PARTS: Final = 100
"""Parts of one schema that are kept."""


class _Known(NamedTuple):
    """A schema, and what reads and writes its values with Connect's schema and without."""

    schema: Schema | None
    read: Read
    write: Write
    plain: Read
    partly: dict[frozenset[str], Schema]
    """The schema without fields of which values say more than it, by these fields."""


@dataclass(slots=True)
class JsonSchemaDecoder:
    """JSON behind a magic byte and the id of its schema."""

    registry: Registry
    nulls_stay: bool = False
    known: dict[int, _Known] = field(default_factory=dict)
    """By schema id."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value, with a schema if Connect has one for it."""
        _, schema, value = self._read(data)
        return SchemaAndValue(schema, value)

    def text(self, data: bytes) -> str | None:
        """The value as JSON."""
        return self.text_and_schema(data)[0]

    def text_and_schema(self, data: bytes) -> tuple[str | None, Schema | None]:
        """The same, and the schema as far as it keeps all of the value."""
        known, schema, value = self._read(data)
        if schema is not None:
            return known.write(value), schema
        return _WRITE(value), None if known.schema is None else _partly(known, known.schema, value)

    def schema_id(self, data: bytes) -> int | None:
        """The id in front."""
        return schema_id(data)

    def _read(self, data: bytes) -> tuple[_Known, Schema | None, Any]:
        """What is known of the schema, the schema if it keeps all of the value, and the value."""
        number, body = parted(data)
        known = self._known(number)
        value = parsed(body)
        try:
            if known.schema is not None and keeps_all(known.schema, value):
                return known, known.schema, known.read(value)
            return known, None, known.plain(value)
        except RecursionError as error:
            raise Unreadable("is nested too deep") from error

    def _known(self, number: int) -> _Known:
        if number in self.known:
            return self.known[number]
        registered = self.registry.schema(number)
        if registered.kind != "JSON":
            raise Unreadable(f"has the schema id '{number}', which is one of {registered.kind}, not of JSON")
        documents = {"": _document(registered)}
        self._add(documents, registered)
        try:
            found = JsonSchema(Documents(documents), self.nulls_stay)
            schema = found.schema()
            self.known[number] = _Known(schema, reader(schema), writer(schema), found.reader(), {})
        except RecursionError as error:
            raise Unreadable("has a JSON Schema that is nested too deep") from error
        return self.known[number]

    def _add(self, documents: dict[str, Any], registered: RegisteredSchema) -> None:
        for reference in registered.references:
            if reference[0] not in documents:
                used = self.registry.referred(reference)
                documents[reference[0]] = _document(used)
                self._add(documents, used)


def json_schema_decoder(options: Mapping[str, str]) -> JsonSchemaDecoder:
    """A decoder by the options of a JsonSchemaConverter, without its prefix.

    Raises:
        ValueError: they name no registry, or contradict each other.
    """
    return JsonSchemaDecoder(registry(options), options.get("ignore.default.for.nullables", "").lower() == "true")


def _partly(known: _Known, schema: Schema, value: Any) -> Schema | None:
    """The schema of a value that says more than it, with the fields that keep all of theirs."""
    if schema.type is not Type.STRUCT or not isinstance(value, Mapping):
        return None
    lost = [each.name for each in schema.fields if not keeps_all(each.schema, value.get(each.name))]
    if not lost:
        return schema
    key = frozenset(lost)
    if key not in known.partly:
        if len(known.partly) >= _MOST_PARTS:
            known.partly.clear()
        kept = tuple(each for each in schema.fields if each.name not in key)
        known.partly[key] = replace(schema, fields=kept)
    return known.partly[key]


def _document(registered: RegisteredSchema) -> Any:
    try:
        return parsed(registered.text.encode())
    except Unreadable as error:
        raise Unreadable(f"has a JSON Schema that cannot be read: it {error}") from error


_WRITE: Final = writer(None)
