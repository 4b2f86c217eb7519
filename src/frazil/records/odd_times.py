"""Timestamps that no calendar has: a producer may send any 64-bit number of milliseconds.

Where a place takes no such timestamp, a rejected record goes there without it. A last header has the number, so that
the record can be read back as it was.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

HEADER: Final = "__frazil.errors.timestamp"
"""The header that has a timestamp, in ms since the epoch."""

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (only differences are taken)
_LEAST: Final = (dt.datetime(1, 1, 1) - _EPOCH) // dt.timedelta(milliseconds=1)  # noqa: DTZ001
_MOST: Final = (dt.datetime(9999, 12, 31) - _EPOCH) // dt.timedelta(milliseconds=1)  # noqa: DTZ001
"""The years that Python's dates have, a day less for all zones: readers of tables fail on others."""

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


def is_odd(timestamp: int | None) -> bool:
    """Whether no calendar has a timestamp."""
    return timestamp is not None and not _LEAST <= timestamp <= _MOST


def header_of(timestamp: int) -> tuple[str, bytes]:
    """The header that has a timestamp."""
    return HEADER, str(timestamp).encode()


def with_header(headers: Headers, timestamp: int) -> Headers:
    """The headers of a record that goes without its timestamp."""
    return (*headers, header_of(timestamp))


def without_header(headers: Headers) -> tuple[Headers, int | None]:
    """The headers that a record had itself, and the timestamp that the last one has; None if it is no such header."""
    name, value = headers[-1] if headers else ("", None)
    if name != HEADER:
        return headers, None
    try:
        return headers[:-1], int(value or b"")
    except ValueError:
        return headers, None


def moments_of(timestamps: pa.Array) -> pa.Array:
    """Milliseconds as moments, NULL for what no calendar has."""
    known = pc.if_else(_odd(timestamps), pa.scalar(None, pa.int64()), timestamps)
    return known.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))


def with_headers(headers: pa.MapArray, timestamps: pa.Array) -> pa.MapArray:
    """The headers of records, one more for each whose timestamp no calendar has."""
    odd = _odd(timestamps)
    if not pc.any(odd).as_py():
        return headers
    rows: list[Any] = headers.to_pylist()
    for row, timestamp in enumerate(timestamps.to_pylist()):
        if is_odd(timestamp):
            rows[row] = with_header(rows[row] or (), timestamp)
    return pa.array(rows, headers.type)


def _odd(timestamps: pa.Array) -> pa.Array:
    outside = pc.or_(pc.less(timestamps, _LEAST), pc.greater(timestamps, _MOST))
    return pc.fill_null(outside, False)
