"""Rows as a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import parquet

_ENOUGH: Final = 64 << 20
"""Bytes of rows, as Arrow has them, that make a row group: what is held in memory."""


def write_parquet(schema: pa.Schema, batches: Iterable[pa.RecordBatch], path: Path) -> None:
    """Write the rows."""
    waiting: list[pa.RecordBatch] = []
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches:
            waiting.append(batch)
            if sum(each.nbytes for each in waiting) >= _ENOUGH:
                writer.write_table(pa.Table.from_batches(waiting, schema))
                waiting.clear()
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema))
