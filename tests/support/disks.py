"""Real disks: one that is small enough to be filled, and what of a file a power cut would take."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_STEP = 64 * 1024

_CACHESTAT = 451
"""The number of Linux's system call `cachestat`, which has no wrapper."""


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Pages(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("cached", "dirty", "written", "evicted", "recently_evicted"))


def unsynced(path: Path) -> bool:
    """Whether a power cut would take any part of what is in a file; skips the test where the system does not say."""
    whole, pages = _Range(0, 0), _Pages()
    opened = os.open(path, os.O_RDONLY)
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if system.syscall(_CACHESTAT, opened, ctypes.byref(whole), ctypes.byref(pages), 0):
            pytest.skip(f"what is not on the disk yet cannot be told here: {errno.errorcode[ctypes.get_errno()]}")
    finally:
        os.close(opened)
    return bool(pages.dirty or pages.written)


def require_told(directory: Path) -> None:
    """Skip the test where a file that was just written counts as synced, as on disks of memory."""
    probe = directory / "probe"
    probe.write_bytes(b"x" * _STEP)
    if not unsynced(probe):
        pytest.skip("what is not on the disk yet cannot be told of this file system")
    probe.unlink()


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
