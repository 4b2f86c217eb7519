"""Record headers by the header converter, as texts and as JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
import pyarrow as pa

from frazil.model import HeaderConverter
from frazil.records.simple_header import guess
from frazil.records.value import Value, from_json

TEXTS: Final = pa.map_(pa.string(), pa.string())
"""The type of header values as texts, by name."""

_LONGEST_NAME_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class HeaderColumns:
    """The headers of records; of headers with one name the last counts (spec 3.1), and a record may have none."""

    texts: pa.MapArray
    """Values as texts, by name."""

    structured: pa.StringArray
    """The same as the text of a JSON object whose values keep their JSON types; null unless it was asked for."""

    bad: Mapping[int, str] = field(default_factory=dict)
    """Reasons by row."""


def headers(column: pa.MapArray, converter: HeaderConverter, *, structured: bool) -> HeaderColumns:
    """The headers of a batch.

    Args:
        column: names and bytes, as `frazil.sources.kafka.reader.SCHEMA` says.
        converter: how values are read.
        structured: whether to keep their JSON types.
    """
    count = len(column)
    if column.null_count == count:
        return HeaderColumns(pa.nulls(count, TEXTS), pa.nulls(count, pa.string()))
    texts: list[list[tuple[str, str | None]] | None] = []
    objects: list[str | None] = []
    bad: dict[int, str] = {}
    for row, cell in enumerate(column.to_pylist()):
        try:
            values = _values(cell or (), converter)
        except _NotConverted as error:
            values, bad[row] = {}, str(error)
        texts.append([(name, value.text) for name, value in values.items()] if values else None)
        objects.append(_object(values) if values and structured else None)
    return HeaderColumns(pa.array(texts, TEXTS), pa.array(objects, pa.string()), bad)


class _NotConverted(Exception):
    """A header's bytes are not what its converter reads."""


def _values(cell: list[tuple[str, bytes | None]] | tuple[()], converter: HeaderConverter) -> dict[str, Value]:
    read = _CONVERTERS[converter]
    values = {}
    for name, value in dict(cell).items():
        try:
            values[name] = Value(None) if value is None else read(value)
        except ValueError as error:
            shown = repr(name if len(name) <= _LONGEST_NAME_SHOWN else f"{name[:_LONGEST_NAME_SHOWN]}…")
            raise _NotConverted(f"the header {shown} is no JSON: {error}") from error
    return values


def _object(values: Mapping[str, Value]) -> str:
    return "{" + ",".join(f"{orjson.dumps(name).decode()}:{value.json}" for name, value in values.items()) + "}"


def _simple(value: bytes) -> Value:
    return guess(value.decode("utf-8", "replace"))


def _string(value: bytes) -> Value:
    return Value(value.decode("utf-8", "replace"))


def _json(value: bytes) -> Value:
    return from_json(value.decode("utf-8")) if value else Value(None)


def _bytes(value: bytes) -> Value:
    return Value(base64.b64encode(value).decode())


_CONVERTERS: Final[Mapping[HeaderConverter, Callable[[bytes], Value]]] = {
    "simple": _simple,
    "string": _string,
    "json": _json,
    "bytes": _bytes,
}
