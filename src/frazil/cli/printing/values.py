"""Arrow's values as JSON and as text; no number is rounded, and no moment cut."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import orjson
import pyarrow as pa

from frazil.snowflake.compiled import ResultColumn

Value: TypeAlias = Any
"""What orjson writes: texts, numbers, lists, dicts, None, and fragments of JSON."""

_Read: TypeAlias = Callable[[Any], Value]

_ZEROS: Final = re.compile(r"(\.\d*?)0+(Z?)$")
_POINT: Final = re.compile(r"\.(Z?)$")


def rows_of(batch: pa.RecordBatch, columns: Sequence[ResultColumn]) -> list[tuple[Value, ...]]:
    """The rows of a batch."""
    found = [values(array, column) for array, column in zip(batch.columns, columns, strict=True)]
    return list(zip(*found, strict=True))


def values(array: pa.Array, column: ResultColumn) -> list[Value]:
    """The values of a column."""
    plain = array.cast(_castable(array.type))
    listed = plain.to_pylist()
    read = _document if column.is_document else _reader(array.type)
    return [None if value is None else read(value) for value in listed] if read else listed


def text(value: Value) -> str | None:
    """A value as a table or a CSV file shows it: texts bare, all else as JSON; None for NULL."""
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def _castable(kind: pa.DataType) -> pa.DataType:
    """The type with texts where Python's values would have fewer digits, or none at all."""
    if isinstance(kind, pa.BaseExtensionType):
        return _castable(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _castable(kind.value_type)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_castable(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field.with_type(_castable(kind.key_type)), _item(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_item(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_item(kind.value_field), kind.list_size)
    return kind


def _item(field: pa.Field) -> pa.Field:
    return field.with_type(_castable(field.type))


def _reader(kind: pa.DataType) -> _Read | None:
    """What makes a value of what Arrow has made of it; None where that is it."""
    if isinstance(kind, pa.UuidType):
        return lambda value: str(value) if not isinstance(value, bytes) else _uuid(value)
    if isinstance(kind, pa.BaseExtensionType):
        return _reader(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _reader(kind.value_type)
    for applies, read in _READERS:
        if applies(kind):
            return read
    if pa.types.is_struct(kind):
        return _struct([(field.name, _within(field.type)) for field in kind])
    if pa.types.is_map(kind):
        key, item = _within(kind.key_type), _within(kind.item_type)
        return lambda value: {str(text(key(each))): item(one) for each, one in value}
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        item = _within(kind.value_type)
        return lambda value: [item(each) for each in value]
    return None


def _within(kind: pa.DataType) -> _Read:
    read = _reader(kind)
    return (lambda value: None if value is None else read(value)) if read else (lambda value: value)


def _struct(fields: Sequence[tuple[str, _Read]]) -> _Read:
    return lambda value: {name: read(value[name]) for name, read in fields}


def _document(value: str) -> orjson.Fragment:
    return orjson.Fragment(value)


def _moment(value: str) -> str:
    shortened = _POINT.sub(r"\1", _ZEROS.sub(r"\1\2", value))
    return shortened.replace(" ", "T", 1)


def _number(value: Decimal) -> orjson.Fragment:
    return orjson.Fragment(format(value, "f"))


def _float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _single(value: float) -> float | str:
    import numpy as np

    # The digits that tell it from the next float, not those of the double it was made into.
    return _float(float(str(np.float32(value))))


def _uuid(value: bytes) -> str:
    import uuid

    return str(uuid.UUID(bytes=value))


def _hexadecimal(value: bytes) -> str:
    return value.hex().upper()


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


_READERS: Final[Sequence[tuple[Callable[[pa.DataType], bool], _Read]]] = (
    (pa.types.is_float64, _float),
    (pa.types.is_float32, _single),
    (pa.types.is_decimal, _number),
    (pa.types.is_timestamp, _moment),
    (pa.types.is_time, _moment),
    (_is_binary, _hexadecimal),
    (pa.types.is_interval, str),
    (pa.types.is_duration, str),
)
