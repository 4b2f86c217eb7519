"""A real disk that is small enough to be filled, can be made read-only, and can go away."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_STEP = 64 * 1024


class SmallDisk:
    """A file system of a few megabytes, mounted on a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ballast = root / "ballast"

    @classmethod
    @contextmanager
    def mounted(cls, directory: Path, megabytes: int = 8) -> Iterator[SmallDisk]:
        """Mount one; who may not mount skips the test."""
        directory.mkdir()
        done = _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(directory))
        if done.returncode:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        try:
            yield cls(directory)
        finally:
            _run("umount", "--lazy", str(directory))

    def fill(self) -> None:
        """Leave no byte free."""
        with self._ballast.open("ab", buffering=0) as file:
            size = _STEP
            while size:
                try:
                    file.write(b"\0" * size)
                except OSError:
                    size //= 2

    def empty(self) -> None:
        """Give the space back."""
        self._ballast.unlink(missing_ok=True)

    def remount(self, option: str) -> None:
        """Make it read-only (`ro`) or writable (`rw`)."""
        done = _run("mount", "-o", f"remount,{option}", str(self.root))
        assert done.returncode == 0, done.stderr

    def files(self) -> set[str]:
        """The names of all files on it, the ballast left out."""
        return {path.name for path in self.root.rglob("*") if path.is_file()} - {self._ballast.name}


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
