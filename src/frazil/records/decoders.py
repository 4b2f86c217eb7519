"""The decoders of values, keys and headers, by the kind that a `ConverterSpec` names.

A worker keeps them for a minute, whatever the number of tasks it runs: what they know of schemas took requests to a
registry. A minute is also how long a schema id that the registry did not know stays unknown.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from frazil.model import ConverterSpec
from frazil.records.connect.data import Schema, SchemaAndValue, Type
from frazil.records.connect.decoding import Decoder
from frazil.records.connect.json_converter import JsonDecoder, envelope_decoder
from frazil.records.connect.json_text import json_text
from frazil.records.connect.primitives import booleans, numbers, plain_bytes, texts
from frazil.records.connect.simple_headers import SimpleDecoder
from frazil.records.connect.unreadable import Unreadable, shown

MakeDecoder: TypeAlias = Callable[[Mapping[str, str]], Decoder]
"""Makes a decoder by its options."""

_KEPT_FOR: Final = 60.0
"""Seconds."""

_kept: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[float, Decoder]] = {}


def _number(type_: Type) -> MakeDecoder:
    return lambda options: numbers(type_)  # noqa: ARG005 (they have none)


def _later(module: str, name: str) -> MakeDecoder:
    """A decoder whose libraries only those who use it load."""

    def make(options: Mapping[str, str]) -> Decoder:
        decoder: Decoder = getattr(importlib.import_module(f"frazil.records.connect.{module}"), name)(options)
        return decoder

    return make


DECODERS: Final[dict[str, MakeDecoder]] = {
    "json": lambda options: JsonDecoder(),  # noqa: ARG005
    "json_envelope": envelope_decoder,
    "string": texts,
    "bytes": lambda options: plain_bytes(),  # noqa: ARG005
    "simple": lambda options: SimpleDecoder(),  # noqa: ARG005
    "boolean": lambda options: booleans(),  # noqa: ARG005
    "short": _number(Type.INT16),
    "integer": _number(Type.INT32),
    "long": _number(Type.INT64),
    "float": _number(Type.FLOAT32),
    "double": _number(Type.FLOAT64),
    "avro": _later("avro", "avro_decoder"),
    "protobuf": _later("protobuf", "protobuf_decoder"),
    "json_schema": _later("json_schema", "json_schema_decoder"),
    "snowflake_avro": _later("snowflake", "snowflake_avro_decoder"),
    "snowflake_avro_file": _later("snowflake", "snowflake_avro_file_decoder"),
}
"""The decoders there are; a kind with a colon is the Python path of a user's own."""


def decoder(spec: ConverterSpec) -> Decoder:
    """The decoder of a spec, perhaps one that an earlier task made.

    Raises:
        ValueError: its options do not go together.
    """
    key = (spec.kind, tuple(sorted(spec.options.items())))
    made_at, found = _kept.get(key, (0.0, None))
    now = time.monotonic()
    if found is None or now - made_at > _KEPT_FOR:
        found = own(spec.kind, spec.options) if ":" in spec.kind else DECODERS[spec.kind](spec.options)
        _kept[key] = now, found
    return found


def schemas_of(decoders: Iterable[Decoder]) -> dict[str, dict[int, str]]:
    """What tells the schemas that decoders got from registries from others, by the registry's address and their id."""
    found: dict[str, dict[int, str]] = {}
    for each in decoders:
        registry: Any = getattr(each, "registry", None)
        if registry is not None:
            found.setdefault(registry.url, {}).update(registry.fingerprints())
    return {address: schemas for address, schemas in found.items() if schemas}


def checked(spec: ConverterSpec) -> list[str]:
    """What is wrong with the options of a spec."""
    try:
        decoder(spec)
    except (ValueError, LookupError) as error:
        return [str(error)]
    return []


class OwnDecoder:
    """A user's own, whose errors are those of the record it was given."""

    def __init__(self, path: str, inner: Any) -> None:
        """Call `inner`, which was found at `path`."""
        self._path = path
        self._inner = inner

    def decode(self, data: bytes) -> SchemaAndValue:
        """What it makes of the bytes; what is no `SchemaAndValue` is a value without a schema."""
        try:
            found = self._inner.decode(data)
        except Exception as error:
            raise Unreadable(f"cannot be read by {self._path}: {type(error).__name__}: {shown(str(error))}") from error
        return found if isinstance(found, SchemaAndValue) else SchemaAndValue(None, found)

    def text(self, data: bytes) -> str | None:
        """The same as JSON."""
        return json_text(self.decode(data))

    def text_and_schema(self, data: bytes) -> tuple[str | None, Schema | None]:
        """The same, and the schema that it gives."""
        content = self.decode(data)
        return json_text(content), content.schema

    def schema_id(self, data: bytes) -> int | None:
        """What it says, if it says anything."""
        ask = getattr(self._inner, "schema_id", None)
        found: int | None = None if ask is None else ask(data)
        return found


def own(path: str, options: Mapping[str, str]) -> OwnDecoder:
    """A user's own decoder, made with its options.

    Args:
        path: `package.module:Class`.
        options: without the prefix.

    Raises:
        ValueError: there is no such class, or it cannot be made, or it has no method `decode`.
    """
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
        inner = found(dict(options))
    except Exception as error:
        raise ValueError(f"{path!r} cannot be made: {type(error).__name__}: {error}") from error
    if not callable(getattr(inner, "decode", None)):
        raise ValueError(  # noqa: TRY004 (it is the option that is wrong)
            f"{path!r} has no method decode: add decode(data), which gives the value of some bytes"
        )
    return OwnDecoder(path, inner)
