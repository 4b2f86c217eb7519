"""Files of object stores and HDFS, through Arrow's file systems."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType

from frazil.storage.found import FoundFile, partial

_PIECE: Final = 8 * 1024 * 1024
"""Bytes read and sent at once."""


@dataclass(frozen=True, slots=True)
class RemoteLocation:
    """A location, as a file system of Arrow's knows it."""

    system: FileSystem
    path: str
    has_directories: bool
    """Whether a file is in its directory before it is whole. In an object store it appears when its upload ends."""

    def receive(self, source: Path) -> None:
        """Move a finished local file here; nobody sees it before it is whole."""
        target = self.path
        try:
            if self.has_directories:
                directory, _, name = self.path.rpartition("/")
                target = f"{directory}/{partial(name)}"
                self.system.create_dir(directory)
            with source.open("rb") as file, self.system.open_output_stream(target, compression=None) as stream:
                shutil.copyfileobj(file, stream, _PIECE)
            if self.has_directories:
                self.system.move(target, self.path)
            self._require_whole(source.stat().st_size)
        except BaseException:
            # Leaving the block above has ended the upload, of whatever was read by then.
            for each in {target, self.path}:
                with suppress(OSError, pa.ArrowException):
                    self.system.delete_file(each)
            raise
        source.unlink()

    def _require_whole(self, size: int) -> None:
        """Raise unless the file is there with all its bytes: a commit that names one that is not breaks its table."""
        found = self.system.get_file_info(self.path)
        if found.type is not FileType.File:
            raise OSError("the storage said that the file was written, and does not have it")
        if found.size != size:
            raise OSError(f"the storage said that the file was written, and has {found.size} of its {size} bytes")

    def read(self) -> pa.NativeFile:
        """The file, opened to be read at any place."""
        return self.system.open_input_file(self.path)

    def delete(self) -> None:
        """Delete the file, if it is there."""
        with suppress(FileNotFoundError):
            self.system.delete_file(self.path)

    def files(self, directory: str, wanted: Callable[[str], bool], *, below: bool) -> Iterator[FoundFile]:
        """The files in this place, which is the location `directory`, whose names are `wanted`.

        Args:
            directory: the location.
            wanted: tells by a file's name.
            below: whether to look in the directories within, too.
        """
        root = self.path.rstrip("/")
        for found in self.system.get_file_info(FileSelector(self.path, allow_not_found=True, recursive=below)):
            if found.type is FileType.File and wanted(found.base_name):
                within = found.path.removeprefix(root).rpartition("/")[0]
                yield FoundFile(f"{directory}{within}", found.base_name, found.size, found.mtime_ns / 1e9)

    def now(self) -> float:
        """What the clock of the store says, in seconds since the epoch."""
        probe = f"{self.path}/.frazil-clock-{uuid.uuid4()}"
        try:
            with self.system.open_output_stream(probe, compression=None):
                pass
            return float(self.system.get_file_info(probe).mtime_ns) / 1e9
        finally:
            self.system.delete_file(probe)
