"""Iceberg's transforms as DuckDB's SQL: bit for bit what Iceberg makes, which plans scans by it.

Iceberg computes in Java's integers, which wrap around; so does this. NULL becomes NULL.
"""

from __future__ import annotations

from frazil.layout.hashing import hashed, microseconds
from frazil.model import LayoutTransform, Primitive

_INT_BITS = {"int": 32, "long": 64}
_HOUR = 3_600_000_000
"""Microseconds."""

_LARGEST = 2**31 - 1


def transformed(transform: LayoutTransform, value: str, kind: Primitive) -> str:
    """SQL for what a transform makes of a value of that type.

    Years, months and hours are numbers since 1970, buckets are numbered from 0, and a day is a DATE; what is made by
    `identity` and `truncate` is of the value's own type.
    """
    match transform.name:
        case "identity":
            return value
        case "void":
            return f"CASE WHEN false THEN {value} END"
        case "bucket":
            return f"(({hashed(value, kind)} & {_LARGEST}) % {transform.parameter})"
        case "truncate":
            return _truncated(value, kind, transform.parameter)
        case "year":
            return f"(year({_moment(value, kind)}) - 1970)"
        case "month":
            moment = _moment(value, kind)
            return f"((year({moment}) - 1970) * 12 + month({moment}) - 1)"
        case "day":
            return value if kind.name == "date" else f"CAST({_moment(value, kind)} AS DATE)"
        case "hour":
            micros = microseconds(value, kind)
            return f"(({micros} - {_remainder(micros, _HOUR)}) // {_HOUR})"
        case name:
            raise ValueError(f"no transform is called {name}")


def sorting(transform: LayoutTransform, value: str, kind: Primitive) -> str:
    """SQL that orders values as what the transform makes of them does; it fails for no value."""
    if transform.name == "truncate" and kind.name == "decimal":
        return _cut_unscaled(value, transform.parameter)
    return transformed(transform, value, kind)


def result_type(transform: LayoutTransform, kind: Primitive) -> Primitive:
    """The Iceberg type of what a transform makes of a value of that type."""
    match transform.name:
        case "bucket" | "year" | "month" | "hour":
            return Primitive("int")
        case "day":
            return Primitive("date")
        case _:
            return kind


def _moment(value: str, kind: Primitive) -> str:
    """SQL for a date or a timestamp in UTC: a day begins where it begins there."""
    match kind.name:
        case "date" | "timestamp":
            return value
        case _:
            return f"make_timestamp({microseconds(value, kind)})"


def _truncated(value: str, kind: Primitive, width: int) -> str:
    match kind.name:
        case "string":
            return f"left({value}, {width})"
        case "binary":
            return f"{value}[1:{width}]"
        case "decimal":
            return _truncated_decimal(value, kind, width)
        case _:
            return _truncated_whole(value, _INT_BITS[kind.name], width)


def _truncated_whole(value: str, bits: int, width: int) -> str:
    sql_type = "INTEGER" if bits == 32 else "BIGINT"
    least = -(2 ** (bits - 1))
    wide = f"CAST({value} AS HUGEINT)"
    # Java's remainder plus the width may wrap around as well, where the width is more than half of what an int holds.
    remainder = f"({_wrapped(f'({wide} % {width} + {width})', bits)} % {width})"
    exact = f"CAST({_wrapped(f'({wide} - {remainder})', bits)} AS {sql_type})"
    if 2 * width > 2 ** (bits - 1):
        return exact
    plain = f"{value} - {_remainder(value, width)}"
    return f"CASE WHEN {value} < {least + width} THEN {exact} ELSE {plain} END"


def _truncated_decimal(value: str, kind: Primitive, width: int) -> str:
    """SQL that makes the unscaled value a multiple of the width; it fails if that has more digits than the type."""
    cut = _cut_unscaled(value, width)
    if not kind.scale:
        return f"CAST({cut} AS DECIMAL({kind.precision},0))"
    return f"CAST({_with_point(cut, kind.scale)} AS DECIMAL({kind.precision},{kind.scale}))"


def _cut_unscaled(value: str, width: int) -> str:
    """SQL for the largest multiple of the width that is not above a decimal's unscaled value."""
    # With its unscaled digits as a text, a decimal of 38 digits is a whole number without any loss.
    unscaled = f"CAST(replace(CAST({value} AS VARCHAR), '.', '') AS HUGEINT)"
    return f"({unscaled} - {_remainder(unscaled, width)})"


def _with_point(whole: str, scale: int) -> str:
    """SQL for the text of an unscaled value with its point in place."""
    divisor = f"CAST('1{'0' * scale}' AS HUGEINT)"
    sign = f"CASE WHEN {whole} < 0 THEN '-' ELSE '' END"
    before = f"CAST(abs({whole} // {divisor}) AS VARCHAR)"
    after = f"lpad(CAST(abs({whole} % {divisor}) AS VARCHAR), {scale}, '0')"
    return f"{sign} || {before} || '.' || {after}"


def _remainder(value: str, width: int) -> str:
    """SQL for the remainder of a division that rounds down."""
    return f"(({value} % {width} + {width}) % {width})"


def _wrapped(value: str, bits: int) -> str:
    """SQL for a HUGEINT as Java's integers of so many bits have it."""
    size, half = 2**bits, 2 ** (bits - 1)
    return f"(((({value} + {half}) % {size}) + {size}) % {size} - {half})"
