"""Debezium's semantic types: what numbers, texts and structs of its schemas' names stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from frazil.records.connect import moments
from frazil.records.connect.data import Schema, Struct, Type
from frazil.records.connect.exact_json import parsed
from frazil.records.connect.json_values import from_unscaled
from frazil.records.connect.unreadable import Unfit, shown

Meaning: TypeAlias = Callable[[Any], Any]
"""Turns a value into one without a schema: a text, a decimal, or what a JSON text says."""


def meaning(schema: Schema) -> Meaning | None:
    """What the values of a schema stand for, if its name is one of Debezium's and goes with its type."""
    return _MEANINGS.get((schema.name, schema.type)) if schema.name else None


def _number(means: Meaning) -> Meaning:
    def read(value: Any) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Unfit(f"a value that is no number, as its schema says: {shown(value)}")
        return means(value)

    return read


def _variable_scale(value: Any) -> Any:
    if not isinstance(value, Struct):
        raise Unfit(f"a value that is no struct, as its schema says: {shown(value)}")
    scale, unscaled = value.values.get("scale"), value.values.get("value")
    if not isinstance(scale, int) or not isinstance(unscaled, bytes | bytearray | memoryview):
        raise Unfit(f"a decimal without a scale or a value: {shown(value.values)}")
    return from_unscaled(bytes(unscaled), scale)


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        raise Unfit(f"a value that is no text, as its schema says: {shown(value)}")
    return parsed(value.encode())


_TIME: Final = "io.debezium.time."
_MEANINGS: Final[Mapping[tuple[str | None, Type], Meaning]] = {
    (f"{_TIME}Date", Type.INT32): _number(lambda value: moments.timestamp(value * moments.DAY)),
    (f"{_TIME}Time", Type.INT32): _number(lambda value: moments.fine_time(value, 3)),
    (f"{_TIME}MicroTime", Type.INT64): _number(lambda value: moments.fine_time(value, 6)),
    (f"{_TIME}NanoTime", Type.INT64): _number(lambda value: moments.fine_time(value, 9)),
    (f"{_TIME}Timestamp", Type.INT64): _number(lambda value: moments.fine_timestamp(value, 3)),
    (f"{_TIME}MicroTimestamp", Type.INT64): _number(lambda value: moments.fine_timestamp(value, 6)),
    (f"{_TIME}NanoTimestamp", Type.INT64): _number(lambda value: moments.fine_timestamp(value, 9)),
    ("io.debezium.data.VariableScaleDecimal", Type.STRUCT): _variable_scale,
    ("io.debezium.data.Json", Type.STRING): _json,
}
"""By the schema's name and type. Its other types, such as ZonedTimestamp, Uuid and Enum, are texts already."""
