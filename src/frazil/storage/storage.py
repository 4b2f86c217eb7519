"""From executor-local scratch to the table's location, through one class."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa

from frazil.errors import StorageNotSupported, StorageRefused, StorageUnavailable
from frazil.secrets import cleaned
from frazil.storage import local
from frazil.storage.file_systems import place
from frazil.storage.found import FoundFile
from frazil.storage.local import local_path

_NO_SUCH: Final = re.compile(r"NO_SUCH_BUCKET|ContainerNotFound|bucket does not exist|PermanentRedirect|status 301")
"""What stores say of buckets that are not there, or elsewhere."""

_REFUSED: Final = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|INVALID_CLIENT_TOKEN_ID|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT"
    r"|MISSING_AUTHENTICATION_TOKEN|PERMISSION_DENIED|UNAUTHENTICATED|Authentication ?Failed|Authorization\w+"
    r"|AccessControlException|status 40[13]|Could not create credentials"
)
"""What they say of credentials."""

_PASSING: Final = re.compile(r"s3\.session-token|gcs\.oauth2\.token|adls\.sas-token\..*")
"""What opens a store for some time only; the next cycle has another one."""


class Storage:
    """Writes files to where a table keeps its data, and finds them there.

    Every method raises:
        StorageUnavailable: the storage did not answer, or failed.
        StorageRefused: it does not want these credentials, or what it was asked for.
        StorageNotSupported: the location is none that can be written to.
    """

    def __init__(self, access: Mapping[str, str] | None = None, *, synced: bool = True) -> None:
        """Make one.

        Args:
            access: what opens it: properties by the names of Iceberg's FileIO. A local one needs none.
            synced: whether files moved to local disks are there even after a power cut.
        """
        self._access = access or {}
        self._synced = synced

    def move(self, source: Path, location: str) -> None:
        """Move a finished local file to `location`; nobody sees it there before it is whole."""
        with self._errors_of(location):
            target = local_path(location)
            if target is None:
                place(location, self._access).receive(source)
            else:
                local.move(source, target, synced=self._synced)

    def read(self, location: str) -> pa.NativeFile | None:
        """A file, opened to be read at any place; None if there is none."""
        with self._errors_of(location):
            path = local_path(location)
            try:
                return pa.OSFile(str(path)) if path is not None else place(location, self._access).read()
            except FileNotFoundError:
                return None

    def holds(self, location: str) -> bool:
        """Whether the file that somebody moved there is to be found from here; where it is no path, it always is."""
        path = local_path(location)
        return path is None or path.is_file()

    def delete(self, location: str) -> None:
        """Delete a file this task moved there, if it is there."""
        with self._errors_of(location):
            path = local_path(location)
            if path is None:
                place(location, self._access).delete()
            else:
                path.unlink(missing_ok=True)

    def files(self, directory: str, wanted: Callable[[str], bool], *, below: bool = False) -> Iterator[FoundFile]:
        """The files in `directory`, if there is one, whose names are `wanted`; no directories, no links.

        Args:
            directory: where to look.
            wanted: tells by a file's name.
            below: whether to look in the directories within, too.
        """
        with self._errors_of(directory):
            path = local_path(directory)
            if path is None:
                yield from place(directory, self._access).files(directory, wanted, below=below)
            else:
                yield from (local.files_below if below else local.files)(directory, path, wanted)

    def now(self, directory: str) -> float:
        """What the clock of the directory's file system says, in seconds since the epoch."""
        with self._errors_of(directory):
            path = local_path(directory)
            return place(directory, self._access).now() if path is None else local.now(path)

    @contextmanager
    def _errors_of(self, location: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._error(location, str(error)) from None
        except pa.ArrowException as error:
            raise StorageNotSupported(f"{location}: {error}") from None

    def _error(self, location: str, said: str) -> StorageUnavailable | StorageRefused:
        cause = f"{location}: {cleaned(said)}"
        if local_path(location) is None:
            passing = any(_PASSING.fullmatch(key) for key in self._access)
            if _NO_SUCH.search(said) or (_REFUSED.search(said) and not passing):
                return StorageRefused(cause)
        return StorageUnavailable(cause)
