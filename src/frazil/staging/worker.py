"""What a Python worker keeps between tasks: a locked-down DuckDB connection, and a scratch directory."""

from __future__ import annotations

import atexit
import gc
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from frazil.sql import literal
from frazil.staging.scratch import private_directory

_MEMORY: Final = "720MB"
"""What DuckDB may take, which leaves the rest of 1 GB to Python, Arrow and librdkafka.

Chunks of usual records take a third of it; those that take more are written in pieces."""
_SPILLED: Final = "4GB"
"""What a statement that needs more memory may write to the scratch directory."""

_useless: set[str] = set()
"""Archives that were once on `sys.path` and from which nothing is imported; Spark puts some back before every task."""

_looked_at: set[str] = set()
"""Entries of `sys.path` that were looked at."""

_MANY: Final = 50_000
"""Objects more than at the last collection from which on it is looked which of them are garbage."""

_frozen = False
"""Whether the garbage collector passes over what imports have made."""

_scratch: Path | None = None
_connection: duckdb.DuckDBPyConnection | None = None


def drop_archive_importers() -> None:
    """Stop Python from re-reading archives before every task: with Iceberg's jar among them, half a second each time.

    Spark calls `importlib.invalidate_caches()` per task, which re-reads every zip Python has looked into. Dropped are
    pyspark's own zips once their packages are loaded (what is in a loaded package is found through the package), and
    archives that hold no Python, such as the jars of `spark.jars.packages`. What a user shipped with `--py-files`
    stays.
    """
    useless = [path for path in sys.path if _is_useless(path)]
    if useless:
        sys.path[:] = [path for path in sys.path if path not in useless]
    for path in list(sys.path_importer_cache):
        if any(path == archive or path.startswith(archive + "/") for archive in _useless):
            del sys.path_importer_cache[path]


def _is_useless(path: str) -> bool:
    """Whether nothing will be imported from `path` any more."""
    if path in _useless:
        return True
    if path in _looked_at:
        return False
    _looked_at.add(path)
    if not path.endswith((".zip", ".jar")) or not Path(path).is_file():
        return False
    if _is_loaded(Path(path).name) or not _holds_python(path):
        _useless.add(path)
    return path in _useless


def _is_loaded(archive: str) -> bool:
    """Whether it is one of pyspark's own archives, and imported; the worker that runs us has imported both."""
    package = "pyspark" if archive == "pyspark.zip" else "py4j" if archive.startswith("py4j-") else None
    return package in sys.modules


def _holds_python(archive: str) -> bool:
    with zipfile.ZipFile(archive) as opened:
        return any(name.endswith((".py", ".pyc")) for name in opened.namelist())


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep Python's garbage collector from looking through the messages of a task while they are read.

    A user's own functions may run in the same worker afterwards, so it is off for this time only.
    """
    global _frozen
    if not _frozen:
        gc.collect()
        gc.freeze()
        # Else libraries complain, when the process ends, of what was never freed.
        atexit.register(gc.unfreeze)
        _frozen = True
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def collect() -> None:
    """Do what the collector would have done in the meantime, if that may be worth it: objects refer to each other."""
    if not gc.isenabled() and gc.get_count()[0] > _MANY:
        gc.collect()


def scratch() -> Path:
    """A private directory of this worker; another one where somebody has tidied it away, as cleaners of `/tmp` do."""
    global _scratch, _connection
    if _scratch is None or not _scratch.is_dir():
        # A connection's directory is locked like its other settings.
        _scratch, _connection = private_directory(), None
    return _scratch


def connection() -> duckdb.DuckDBPyConnection:
    """A connection that cannot reach anything but the scratch directory (design section 5)."""
    global _connection
    directory = scratch()
    if _connection is None:
        _connection = locked_down(directory)
    return _connection


def drop_connection() -> None:
    """Close the connection: something failed in a way nobody expected, and the next task gets a new one.

    After an internal or a fatal error, DuckDB answers every statement with that same error for ever.
    """
    global _connection
    failed, _connection = _connection, None
    if failed is not None:
        failed.close()


def locked_down(directory: Path) -> duckdb.DuckDBPyConnection:
    """A new in-memory connection that reads and writes within `directory` only and whose settings are locked.

    Without external access no extension is loaded, whatever its origin, and DuckDB keeps no secret: the directory of
    the account's secrets is outside.
    """
    opened = duckdb.connect(":memory:")
    for setting in (
        "threads = 1",
        f"memory_limit = '{_MEMORY}'",
        f"temp_directory = {literal(str(directory))}",
        f"max_temp_directory_size = '{_SPILLED}'",
        "TimeZone = 'UTC'",
        # DuckDB takes it from the environment, with its password, and `current_setting` tells whoever asks.
        "http_proxy = ''",
        f"allowed_directories = [{literal(str(directory))}]",
        "enable_external_access = false",
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "lock_configuration = true",
    ):
        opened.execute(f"SET {setting}")
    return opened
