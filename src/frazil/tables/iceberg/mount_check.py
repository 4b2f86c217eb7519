"""Whether a table's files are where they were: a disk that is not mounted must not be filled beneath its mount point.

Whoever writes a file makes the directories above it, so a table whose storage went away would quietly go on in a second
place, and be broken as soon as the first one is back.
"""

from __future__ import annotations

import os
from typing import Any, Final

from frazil.errors import CatalogUnavailable
from frazil.model import TableName
from frazil.storage.local import local_path
from frazil.tables.iceberg.access import LOCAL
from frazil.tables.iceberg.java import java_errors, java_message

_PROBES: Final = ("0", "1", "2")
"""Names that a location provider which spreads files over directories does not put into the same one."""


def require(name: TableName, java: Any, metadata: str | None, *, has_rows: bool = False) -> None:
    """Refuse to write a table whose files are not there.

    Args:
        name: the table.
        java: Iceberg's.
        metadata: the metadata file of its newest version, if that has one.
        has_rows: whether data files were written already.

    Raises:
        CatalogUnavailable: they are gone, or it cannot be known.
    """
    try:
        missing = _missing(java, metadata, has_rows=has_rows)
    except java_errors() as error:
        raise CatalogUnavailable(f"look for the files of the table {name}", java_message(error)) from error
    if missing:
        raise CatalogUnavailable(f"find the files of the table {name}", f"{missing} does not exist")


def is_there(java: Any, location: str) -> bool:
    """Whether a file or directory of Iceberg's Java table `java` is there."""
    path = local_path(location)
    if path is None or not path.is_absolute():
        return bool(java.io().newInputFile(location).exists())
    # `Path.exists` raises where a disk answers with an error.
    return os.path.exists(path)  # noqa: PTH110


def _missing(java: Any, metadata: str | None, *, has_rows: bool) -> str | None:
    """The file or directory that should be there and is not."""
    if metadata is not None and LOCAL.match(metadata) and not is_there(java, metadata):
        return metadata
    if not has_rows:
        return None
    directories = {str(java.locationProvider().newDataLocation(name)).rpartition("/")[0] for name in _PROBES}
    data = directories.pop()
    # Object stores have no directories; and where every file has one of its own, a new one is no surprise.
    if not directories and LOCAL.match(data) and not is_there(java, data):
        return data
    return None
