"""Iceberg's file metrics from DuckDB's RETURN_STATS, so that nobody opens the file again to learn them."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from frazil.layout.hashing import unscaled_bytes
from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType
from frazil.pipes.types import file_name

_TRUNCATED: Final = 16
"""Code points of a text bound, as Iceberg's default metrics mode `truncate(16)`."""

_MEASURED: Final = 100
"""Columns that have metrics, as many as Iceberg's own writers give them to unless a table says otherwise."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Statistics = Mapping[str, Mapping[str, str]]
"""RETURN_STATS' `column_statistics`: by dotted, quoted column path, texts by name."""


def iceberg_metrics(columns: Sequence[Column], statistics: Statistics, most: int = _MEASURED) -> dict[str, Any]:
    """The metrics as the fields of Iceberg's content-file JSON; bounds are hex.

    Bounds are given for scalar columns and fields of structs, not within lists and maps, and never for what DuckDB
    keeps inside a VARIANT. Only the first `most` of a table's columns have metrics.
    """
    sizes: dict[int, int] = {}
    values: dict[int, int] = {}
    nulls: dict[int, int] = {}
    nans: dict[int, int] = {}
    lower: dict[int, str] = {}
    upper: dict[int, str] = {}
    for number, kind, steps, in_list in islice(leaves(columns), most):
        path = quoted(steps)
        found = statistics.get(path)
        if found is None:
            continue
        sizes[number] = _size(path, kind, statistics)
        values[number] = int(found["num_values"])
        nulls[number] = int(found["null_count"])
        if "nan_count" in found:
            nans[number] = int(found["nan_count"])
        encode = None if in_list else _BOUNDS.get(getattr(kind, "name", ""))
        if encode and "min" in found and "max" in found:
            bounds = encode(found["min"], found["max"])
            lower[number], upper[number] = bounds[0].hex(), bounds[1].hex() if bounds[1] is not None else ""
            if not upper[number] and found["max"]:
                del upper[number]
    return {
        "column-sizes": _map(sizes),
        "value-counts": _map(values),
        "null-value-counts": _map(nulls),
        "nan-value-counts": _map(nans),
        "lower-bounds": _map(lower),
        "upper-bounds": _map(upper),
    }


def leaves(columns: Sequence[Column]) -> Iterator[tuple[int, IcebergType, tuple[str, ...], bool]]:
    """What holds values in a file: its id, its type, its path, and whether it is within a list or map."""
    for column in columns:
        yield from _within(column.id, column.type, (file_name(column),), in_list=False)


def _within(
    number: int, kind: IcebergType, path: tuple[str, ...], *, in_list: bool
) -> Iterator[tuple[int, IcebergType, tuple[str, ...], bool]]:
    match kind:
        case Primitive():
            yield number, kind, path, in_list
        case StructType(fields=fields):
            for field in fields:
                yield from _within(field.id, field.type, (*path, field.name), in_list=in_list)
        case ListType(element_id=element_id, element=element):
            yield from _within(element_id, element, (*path, "element"), in_list=True)
        case MapType(key_id=key_id, key=key, value_id=value_id, value=value):
            yield from _within(key_id, key, (*path, "key"), in_list=True)
            yield from _within(value_id, value, (*path, "value"), in_list=True)


def _size(path: str, kind: IcebergType, statistics: Statistics) -> int:
    if kind == Primitive("variant"):
        parts = (statistics.get(f"{path}.{quoted((part,))}", {}) for part in ("metadata", "value"))
        return sum(int(part.get("column_size_bytes", 0)) for part in parts)
    return int(statistics[path].get("column_size_bytes", 0))


def quoted(path: Sequence[str]) -> str:
    """A path as the statistics have it."""
    return ".".join('"' + step.replace('"', '""') + '"' for step in path)


def _map(numbers: Mapping[int, Any]) -> dict[str, list[Any]]:
    return {"keys": list(numbers), "values": list(numbers.values())}


def _packed(code: str, parse: Callable[[str], Any]) -> Callable[[str, str], tuple[bytes, bytes | None]]:
    return lambda low, high: (struct.pack(code, parse(low)), struct.pack(code, parse(high)))


def _floating(code: str) -> Callable[[str, str], tuple[bytes, bytes | None]]:
    """Bounds in which zero is both zeros: to Iceberg −0.0 is less than 0.0, to SQL they are one value."""

    def bounds(low: str, high: str) -> tuple[bytes, bytes | None]:
        return struct.pack(code, float(low) or -0.0), struct.pack(code, float(high) or 0.0)

    return bounds


def _texts(low: str, high: str) -> tuple[bytes, bytes | None]:
    upper = high if len(high) <= _TRUNCATED else _next(high[:_TRUNCATED])
    return low[:_TRUNCATED].encode(), None if upper is None else upper.encode()


def _next(text: str) -> str | None:
    """The smallest text of at most the same length that is above every text beginning with `text`."""
    for index in range(len(text) - 1, -1, -1):
        point = ord(text[index]) + 1
        if 0xD800 <= point <= 0xDFFF:
            point = 0xE000
        if point <= 0x10FFFF:
            return text[:index] + chr(point)
    return None


def _days(text: str) -> int:
    return (dt.date.fromisoformat(text) - _EPOCH.date()).days


def _micros(text: str) -> int:
    moment = dt.datetime.fromisoformat(text)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (aware - _EPOCH) // dt.timedelta(microseconds=1)


def _nanos(text: str) -> int:
    """Of a text such as `2026-01-31 23:59:59.123456789+00`."""
    whole, _, fraction = text.removesuffix("+00").partition(".")
    return _micros(whole) * 1000 + int(fraction.ljust(9, "0"))


def _microseconds(text: str) -> int:
    moment = dt.datetime.combine(_EPOCH.date(), dt.time.fromisoformat(text), dt.UTC)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def _decimals(low: str, high: str) -> tuple[bytes, bytes | None]:
    return _unscaled(low), _unscaled(high)


def _unscaled(text: str) -> bytes:
    """The bytes of a decimal, whose text has all digits of the scale."""
    return unscaled_bytes(int(text.replace(".", "")))


_BOUNDS: Final[dict[str, Callable[[str, str], tuple[bytes, bytes | None]]]] = {
    "int": _packed("<i", int),
    "long": _packed("<q", int),
    "float": _floating("<f"),
    "double": _floating("<d"),
    "decimal": _decimals,
    "date": _packed("<i", _days),
    "time": _packed("<q", _microseconds),
    "timestamp": _packed("<q", _micros),
    "timestamptz": _packed("<q", _micros),
    "timestamp_ns": _packed("<q", _nanos),
    "timestamptz_ns": _packed("<q", _nanos),
    "string": _texts,
}
"""How the texts of a type's bounds become the bytes of Iceberg's single-value serialisation."""
