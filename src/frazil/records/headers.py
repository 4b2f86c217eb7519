"""Record headers by the header converter, as texts and as JSON; whole columns at a time."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import HeaderConverter
from frazil.records.simple_header import guess
from frazil.records.text import MARK, lenient_utf8
from frazil.records.value import Value, from_json

TEXTS: Final = pa.map_(pa.string(), pa.string())
"""The type of header values as texts, by name."""

_LONGEST_NAME_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class HeaderColumns:
    """The headers of records; null for a record without any."""

    texts: pa.MapArray
    """Values as texts, by name; of headers with one name the last counts (spec 3.1)."""

    structured: pa.StringArray
    """The same as the text of a JSON object, where the types of values are to be kept and some are no texts."""

    bad: Mapping[int, str] = field(default_factory=dict)
    """Reasons by row."""


def headers(column: pa.MapArray, converter: HeaderConverter, *, structured: bool) -> HeaderColumns:
    """The headers of a batch.

    Args:
        column: names and bytes, as `frazil.records.batches.schema` says.
        converter: how values are read.
        structured: whether to keep their JSON types.
    """
    count = len(column)
    nothing = pa.nulls(count, pa.string())
    if column.null_count == count:
        return HeaderColumns(pa.nulls(count, TEXTS), nothing)
    flat = _Flat.of(column)
    if converter == "string":
        return HeaderColumns(flat.texts(lenient_utf8(flat.values).values), nothing)
    if converter == "bytes":
        encoded = [None if cell is None else base64.b64encode(cell).decode() for cell in flat.values.to_pylist()]
        return HeaderColumns(flat.texts(pa.array(encoded, pa.string())), nothing)
    # Most headers say the same in many records: each value is read once.
    distinct = flat.values.dictionary_encode()
    values, reasons = _read(distinct.dictionary, _READERS[converter])
    texts = pa.array([value.text for value in values], pa.string()).take(distinct.indices)
    if structured:
        jsons = pa.array([value.json for value in values], pa.string()).take(distinct.indices)
        nothing = flat.objects(pc.fill_null(jsons, "null"))
    return HeaderColumns(flat.texts(texts), nothing, flat.bad(distinct.indices, reasons) if reasons else {})


@dataclass(frozen=True, slots=True)
class _Flat:
    """All headers of a batch, one after the other."""

    names: pa.StringArray
    values: pa.BinaryArray
    offsets: pa.Int32Array
    """Where the headers of each record begin, and where the last one's end."""

    without: pa.BooleanArray
    """Which records have none."""

    @classmethod
    def of(cls, column: pa.MapArray) -> _Flat:
        """The headers of `column`, of those with one name in a record the last."""
        # Arrow's functions for lists do not take maps.
        names = pa.ListArray.from_arrays(column.offsets, column.keys)
        entries = pa.table({"record": pc.list_parent_indices(names), "name": pc.list_flatten(names)})
        if len(entries.group_by(["record", "name"], use_threads=False).aggregate([])) < len(entries):
            return cls.of(pa.array([list(dict(cell or ()).items()) for cell in column.to_pylist()], column.type))
        values = pa.ListArray.from_arrays(column.offsets, column.items)
        return cls(
            entries.column("name").combine_chunks(),
            pc.list_flatten(values),
            pc.subtract(column.offsets, column.offsets[0]),
            pc.equal(pc.list_value_length(names), 0),
        )

    def texts(self, texts: pa.StringArray) -> pa.MapArray:
        """One text for each header, by record and name."""
        return pa.MapArray.from_arrays(self.offsets, self.names, texts, mask=self.without)

    def objects(self, jsons: pa.StringArray) -> pa.StringArray:
        """One JSON value for each header, as the text of one object for each record."""
        distinct = self.names.dictionary_encode()
        names = pa.array([orjson.dumps(name).decode() for name in distinct.dictionary.to_pylist()], pa.string())
        members = pc.binary_join_element_wise(names.take(distinct.indices), jsons, ":")
        joined = pc.binary_join(pa.ListArray.from_arrays(self.offsets, members), ",")
        return pc.if_else(self.without, pa.scalar(None, pa.string()), pc.binary_join_element_wise("{", joined, "}", ""))

    def bad(self, indices: pa.Int32Array, reasons: Mapping[int, str]) -> dict[int, str]:
        """The reasons by row, given by the index of the value they are about."""
        rows = pc.list_parent_indices(pa.ListArray.from_arrays(self.offsets, self.names)).to_pylist()
        found: dict[int, str] = {}
        for row, name, index in zip(rows, self.names.to_pylist(), indices.to_pylist(), strict=True):
            if index in reasons:
                shown = repr(name if len(name) <= _LONGEST_NAME_SHOWN else f"{name[:_LONGEST_NAME_SHOWN]}…")
                found.setdefault(row, f"the header {shown} is no JSON: {reasons[index]}")
        return found


def _read(cells: pa.BinaryArray, reader: Callable[[bytes], Value]) -> tuple[list[Value], dict[int, str]]:
    """The values, and why some have none, by index."""
    values: list[Value] = []
    reasons: dict[int, str] = {}
    for index, cell in enumerate(cells.to_pylist()):
        try:
            values.append(reader(cell))
        except ValueError as error:
            values.append(Value(None))
            reasons[index] = str(error)
    return values, reasons


def _simple(value: bytes) -> Value:
    return guess(value.decode("utf-8", "replace"))


def _json(value: bytes) -> Value:
    text = value.removeprefix(MARK).decode("utf-8")
    return from_json(text) if text else Value(None)


_READERS: Final[Mapping[HeaderConverter, Callable[[bytes], Value]]] = {"simple": _simple, "json": _json}
