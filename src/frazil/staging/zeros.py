"""Negative zeros in a file: readers that look values up in dictionaries do not find the one zero for the other.

To SQL −0.0 and 0.0 are one value. Iceberg compares bits, also with the dictionaries of a file's columns, and passes
over a row group whose dictionary has only the other zero. So a file with a negative zero gets no dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from frazil.model import Column
from frazil.sql import ident, literal
from frazil.staging.metrics import Statistics, leaves, quoted

WITHOUT_DICTIONARIES = "DICTIONARY_SIZE_LIMIT 0"
"""The option of COPY."""


def has_negative_zero(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], statistics: Statistics, path: Path
) -> bool:
    """Whether a file holds a negative zero where readers look values up: in columns and fields of structs.

    Args:
        connection: one that may read it.
        columns: the file's.
        statistics: RETURN_STATS' of the file.
        path: the file.
    """
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
