"""What DuckDB does not write into a Parquet file, done to the file it wrote: by Arrow, which takes what DuckDB gives.

DuckDB has one type for bytes, so values of a `fixed` have a length each; and it writes a VARIANT at the top level only:
one within a struct, a list or a map is a struct whose parts may be NULL. Iceberg wants fixed lengths, and groups that
say that they are VARIANTs, with a part that is never NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType
from frazil.pipes.types import VARIANT, fixed_length
from frazil.staging.annotation import annotate_variants


def needs_rewriting(columns: Iterable[Column]) -> bool:
    """Whether a file with these columns is not what Iceberg wants as DuckDB writes it."""
    return any(_is_beyond_duckdb(column.type) for column in columns)


def rewrite(path: Path, columns: Sequence[Column], *, dictionaries: bool) -> int:
    """Write a file of DuckDB's anew, a row group for each of its own; the bytes it has then.

    Args:
        path: the file, with the columns' field ids.
        columns: the table's.
        dictionaries: whether values may be looked up in dictionaries.
    """
    whole = path.with_suffix(".rewritten")
    try:
        with pq.ParquetFile(path) as file:
            schema = pa.schema(
                field.with_type(_arrow(field.type, column.type))
                for field, column in zip(file.schema_arrow, columns, strict=True)
            )
            with pq.ParquetWriter(
                whole,
                schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=dictionaries,
                store_schema=False,
                store_decimal_as_integer=True,
            ) as writer:
                for number in range(file.num_row_groups):
                    group = file.read_row_group(number)
                    cells = [
                        _rewritten(column.combine_chunks(), field.type, found.type)
                        for column, field, found in zip(group.columns, schema, columns, strict=True)
                    ]
                    writer.write_table(pa.Table.from_arrays(cells, schema=schema), row_group_size=max(1, len(group)))
        annotate_variants(whole, frozenset(_variants(columns)))
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)
    return path.stat().st_size


def _is_beyond_duckdb(kind: IcebergType) -> bool:
    match kind:
        case Primitive():
            return fixed_length(kind) is not None
        case ListType(element=element):
            inner = [element]
        case MapType(key=key, value=value):
            inner = [key, value]
        case StructType(fields=fields):
            inner = [field.type for field in fields]
    return any(each == VARIANT or _is_beyond_duckdb(each) for each in inner)


def _arrow(written: pa.DataType, kind: IcebergType) -> pa.DataType:
    """A type as it is in DuckDB's file, with what Iceberg's type asks for beyond."""
    match kind:
        case Primitive(name="variant"):
            metadata, *others = written.fields
            return pa.struct([metadata.with_nullable(False), *others])
        case Primitive():
            length = fixed_length(kind)
            return written if length is None else pa.binary(length)
        case ListType(element=element):
            return pa.list_(written.value_field.with_type(_arrow(written.value_type, element)))
        case MapType(key=key, value=value):
            return pa.map_(
                written.key_field.with_type(_arrow(written.key_type, key)),
                written.item_field.with_type(_arrow(written.item_type, value)),
            )
        case StructType(fields=fields):
            pairs = zip(written.fields, fields, strict=True)
            return pa.struct([found.with_type(_arrow(found.type, field.type)) for found, field in pairs])


def _rewritten(cells: Any, wanted: pa.DataType, kind: IcebergType) -> pa.Array:
    """Cells of DuckDB's as the type that `_arrow` gave; Arrow's own cast takes parts of a NULL for NULLs themselves."""
    match kind:
        case Primitive(name="variant"):
            metadata, value = (cells.field(number) for number in range(2))
            parts = [pc.fill_null(metadata, b""), value]
            return pa.StructArray.from_arrays(parts, fields=wanted.fields, mask=cells.is_null())
        case Primitive():
            return cells if cells.type == wanted else cells.cast(wanted)
        case ListType(element=element):
            values = _rewritten(cells.values, wanted.value_type, element)
            return pa.ListArray.from_arrays(cells.offsets, values, type=wanted, mask=cells.is_null())
        case MapType(key=key, value=value):
            keys = _rewritten(cells.keys, wanted.key_type, key)
            items = _rewritten(cells.items, wanted.item_type, value)
            return pa.MapArray.from_arrays(cells.offsets, keys, items, type=wanted, mask=cells.is_null())
        case StructType(fields=fields):
            members = [
                _rewritten(cells.field(number), wanted.field(number).type, field.type)
                for number, field in enumerate(fields)
            ]
            return pa.StructArray.from_arrays(members, fields=wanted.fields, mask=cells.is_null())


def _variants(columns: Iterable[Column]) -> Iterator[int]:
    for column in columns:
        yield from _variants_within(column.id, column.type)


def _variants_within(number: int, kind: IcebergType) -> Iterator[int]:
    """The field ids of VARIANTs, at any level."""
    match kind:
        case Primitive():
            if kind == VARIANT:
                yield number
        case ListType(element_id=element_id, element=element):
            yield from _variants_within(element_id, element)
        case MapType(key_id=key_id, key=key, value_id=value_id, value=value):
            yield from _variants_within(key_id, key)
            yield from _variants_within(value_id, value)
        case StructType(fields=fields):
            yield from _variants(fields)
