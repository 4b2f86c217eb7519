"""Files of object stores for DuckDB, through Arrow's file systems, which read ranges of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from fsspec.spec import AbstractFileSystem

from frazil.storage.remote import RemoteLocation

PROTOCOL: Final = "frazil"


class PlannedFiles(AbstractFileSystem):  # type: ignore[misc]
    """Reads the planned files, whatever store they are in; there is nothing else in it."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, places: Mapping[str, RemoteLocation]) -> None:
        super().__init__()
        self._places = places

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def glob(self, path: str, **_: Any) -> list[str]:
        """The file itself: a name is no pattern."""
        return [path] if path in self._places else []

    def exists(self, path: str, **_: Any) -> bool:
        """Whether it is one of them."""
        return path in self._places

    def isfile(self, path: str) -> bool:
        """Whether it is one of them."""
        return path in self._places

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Its name and its size."""
        found = self._place(path)
        info = found.system.get_file_info(found.path)
        if info.size is None:
            raise FileNotFoundError(path)
        return {"name": path, "size": info.size, "type": "file"}

    def modified(self, _path: str) -> datetime:
        """A time that is always the same, as the file is."""
        return datetime.fromtimestamp(0, UTC)

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        if mode != "rb":
            raise PermissionError(path)
        found = self._place(path)
        return _File(found.system.open_input_file(found.path))

    def _place(self, path: str) -> RemoteLocation:
        if path not in self._places:
            raise FileNotFoundError(path)
        return self._places[path]


class _File:
    """An open file with a place in it for each thread.

    DuckDB's threads share the file, and each seeks before it reads: between the two, Python may let another one seek.
    """

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file
        self._size = file.size()
        self._mine = threading.local()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self._size}[whence]
        self._mine.place = start + offset
        return self.tell()

    def tell(self) -> int:
        place: int = getattr(self._mine, "place", 0)
        return place

    def read(self, size: int = -1) -> bytes:
        place = self.tell()
        content: bytes = self._file.read_at(self._size - place if size < 0 else size, place)
        self._mine.place = place + len(content)
        return content

    def close(self) -> None:
        self._file.close()
