"""From executor-local scratch to the table's location, through one class."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a directory."""

    directory: str
    """The location it was looked for in."""

    name: str
    size: int
    """Bytes."""

    modified: float
    """When it was last written, in seconds since the epoch by the clock of its file system."""

    @property
    def location(self) -> str:
        """Where it is."""
        return f"{self.directory}/{self.name}"


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
    """Writes files to where a table keeps its data, and finds them there."""

    def move(self, source: Path, location: str) -> None:
        """Move a finished local file to `location`; nobody sees it there before it is whole.

        Raises:
            StorageRefused: the location has a scheme this storage does not write to.
        """
        target = local_path(location)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        try:
            shutil.move(source, partial)
            partial.replace(target)
        except OSError:
            partial.unlink(missing_ok=True)
            raise

    def holds(self, location: str) -> bool:
        """Whether the file that somebody moved there is to be found from here; where it is no path, it always is."""
        try:
            return local_path(location).is_file()
        except StorageRefused:
            return True

    def delete(self, location: str) -> None:
        """Delete a file this task moved there, if it is there."""
        local_path(location).unlink(missing_ok=True)

    def files(self, directory: str, wanted: Callable[[str], bool]) -> Iterator[FoundFile]:
        """The files right in `directory`, if there is one, whose names are `wanted`; no directories, no links.

        Raises:
            StorageRefused: the directory has a scheme this storage does not write to.
        """
        path = local_path(directory)
        if not path.is_dir():
            return
        with os.scandir(path) as entries:
            for entry in entries:
                if wanted(entry.name) and entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    yield FoundFile(directory, entry.name, found.st_size, found.st_mtime)

    def now(self, directory: str) -> float:
        """What the clock of the directory's file system says, in seconds since the epoch."""
        with tempfile.TemporaryFile(dir=local_path(directory)) as probe:
            return os.fstat(probe.fileno()).st_mtime
