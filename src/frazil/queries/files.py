"""Files of a statement as DuckDB knows them: local ones by their paths, all others through Arrow's file systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import duckdb
import pyarrow as pa
from pyarrow import fs

from frazil.errors import InvalidQuery, StorageUnavailable
from frazil.storage.file_systems import place
from frazil.storage.local import local_path
from frazil.storage.remote import RemoteLocation

_PATTERN: Final = re.compile(r"[*?\[\]]")
"""What DuckDB would take for a pattern."""

Access = Callable[[str], Mapping[str, str]]
"""What opens a location, in properties of Iceberg's FileIO."""


class Files:
    """The files of one statement, and what each of them is called in its SQL."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Those that `connection` is to read."""
        self._connection = connection
        self._names: dict[str, str] = {}
        self._places: dict[str, RemoteLocation] = {}

    def name(self, location: str, access: Access) -> str:
        """What a file is called; from now on it is one of those that may be read.

        Raises:
            StorageNotSupported: its location is none that can be read from here.
            StorageUnavailable: what has to answer first does not.
        """
        if location not in self._names:
            path = local_path(location)
            if path is None or _PATTERN.search(str(path)):
                found = _local(str(path)) if path else place(location, access(location))
                name = f"{self._protocol()}://{len(self._names)}.parquet"
                self._places[name] = found
            else:
                name = str(path)
            self._names[location] = name
        return self._names[location]

    @property
    def names(self) -> Iterable[str]:
        """The names of all of them."""
        return self._names.values()

    def read(self, location: str, access: Access, offset: int, length: int) -> bytes:
        """A piece of a file.

        Raises:
            StorageUnavailable: it cannot be read.
        """
        path = local_path(location)
        try:
            found = place(location, access(location)) if path is None else _local(str(path))
            with found.system.open_input_file(found.path) as file:
                return bytes(file.read_at(length, offset))
        except FileNotFoundError as error:
            raise gone(location) from error
        except (OSError, pa.ArrowException) as error:
            raise StorageUnavailable(f"{location}: {error}") from error

    def _protocol(self) -> str:
        from frazil.queries.stores import PROTOCOL, PlannedFiles  # who has local files only does without

        if not self._places:
            self._connection.register_filesystem(PlannedFiles(self._places))
        return PROTOCOL


def gone(location: str) -> InvalidQuery:
    """A file that was planned and is not there."""
    return InvalidQuery(
        f"the file {location} is not there: maintenance has removed what this snapshot had, or the table is damaged. "
        "Run the query again, for the current snapshot"
    )


def _local(path: str) -> RemoteLocation:
    return RemoteLocation(fs.LocalFileSystem(), path, has_directories=True)
