"""Put records through the Projector and read the file back without our code."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from frazil.model import (
    MOST_COLUMNS,
    Column,
    Conversion,
    Drift,
    IcebergType,
    ListType,
    MapType,
    Primitive,
    Reject,
    SchemaChange,
    StructType,
    TableRules,
)
from frazil.pipes.base import Pipe
from frazil.pipes.default.pipe import DefaultPipe
from frazil.records.convert import RecordConverter
from frazil.sources.kafka.reader import SCHEMA
from frazil.sql import ident
from frazil.staging.project import Projector
from frazil.staging.worker import locked_down
from frazil.staging.write import Written

from .variant_format import decoded

TOPIC = "orders"
NOW = 1_760_000_000_000

AS_DEFAULT = Conversion()
AS_IT_IS = TableRules()

_ids = itertools.count(1)


def primitive(name: str) -> Primitive:
    """`long`, `variant`, `decimal(38,2)` …"""
    if not name.startswith("decimal"):
        return Primitive(name)
    precision, scale = name.removeprefix("decimal(").removesuffix(")").split(",")
    return Primitive("decimal", int(precision), int(scale))


def column(name: str, kind: str | IcebergType, *, required: bool = False, default: str | None = None) -> Column:
    """A column with a field id no other has; `default` is JSON text."""
    return Column(next(_ids), name, _type(kind), required, default)


def columns(**kinds: str | IcebergType) -> tuple[Column, ...]:
    """Optional columns by name."""
    return tuple(column(name, kind) for name, kind in kinds.items())


def struct(**kinds: str | IcebergType) -> StructType:
    """A struct of optional fields."""
    return StructType(columns(**kinds))


def listed(kind: str | IcebergType, *, required: bool = False) -> ListType:
    """A list of elements of one type."""
    return ListType(next(_ids), _type(kind), required)


def mapped(key: str | IcebergType, value: str | IcebergType, *, required: bool = False) -> MapType:
    """A map; `required` when its values must not be null."""
    return MapType(next(_ids), _type(key), next(_ids), _type(value), required)


def _type(kind: str | IcebergType) -> IcebergType:
    return primitive(kind) if isinstance(kind, str) else kind


def batch(values: Iterable[str | bytes | None], **others: Sequence[Any]) -> pa.RecordBatch:
    """Records as the reader gives them; the n-th has offset n. `others` are columns of the reader's schema."""
    given = [value.encode() if isinstance(value, str) else value for value in values]
    count = len(given)
    fields: dict[str, Sequence[Any]] = {
        "topic": [TOPIC] * count,
        "partition": [0] * count,
        "offset": range(count),
        "timestamp": [NOW] * count,
        "log_append_time": [False] * count,
        "key": [None] * count,
        "headers": [None] * count,
        **others,
        "value": given,
    }
    return pa.RecordBatch.from_arrays([pa.array(fields[each.name], each.type) for each in SCHEMA], schema=SCHEMA)


@dataclass
class Landing:
    """What became of some records."""

    rows: list[Any] = field(default_factory=list)
    """Values of the only column, or tuples of all."""

    rejects: dict[int, Reject] = field(default_factory=dict)
    """By offset."""

    skipped: dict[int | str, int] = field(default_factory=dict)
    """How many became no row, by partition."""

    unknown: dict[str, int] = field(default_factory=dict)
    drift: Drift = field(default_factory=dict)
    change: SchemaChange = field(default_factory=SchemaChange)
    written: Written | None = None

    @property
    def reasons(self) -> dict[int, tuple[str | None, str]]:
        """Column and reason of each reject, by offset."""
        return {offset: (reject.column, reject.reason) for offset, reject in self.rejects.items()}


