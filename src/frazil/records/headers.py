"""Record headers: converted one by one, then as texts and as JSON; whole columns at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from frazil.records.batches import TEXT_OR_JSON
from frazil.records.converters import Converter
from frazil.records.value import values

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


def converted(
    column: pa.MapArray, topics: pa.DictionaryArray, converter: Converter
) -> tuple[pa.MapArray, dict[int, str]]:
    """Headers as read, converted; and why records are bad, by row."""
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.map_(pa.string(), TEXT_OR_JSON)), {}
    flat = _Flat.of(unique(column))
    found = converter.convert(flat.values, topics.take(flat.rows()))
    texts = pa.StructArray.from_arrays([found.texts, found.is_json], fields=list(TEXT_OR_JSON))
    return flat.by_name(texts), flat.bad(found.bad)


def headers(column: pa.MapArray, *, structured: bool) -> HeaderColumns:
    """Converted headers as metadata has them; `structured` keeps their JSON types."""
    nothing = pa.nulls(len(column), pa.string())
    if column.null_count == len(column):
        return HeaderColumns(pa.nulls(len(column), TEXTS), nothing)
    flat = _Flat.of(column)
    found = values(flat.values)
    return HeaderColumns(
        flat.by_name(found.texts), flat.objects(found.json) if structured else nothing, flat.bad(found.bad)
    )


def unique(column: pa.MapArray) -> pa.MapArray:
    """The headers of records, of those with one name in a record the last."""
    if column.null_count == len(column):
        return column
    # Arrow's functions for lists do not take maps.
    names = pa.ListArray.from_arrays(column.offsets, column.keys)
    entries = pa.table({"record": pc.list_parent_indices(names), "name": pc.list_flatten(names)})
    if len(entries.group_by(["record", "name"], use_threads=False).aggregate([])) == len(entries):
        return column
    return pa.array([list(dict(cell or ()).items()) for cell in column.to_pylist()], column.type)


@dataclass(frozen=True, slots=True)
class _Flat:
    """All headers of a batch, one after the other."""

    names: pa.StringArray
    values: pa.Array
    offsets: pa.Int32Array
    """Where the headers of each record begin, and where the last one's end."""

    without: pa.BooleanArray
    """Which records have none."""

    @classmethod
    def of(cls, column: pa.MapArray) -> _Flat:
        """The headers of `column`."""
        names = pa.ListArray.from_arrays(column.offsets, column.keys)
        return cls(
            pc.list_flatten(names),
            pc.list_flatten(pa.ListArray.from_arrays(column.offsets, column.items)),
            pc.subtract(column.offsets, column.offsets[0]),
            pc.equal(pc.list_value_length(names), 0),
        )

    def rows(self) -> pa.Int64Array:
        """Which record each header is of."""
        return pc.list_parent_indices(pa.ListArray.from_arrays(self.offsets, self.names))

    def by_name(self, values: pa.Array) -> pa.MapArray:
        """One value for each header, by record and name."""
        return pa.MapArray.from_arrays(self.offsets, self.names, values, mask=self.without)

    def objects(self, jsons: pa.StringArray) -> pa.StringArray:
        """One JSON value for each header, as the text of one object for each record."""
        distinct = self.names.dictionary_encode()
        names = pa.array([orjson.dumps(name).decode() for name in distinct.dictionary.to_pylist()], pa.string())
        members = pc.binary_join_element_wise(names.take(distinct.indices), jsons, ":")
        joined = pc.binary_join(pa.ListArray.from_arrays(self.offsets, members), ",")
        return pc.if_else(self.without, pa.scalar(None, pa.string()), pc.binary_join_element_wise("{", joined, "}", ""))

    def bad(self, reasons: Mapping[int, str]) -> dict[int, str]:
        """The reasons by row, given by header."""
        rows = self.rows() if reasons else pa.array([], pa.int64())
        found: dict[int, str] = {}
        for header, reason in sorted(reasons.items()):
            name = self.names[header].as_py()
            shown = repr(name if len(name) <= _LONGEST_NAME_SHOWN else f"{name[:_LONGEST_NAME_SHOWN]}…")
            found.setdefault(rows[header].as_py(), f"the header {shown} {reason}")
        return found
