"""Project a chunk and write it as one Parquet file, in one COPY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from frazil.model import Column
from frazil.pipes.types import VARIANT, field_ids, file_name
from frazil.sql import ident, literal
from frazil.staging.metrics import Statistics
from frazil.staging.zeros import WITHOUT_DICTIONARIES, has_negative_zero

_FORMAT: Final = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, WRITE_BLOOM_FILTER false"
"""DuckDB gives Bloom filters to columns that have a dictionary, which answers the same question without error."""


@dataclass(frozen=True, slots=True)
class Written:
    """A Parquet file in the scratch directory."""

    path: Path
    rows: int
    size: int
    """Bytes."""

    statistics: Statistics


def copy(connection: duckdb.DuckDBPyConnection, select: str, columns: Sequence[Column], path: Path) -> Written:
    """Write what `select` yields to `path`, with the columns' field ids."""
    options = [_FORMAT, f"FIELD_IDS {field_ids(columns)}", "RETURN_STATS"]
    variants = [file_name(column) for column in columns if column.type == VARIANT]
    if variants:
        # Iceberg's vectorised reader fails on many files with shredded variants, and DuckDB shreds unless told not to.
        options.append("SHREDDING {" + ", ".join(f"{ident(name)}: 'VARIANT'" for name in variants) + "}")
    written = _copied(connection, select, path, options)
    if has_negative_zero(connection, columns, written.statistics, path):
        return _copied(connection, select, path, [*options, WITHOUT_DICTIONARIES])
    return written


def _copied(connection: duckdb.DuckDBPyConnection, select: str, path: Path, options: Sequence[str]) -> Written:
    row = connection.execute(f"COPY ({select}) TO {literal(str(path))} ({', '.join(options)})").fetchone()
    if row is None:
        raise RuntimeError("COPY returned no statistics")
    _, rows, size, _, statistics, *_ = row
    return Written(path, rows, size, statistics)