class Worker:
    """A locked-down connection to write with, as a Spark worker keeps one, and a plain one to read with."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.connection = locked_down(scratch)
        self._reader = duckdb.connect()
        self._reader.execute("SET TimeZone = 'UTC'")

    def read(self, path: Path) -> list[tuple[Any, ...]]:
        """The rows of a Parquet file by plain DuckDB, its VARIANTs by the letter of the specification as well."""
        source = f"read_parquet('{path}')"
        found = self._reader.sql(f"FROM {source}")
        # VARIANTs as JSON text, for in Python's values DuckDB cuts keys at a NUL.
        columns = ", ".join(
            f"{ident(name)}::JSON::VARCHAR" if "VARIANT" in str(kind) else ident(name)
            for name, kind in zip(found.columns, found.types, strict=True)
        )
        values = [
            each.cast(in_nanoseconds(each.type)).to_pylist()
            for each in self._reader.sql(f"SELECT {columns} FROM {source}").to_arrow_table().columns
        ]
        for number, kind in enumerate(found.types):
            if "VARIANT" in str(kind):
                texts = values[number]
                values[number] = variants(path, number)
                if str(kind) == "VARIANT":
                    assert [None if text is None else exactly(text) for text in texts] == values[number]
                else:
                    assert [text is None for text in texts] == [value is None for value in values[number]]
        return list(zip(*values, strict=True))

    def close(self) -> None:
        self.connection.close()
        self._reader.close()


def in_nanoseconds(kind: pa.DataType) -> pa.DataType:
    """A type with nanoseconds since the epoch instead of moments of them, of which Python has none."""
    if pa.types.is_timestamp(kind):
        return pa.int64() if kind.unit == "ns" else kind
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(in_nanoseconds(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(in_nanoseconds(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(
            kind.key_field.with_type(in_nanoseconds(kind.key_type)),
            kind.item_field.with_type(in_nanoseconds(kind.item_type)),
        )
    return kind


def variants(path: Path, column: int) -> list[Any]:
    """The VARIANTs of a Parquet file's column, or what they are within, None for NULL.

    Raises:
        AssertionError: one is not as the specification wants it.
    """
    cells = pq.ParquetFile(path).read().column(column)
    return [_decoded(cell) for cell in cells.cast(in_nanoseconds(cells.type)).to_pylist()]


def _decoded(cell: Any) -> Any:
    match cell:
        case {"metadata": metadata, "value": value}:
            return decoded(metadata, value)
        case dict():
            return {name: _decoded(value) for name, value in cell.items()}
        case list() | tuple():
            return type(cell)(_decoded(each) for each in cell)
        case uuid.UUID():
            return str(cell)
        case _:
            return cell


def exactly(text: str) -> Any:
    """A JSON document with numbers of all their digits: what is not the same as a double or an int is a Decimal."""
    return json.loads(text, parse_float=_number)


def _number(text: str) -> float | Decimal:
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else Decimal(text)


class Table:
    """A table whose chunks are projected by one task, one after the other."""

    def __init__(
        self,
        worker: Worker,
        shape: Sequence[Column],
        conversion: Conversion = AS_DEFAULT,
        *,
        evolves: bool = False,
        column_budget: int = MOST_COLUMNS,
        rules: TableRules = AS_IT_IS,
    ) -> None:
        self.columns = tuple(shape)
        self._worker = worker
        self._converter = RecordConverter(conversion)
        pipe = DefaultPipe(self.columns, conversion, evolves=evolves, column_budget=column_budget, rules=rules)
        self._projector = Projector(worker.connection, pipe, TOPIC)

    def through(self, pipe: Pipe) -> Table:
        """The table with another pipe."""
        self._projector = Projector(self._worker.connection, pipe, TOPIC)
        return self

    def land(self, *values: str | bytes | None, **others: Sequence[Any]) -> Landing:
        """Project one chunk."""
        converted = self._converter.convert(batch(values, **others), NOW)
        path = self._worker.scratch / f"{next(_ids)}.parquet"
        projected = self._projector.project(converted.table, converted.records, path)
        rejects = {reject.offset: reject for reject in (*converted.rejects, *projected.rejects)}
        rows = self._worker.read(path) if projected.written else []
        skipped = dict(converted.skipped)
        assert len(rows) + len(rejects) + sum(skipped.values()) == len(values) or projected.is_outgrown
        return Landing(
            [row[0] for row in rows] if len(self.columns) == 1 else rows,
            rejects,
            skipped,
            dict(projected.unknown),
            projected.drift,
            projected.change,
            projected.written,
        )


REJECTED = "rejected"


def fates(table: Table, values: Iterable[str]) -> dict[str, Any]:
    """What became of each JSON value in the only column of a table: what it is there, or REJECTED."""
    given = list(dict.fromkeys(values))
    landed = table.land(*(json.dumps({table.columns[0].name: 0}).replace("0", value) for value in given))
    rows = iter(landed.rows)
    return {value: REJECTED if number in landed.rejects else next(rows) for number, value in enumerate(given)}
