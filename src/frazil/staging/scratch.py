"""A private directory for every worker, and the end of those that dead workers have left.

Spark ends its workers without ceremony. Whether one is gone does not show in its process id: containers on one machine
may share a directory for temporary files and not see each other's processes. So each worker holds a lock on its
directory, which the system takes from it when it ends, however it ends.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"frazil-[1-9][0-9]{0,8}-")
"""How our directories begin; the directory around them is everybody's, and may hold any name."""

_held: list[int] = []
"""The open directories this process holds locks on."""


def private_directory() -> Path:
    """A new directory of this process, removed with it."""
    root = Path(tempfile.gettempdir())
    sweep(root)
    # Under a name nobody sweeps until it is locked.
    hidden = Path(tempfile.mkdtemp(prefix=f".frazil-{os.getpid()}-", dir=root))
    held = _lock(hidden)
    if held is not None:
        _held.append(held)
    directory = hidden.rename(root / hidden.name.removeprefix("."))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def sweep(root: Path) -> None:
    """Remove the directories below `root` whose workers are gone."""
    for left in root.glob("frazil-*"):
        if not _NAME.match(left.name):
            continue
        held = _lock(left)
        if held is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(held)


def _lock(directory: Path) -> int | None:
    """Hold the lock on a directory; None where somebody else does, or where the file system has no locks."""
    try:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
