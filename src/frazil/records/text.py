"""Bytes to text, whole columns at a time.

A column is cast at once; only when that fails are its rows looked at one by one, and each bad one gets its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

MARK: Final = b"\xef\xbb\xbf"
"""A byte order mark in UTF-8, which readers of JSON pass over."""

_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What Java trims."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of text, and why some of its rows have none."""

    values: pa.StringArray
    """Null where the bytes were null or bad."""

    bad: Mapping[int, str] = field(default_factory=dict)
    """Reasons by row."""


def utf8(column: pa.BinaryArray) -> TextColumn:
    """The column as text; rows that are not valid UTF-8 are bad."""
    try:
        return TextColumn(column.cast(pa.string()))
    except pa.ArrowInvalid:
        return _row_by_row(column, _decode)


def lenient_utf8(column: pa.BinaryArray) -> pa.StringArray:
    """The column as text with undecodable bytes replaced, as Java's `new String(bytes, UTF_8)` does."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return _row_by_row(column, lambda cell: cell.decode("utf-8", "replace")).values


def empty_as_null(column: pa.BinaryArray) -> pa.BinaryArray:
    """The column with empty cells made null: an empty body is not a JSON document but none at all (spec 4.1)."""
    empty = pc.equal(pc.binary_length(column), 0)
    return pc.if_else(empty, pa.scalar(None, pa.binary()), column) if pc.any(empty).as_py() else column


def without_mark(column: pa.BinaryArray) -> pa.BinaryArray:
    """The column without the byte order marks its cells begin with."""
    marked = pc.starts_with(column, MARK)
    if not pc.any(marked).as_py():
        return column
    marked = pc.fill_null(marked, pa.scalar(False))
    # Arrow's own binary_slice fails on some columns ("Negative buffer resize").
    rest = [cell[len(MARK) :] for cell in column.filter(marked).to_pylist()]
    return pc.replace_with_mask(column, marked, pa.array(rest, pa.binary()))


def java_trim(text: str) -> str:
    """The text as Java's `String.trim` leaves it: without the control characters and spaces around it."""
    return text.strip(_BLANKS)


def _row_by_row(column: pa.BinaryArray, decode: Callable[[bytes], str]) -> TextColumn:
    values: list[str | None] = []
    bad: dict[int, str] = {}
    for row, cell in enumerate(column.to_pylist()):
        try:
            values.append(None if cell is None else decode(cell))
        except ValueError as error:
            values.append(None)
            bad[row] = str(error)
    return TextColumn(pa.array(values, pa.string()), bad)


def _decode(cell: bytes) -> str:
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"the bytes are not valid UTF-8: byte {cell[error.start]:#04x} at position {error.start}"
        raise ValueError(reason) from error
