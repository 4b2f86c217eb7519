"""Files of this machine, or of disks it has mounted."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from frazil.storage.found import FoundFile, partial


def local_path(location: str) -> Path | None:
    """The local path of a `file:` location or of a plain path; None for every other location."""
    scheme, colon, rest = location.partition(":")
    if not colon or "/" in scheme:
        return Path(location)
    # As Hadoop's Path reads it: `%20`, `#` and `?` are characters of the name, not an encoding, fragment or query.
    host, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
    return Path(slash + path) if scheme.lower() == "file" and host in ("", "localhost") else None


def move(source: Path, target: Path, *, synced: bool = True) -> None:
    """Move a finished file to `target`; nobody sees it there before it is whole.

    If it is `synced`, a power cut after this call takes neither the file nor any part of it.
    """
    new = [each for each in (target.parent, *target.parent.parents) if not each.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(partial(target.name))
    try:
        shutil.move(source, beside)
        if synced:
            sync(beside)
        beside.replace(target)
        if synced:
            for directory in (target.parent, *(each.parent for each in new)):
                sync(directory)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Have what is in a file, or which entries a directory has, on the disk before this call returns."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        # Some file systems have nothing to sync in a directory, and say so.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(opened)


def files(directory: str, path: Path, wanted: Callable[[str], bool]) -> Iterator[FoundFile]:
    """The files right in `directory`, which is at `path`, whose names are `wanted`; no directories, no links."""
    if not path.is_dir():
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if wanted(entry.name) and entry.is_file(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                yield FoundFile(directory, entry.name, found.st_size, found.st_mtime)


def files_below(directory: str, path: Path, wanted: Callable[[str], bool]) -> Iterator[FoundFile]:
    """The same, and those of the directories within, but for what links lead to."""
    for found, _, _ in os.walk(path, onerror=_raise):
        below = Path(found).relative_to(path).as_posix()
        yield from files(directory if below == "." else f"{directory}/{below}", Path(found), wanted)


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def now(path: Path) -> float:
    """What the clock of the directory's file system says, in seconds since the epoch."""
    with tempfile.TemporaryFile(dir=path) as probe:
        return os.fstat(probe.fileno()).st_mtime
