"""A DuckDB for one statement, which reaches that statement's files and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import duckdb
import psutil

from frazil.queries.files import Files
from frazil.sql import literal, literals

_SHARE: Final = 0.5
"""Of the machine's memory, for DuckDB; what does not fit goes to its private directory."""


def opened(scratch: Path) -> duckdb.DuckDBPyConnection:
    """A new connection that spills to `scratch`; `lock` has to follow before it sees any text from outside."""
    connection = duckdb.connect(":memory:")
    for setting in (
        f"threads = {len(os.sched_getaffinity(0))}",
        f"memory_limit = '{int(psutil.virtual_memory().total * _SHARE) // 2**20} MiB'",
        f"temp_directory = {literal(str(scratch))}",
        "TimeZone = 'UTC'",
        # DuckDB takes it from the environment, with its password, and `current_setting` tells whoever asks.
        "http_proxy = ''",
        "parquet_metadata_cache = true",
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
    ):
        connection.execute(f"SET {setting}")
    return connection


def lock(connection: duckdb.DuckDBPyConnection, files: Files) -> None:
    """From now on a connection reads `files` and nothing else, and no setting can be changed."""
    for setting in (
        f"allowed_paths = {literals(files.names)}",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
