"""Project a chunk and write it as one Parquet file, in one COPY."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import duckdb

from frazil.layout.partitions import UNPARTITIONED, Partition
from frazil.model import Column
from frazil.pipes.types import VARIANT, field_ids, file_name
from frazil.sql import ident, literal
from frazil.staging.metrics import Statistics, leaves, quoted
from frazil.staging.rewriting import needs_rewriting, rewrite

_FORMAT: Final = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, WRITE_BLOOM_FILTER false"
"""DuckDB gives Bloom filters to columns that have a dictionary, which answers the same question without error."""

_WITHOUT_DICTIONARIES: Final = "DICTIONARY_SIZE_LIMIT 0"


@dataclass(frozen=True, slots=True)
class Written:
    """A Parquet file in the scratch directory."""

    path: Path
    rows: int
    size: int
    """Bytes."""

    statistics: Statistics
    partition: Partition = UNPARTITIONED


def copy(connection: duckdb.DuckDBPyConnection, select: str, columns: Sequence[Column], path: Path) -> Written:
    """Write what `select` yields to `path`, with the columns' field ids."""
    options = [_FORMAT, f"FIELD_IDS {field_ids(columns)}", "RETURN_STATS"]
    variants = [file_name(column) for column in columns if column.type == VARIANT]
    if variants:
        # Iceberg's vectorised reader fails on many files with shredded variants, and DuckDB shreds unless asked not to.
        options.append("SHREDDING {" + ", ".join(f"{ident(name)}: 'VARIANT'" for name in variants) + "}")
    written = _copied(connection, select, path, options)
    if _has_negative_zero(connection, columns, written.statistics, path):
        # To SQL −0.0 and 0.0 are one value. Iceberg compares bits, also with the dictionaries of a file's columns, and
        # passes over a row group whose dictionary has only the other zero.
        return _finished(
            _copied(connection, select, path, [*options, _WITHOUT_DICTIONARIES]), columns, dictionaries=False
        )
    return _finished(written, columns, dictionaries=True)


def _finished(written: Written, columns: Sequence[Column], *, dictionaries: bool) -> Written:
    """A file with what DuckDB does not write."""
    if not needs_rewriting(columns):
        return written
    return replace(written, size=rewrite(written.path, columns, dictionaries=dictionaries))


def _copied(connection: duckdb.DuckDBPyConnection, select: str, path: Path, options: Sequence[str]) -> Written:
    row = connection.execute(f"COPY ({select}) TO {literal(str(path))} ({', '.join(options)})").fetchone()
    if row is None:
        raise RuntimeError("COPY returned no statistics")
    _, rows, size, _, statistics, *_ = row
    return Written(path, rows, size, statistics)


def _has_negative_zero(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], statistics: Statistics, path: Path
) -> bool:
    """Whether a file holds a negative zero where readers look values up: in columns and fields of structs."""
    suspects = [
        ".".join(ident(step) for step in path)
        for _, kind, path, in_list in leaves(columns)
        if not in_list and str(kind) in ("float", "double") and _may_hold_zero(statistics.get(quoted(path), {}))
    ]
    if not suspects:
        return False
    found = " OR ".join(f"({leaf} = 0 AND signbit({leaf}))" for leaf in suspects)
    return bool(
        connection.execute(f"SELECT 1 FROM read_parquet({literal(str(path))}) WHERE {found} LIMIT 1").fetchone()
    )


def _may_hold_zero(found: Mapping[str, str]) -> bool:
    return "min" in found and "max" in found and float(found["min"]) <= 0 <= float(found["max"])
