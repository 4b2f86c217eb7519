"""Iceberg's hash of a value, from which buckets are made: the 32-bit Murmur3 of how the value is serialised.

DuckDB has no such function, so its connections get some in Python. They see a few thousand values at a time and hash
each distinct one once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import duckdb
import mmh3
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import func
from duckdb.sqltypes import BIGINT, BLOB, INTEGER

from frazil.model import Layout, Primitive

_OF_WHOLE: Final = "frazil_hash_of_whole"
_OF_BYTES: Final = "frazil_hash_of_bytes"
_OF_DECIMAL: Final = "frazil_hash_of_decimal"


def hashed(value: str, kind: Primitive) -> str:
    """SQL for the hash of a value of that type, on a connection that `teach` was called for."""
    match kind.name:
        case "int" | "long":
            return f"{_OF_WHOLE}(CAST({value} AS BIGINT))"
        case "date":
            return f"{_OF_WHOLE}({value} - DATE '1970-01-01')"
        case "time" | "timestamp" | "timestamptz":
            return f"{_OF_WHOLE}(epoch_us({value}))"
        case "timestamp_ns" | "timestamptz_ns":
            # As microseconds, so that a column keeps its buckets when its type is changed.
            return f"{_OF_WHOLE}({microseconds(value, kind)})"
        case "decimal":
            return f"{_OF_DECIMAL}(CAST(replace(CAST({value} AS VARCHAR), '.', '') AS BLOB))"
        case "string":
            return f"{_OF_BYTES}(encode({value}))"
        case "uuid":
            return f"{_OF_BYTES}(unhex(replace(CAST({value} AS VARCHAR), '-', '')))"
        case _:
            return f"{_OF_BYTES}({value})"


def microseconds(value: str, kind: Primitive) -> str:
    """SQL for the whole microseconds from the epoch to a moment, rounded down."""
    if kind.name not in ("timestamp_ns", "timestamptz_ns"):
        return f"epoch_us({value})"
    nanos = f"CAST(epoch_ns({value}) AS HUGEINT)"
    return f"CAST(({nanos} - (({nanos} % 1000 + 1000) % 1000)) // 1000 AS BIGINT)"


def teach(connection: duckdb.DuckDBPyConnection, layout: Layout) -> None:
    """Have a connection know what `hashed` uses, if files of that layout need it."""
    used = [field.transform.name for field in layout.partition] + [field.transform.name for field in layout.order]
    if "bucket" not in used:
        return
    known = connection.execute("FROM duckdb_functions() WHERE function_name = $1", [_OF_WHOLE]).fetchall()
    if known:
        return
    for name, function, parameter in (
        (_OF_WHOLE, _of_whole, BIGINT),
        (_OF_BYTES, _of_bytes, BLOB),
        (_OF_DECIMAL, _of_decimal, BLOB),
    ):
        connection.create_function(name, function, [parameter], INTEGER, type=func.ARROW)


def _of_whole(values: pa.ChunkedArray) -> pa.Array:
    return _of_distinct(values, lambda each: each.to_bytes(8, "little", signed=True))


def _of_bytes(values: pa.ChunkedArray) -> pa.Array:
    return _of_distinct(values, bytes)


def _of_decimal(values: pa.ChunkedArray) -> pa.Array:
    """Hashes of decimals, given as the digits of their unscaled values."""
    return _of_distinct(values, lambda each: unscaled_bytes(int(each)))


def unscaled_bytes(number: int) -> bytes:
    """A decimal's unscaled value as two's complement, the largest byte first, in as few bytes as it takes."""
    bits = (number if number >= 0 else ~number).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def _of_distinct(values: pa.ChunkedArray, serialised: Callable[[Any], bytes]) -> pa.Array:
    distinct = pc.unique(values)
    hashes = [None if each is None else mmh3.hash(serialised(each)) for each in distinct.to_pylist()]
    return pa.array(hashes, pa.int32()).take(pc.index_in(values, value_set=distinct))
