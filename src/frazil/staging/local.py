"""Files of this machine, or of disks it has mounted."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from frazil.staging.found import FoundFile, partial


def local_path(location: str) -> Path | None:
    """The local path of a `file:` location or of a plain path; None for every other location."""
    scheme, colon, rest = location.partition(":")
    if not colon or "/" in scheme:
        return Path(location)
    # As Hadoop's Path reads it: `%20`, `#` and `?` are characters of the name, not an encoding, fragment or query.
    host, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
    return Path(slash + path) if scheme.lower() == "file" and host in ("", "localhost") else None


def move(source: Path, target: Path) -> None:
    """Move a finished file to `target`; nobody sees it there before it is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(partial(target.name))
    try:
        shutil.move(source, beside)
        beside.replace(target)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def files(directory: str, path: Path, wanted: Callable[[str], bool]) -> Iterator[FoundFile]:
    """The files right in `directory`, which is at `path`, whose names are `wanted`; no directories, no links."""
    if not path.is_dir():
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if wanted(entry.name) and entry.is_file(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                yield FoundFile(directory, entry.name, found.st_size, found.st_mtime)


def now(path: Path) -> float:
    """What the clock of the directory's file system says, in seconds since the epoch."""
    with tempfile.TemporaryFile(dir=path) as probe:
        return os.fstat(probe.fileno()).st_mtime
