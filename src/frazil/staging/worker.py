"""What a Python worker keeps between tasks: consumers, a locked-down DuckDB connection, a scratch directory."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import sys
import tempfile
import zipimport
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import orjson
from confluent_kafka import Consumer

from frazil.sources.kafka.reader import consumer_config
from frazil.sql import literal

_MEMORY: Final = "1GB"

_consumers: dict[str, Consumer] = {}
_scratch: Path | None = None
_connection: duckdb.DuckDBPyConnection | None = None


def drop_archive_importers() -> None:
    """Stop Python from re-reading Spark's archives before every task (40 to 200 ms each).

    Spark calls `importlib.invalidate_caches()` per task, which re-reads every zip on `sys.path`. Only pyspark's own zip
    and Spark's jars are dropped; what a user shipped with `--py-files` stays.
    """
    kept = [path for path in sys.path if not _is_spark_archive(path)]
    if len(kept) != len(sys.path):
        sys.path[:] = kept
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimport.zipimporter) and _is_spark_archive(path):
            del sys.path_importer_cache[path]


def scratch() -> Path:
    """A private directory of this worker, removed with it."""
    global _scratch
    if _scratch is None:
        _scratch = Path(tempfile.mkdtemp(prefix="frazil-"))
        atexit.register(shutil.rmtree, _scratch, ignore_errors=True)
    return _scratch


def connection() -> duckdb.DuckDBPyConnection:
    """A connection that cannot reach anything but the scratch directory (design section 5)."""
    global _connection
    if _connection is None:
        _connection = locked_down(scratch())
    return _connection


def locked_down(directory: Path) -> duckdb.DuckDBPyConnection:
    """A new in-memory connection that reads and writes within `directory` only and whose settings are locked."""
    opened = duckdb.connect(":memory:")
    for setting in (
        "threads = 1",
        f"memory_limit = '{_MEMORY}'",
        f"temp_directory = {literal(str(directory))}",
        "TimeZone = 'UTC'",
        f"allowed_directories = [{literal(str(directory))}]",
        "enable_external_access = false",
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "lock_configuration = true",
    ):
        opened.execute(f"SET {setting}")
    return opened


def consumer(client: Mapping[str, Any]) -> Consumer:
    """A consumer for this configuration, kept for the next task that has the same."""
    key = _fingerprint(client)
    if key not in _consumers:
        _consumers[key] = Consumer(consumer_config(client))
    return _consumers[key]


def evict(client: Mapping[str, Any]) -> None:
    """Close the consumer of this configuration: it failed, and the next task gets a new one."""
    failed = _consumers.pop(_fingerprint(client), None)
    if failed is not None:
        failed.close()


def _fingerprint(client: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(dict(client), option=orjson.OPT_SORT_KEYS)).hexdigest()


def _is_spark_archive(path: str) -> bool:
    name = Path(path).name
    return (
        name == "pyspark.zip"
        or (name.startswith("py4j-") and name.endswith(".zip"))
        or (name.startswith("spark-") and name.endswith(".jar"))
    )
