"""Confluent's JsonSchemaConverter: JSON with the id of its JSON Schema in front.

A schema that Connect's can express becomes one; values of another (with `anyOf`, `allOf`, several types, fields that it
does not name) stay JSON without a schema, and lose nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from frazil.records.connect.data import DECIMAL, SCALE, Field, Schema, SchemaAndValue, Type
from frazil.records.connect.exact_json import parsed
from frazil.records.connect.json_text import Write, writer
from frazil.records.connect.json_values import Read, reader
from frazil.records.connect.registry import Registry, parted, registry, schema_id
from frazil.records.connect.unreadable import Unreadable

_TYPES: Final = {
    "boolean": Type.BOOLEAN,
    "integer": Type.INT64,
    "number": Type.FLOAT64,
    "string": Type.STRING,
    "array": Type.ARRAY,
    "object": Type.STRUCT,
}
_CHOICES: Final = ("anyOf", "allOf", "patternProperties", "if", "not", "$ref")


class _Known(NamedTuple):
    schema: Schema | None
    read: Read
    write: Write


@dataclass(slots=True)
class JsonSchemaDecoder:
    """JSON behind a magic byte and the id of its schema."""

    registry: Registry
    known: dict[int, _Known] = field(default_factory=dict)
    """By schema id."""

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value, with a schema if Connect has one for it."""
        number, body = parted(data)
        known = self._known(number)
        return SchemaAndValue(known.schema, known.read(parsed(body)))

    def text(self, data: bytes) -> str | None:
        """The value as JSON."""
        number, body = parted(data)
        known = self._known(number)
        return known.write(known.read(parsed(body)))

    def schema_id(self, data: bytes) -> int | None:
        """The id in front."""
        return schema_id(data)

    def _known(self, number: int) -> _Known:
        if number in self.known:
            return self.known[number]
        registered = self.registry.schema(number)
        if registered.kind != "JSON":
            raise Unreadable(f"has the schema id '{number}', which is one of {registered.kind}, not of JSON")
        try:
            schema = connect_schema(json.loads(registered.text))
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"has a JSON Schema that cannot be read: {str(error)!r}") from error
        self.known[number] = _Known(schema, reader(schema), writer(schema))
        return self.known[number]


def json_schema_decoder(options: Mapping[str, str]) -> JsonSchemaDecoder:
    """A decoder by the options of a JsonSchemaConverter, without its prefix.

    Raises:
        ValueError: they name no registry, or contradict each other.
    """
    return JsonSchemaDecoder(registry(options))


class _Inexpressible(Exception):
    """Connect has no schema for this."""


def connect_schema(written: Any) -> Schema | None:
    """The schema of Connect's that has the same values as a JSON Schema; None if there is none."""
    try:
        return _schema(written)
    except _Inexpressible:
        return None


def _schema(written: Any) -> Schema:
    if not isinstance(written, Mapping) or any(name in written for name in _CHOICES):
        raise _Inexpressible
    if "oneOf" in written:
        return _optional(written["oneOf"])
    kind = written.get("type")
    if isinstance(kind, list):
        return _optional([{**written, "type": each} for each in kind])
    type_ = _type(kind, written.get("connect.type"))
    schema = Schema(
        type_, name=_text(written, "title"), doc=_text(written, "description"), parameters=_parameters(written)
    )
    if schema.name == DECIMAL and SCALE not in schema.parameters:
        raise _Inexpressible
    match type_:
        case Type.ARRAY:
            return replace(schema, value=_schema(written.get("items")))
        case Type.MAP:
            return _map(schema, written)
        case Type.STRUCT:
            return replace(schema, fields=_fields(written))
        case _:
            return schema


def _optional(types: Any) -> Schema:
    """A type or null; other choices Connect has no schema for."""
    present = [each for each in types if not (isinstance(each, Mapping) and each.get("type") == "null")]
    if len(present) != 1:
        raise _Inexpressible
    found = _schema(present[0])
    return found.as_optional() if len(types) > 1 else found


def _type(kind: Any, connect: Any) -> Type:
    if connect is not None:
        if connect not in list(Type):
            raise _Inexpressible
        return Type(connect)
    if not isinstance(kind, str) or kind not in _TYPES:
        raise _Inexpressible
    return _TYPES[kind]


def _map(schema: Schema, written: Mapping[str, Any]) -> Schema:
    """An object if the keys are texts, and else an array of entries."""
    if written.get("type") != "object":
        raise _Inexpressible
    return replace(schema, key=Schema(Type.STRING), value=_schema(written.get("additionalProperties")))


def _fields(written: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields of an object that has no others."""
    properties = written.get("properties")
    if not isinstance(properties, Mapping) or written.get("additionalProperties") is not False:
        raise _Inexpressible
    required = written.get("required") or ()
    names = sorted(properties, key=lambda name: _index(properties[name]))
    schemas = [(name, _schema(properties[name])) for name in names]
    return tuple(Field(name, each if name in required else each.as_optional()) for name, each in schemas)


def _index(written: Any) -> int:
    index = written.get("connect.index", 0) if isinstance(written, Mapping) else 0
    return index if isinstance(index, int) else 0


def _parameters(written: Mapping[str, Any]) -> dict[str, str]:
    found = written.get("connect.parameters")
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, Mapping) else {}


def _text(written: Mapping[str, Any], name: str) -> str | None:
    found = written.get(name)
    return found if isinstance(found, str) else None
