"""Rows as CSV: texts in quotes, NULL as nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO

import pyarrow as pa
from pyarrow import csv

from frazil.cli.printing.values import text, values
from frazil.snowflake.compiled import ResultColumn


def write_csv(
    columns: Sequence[ResultColumn],
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    out: BinaryIO,
    shown: Callable[[str], str] | None = None,
) -> None:
    """Write the heads, and a line for each row.

    Args:
        columns: of the rows.
        schema: of the batches.
        batches: the rows.
        out: where to.
        shown: what is done to each text, for a terminal that would act on some of it.
    """
    heads = [shown(column.head) if shown else column.head for column in columns]
    kinds = [kind if _is_itself(kind) else pa.string() for kind in schema.types]
    written = pa.schema([pa.field(head, kind) for head, kind in zip(heads, kinds, strict=True)])
    with csv.CSVWriter(out, written) as writer:
        for batch in batches:
            arrays = [
                array if _is_itself(array.type) else _texts(array, column, shown)
                for array, column in zip(batch.columns, columns, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=written))


def _is_itself(kind: pa.DataType) -> bool:
    """Whether Arrow writes such values as they are."""
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind))


def _texts(array: pa.Array, column: ResultColumn, shown: Callable[[str], str] | None) -> pa.Array:
    if pa.types.is_string(array.type) and shown is None:
        return array
    texts = map(text, values(array, column))
    return pa.array([each if each is None or shown is None else shown(each) for each in texts], pa.string())
