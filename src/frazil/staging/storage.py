"""From executor-local scratch to the table's location, through one class."""

from __future__ import annotations

import shutil
from pathlib import Path


class StorageRefused(Exception):
    """The location has a scheme this storage does not write to; carries the location."""


def local_path(location: str) -> Path:
    """The local path of a `file:` location or of a plain path.

    Raises:
        StorageRefused: the location has another scheme.
    """
    scheme, colon, rest = location.partition(":")
    if not colon or "/" in scheme:
        return Path(location)
    # As Hadoop's Path reads it: `%20`, `#` and `?` are characters of the name, not an encoding, fragment or query.
    host, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
    if scheme.lower() != "file" or host not in ("", "localhost"):
        raise StorageRefused(location)
    return Path(slash + path)


class Storage:
    """Writes files to where a table keeps its data."""

    def move(self, source: Path, location: str) -> None:
        """Move a finished local file to `location`; nobody sees it there before it is whole.

        Raises:
            StorageRefused: the location has a scheme this storage does not write to.
        """
        target = local_path(location)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        shutil.move(source, partial)
        partial.replace(target)

    def delete(self, location: str) -> None:
        """Delete a file this task moved there, if it is there."""
        local_path(location).unlink(missing_ok=True)
