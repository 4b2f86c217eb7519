"""Rejects appended to error tables, each once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import structlog

from frazil.errors import CatalogUnavailable, ErrorTableUnfit
from frazil.model import Column, StagedFile
from frazil.storage.storage import Storage
from frazil.tables import error_files
from frazil.tables.base import OutcomeUnknown, RaceLost, TableCatalog, WritableTable
from frazil.tables.error_files import Told
from frazil.tables.outbox import OutboxList
from frazil.tables.rules import error_tables

_ATTEMPTS: Final = 50
_LOOK: Final = 60.0
"""Seconds in which manifests have to say what the table has."""

_log = structlog.get_logger(__name__)


class ErrorTable:
    """The error table of one table, as one connector uses it."""

    def __init__(self, catalog: TableCatalog, table: WritableTable, connector: str) -> None:
        """Append what the connector with that key could not make rows of `table` of."""
        self._catalog = catalog
        self._table = table
        self._connector = connector
        self._mark = error_tables.mark(connector, table.uuid)

    def append(self, lists: Sequence[OutboxList], name: str) -> int:
        """Append the rejects of those of the lists that are not there; how many they are.

        Args:
            lists: those that are not delivered, newest first.
            name: the connector's name as its user wrote it.

        Raises:
            ErrorTableUnfit: there is a table of that name, and it is another one.
            CatalogUnavailable, StorageUnavailable, StorageRefused: they are not appended; or nobody knows.
        """
        columns = self._columns(lists)
        if columns is None:
            return 0
        errors = self._catalog.errors(error_tables.name_of(self._table.name), columns, self._table.uuid)
        made: dict[str, StagedFile | None] = {}
        for _ in range(_ATTEMPTS):
            swap = errors.begin()
            _require_ours(errors, columns)
            due = self._due(errors, lists)
            if not due:
                return 0
            for each in due:
                if each.commit not in made:
                    made[each.commit] = self._file(errors, each, name)
            files = [file for each in due if (file := made[each.commit])]
            swap.build(files, self._mark, due[-1].commit, {})
            try:
                swap.swap()
            except RaceLost:
                continue
            except OutcomeUnknown as error:
                errors.refresh()
                if errors.state().property(self._mark) != due[-1].commit:
                    raise CatalogUnavailable(f"append to {errors.name}", str(error)) from error
            return sum(file.rows for file in files)
        raise CatalogUnavailable(f"append to {errors.name}", f"{_ATTEMPTS} other commits came first")

    def _due(self, errors: WritableTable, lists: Sequence[OutboxList]) -> list[OutboxList]:
        newest = errors.state().property(self._mark)
        due = error_tables.missing(lists, newest)
        if newest is None or len(due) < len(lists):
            return due
        # Tokens went back to a time before: what the table has does not show in the list of those it lacks.
        names = {_file_name(each): each for each in due}
        there = errors.referred_to(names, time.monotonic() + _LOOK)
        return [each for name, each in names.items() if name not in there]

    def _columns(self, lists: Sequence[OutboxList]) -> tuple[Column, ...] | None:
        """What the rejects ask of an error table; None if none of them is left."""
        for path in (path for listed in lists for path in listed.files):
            if (found := self._open(path)) is not None:
                with found:
                    return error_tables.columns(*error_files.types_of(pq.read_schema(found)))
        return None

    def _file(self, errors: WritableTable, listed: OutboxList, name: str) -> StagedFile | None:
        """The rejects of a list as a data file of the table; None if none of them is left."""
        path = errors.new_data_path(_file_name(listed))
        with tempfile.TemporaryDirectory(prefix="frazil-rejects-") as scratch, ExitStack() as files:
            local = Path(scratch, "rejects.parquet")
            found = [files.enter_context(file) for each in listed.files if (file := self._open(each)) is not None]
            if len(found) < len(listed.files):
                _log.warning("files of rejected records are gone: they are not appended", list=listed.path)
            rows = error_files.write(found, Told(name, listed.commit, listed.at), local)
            if not rows:
                return None
            size = local.stat().st_size
            Storage(errors.access(path)).move(local, path)
        return StagedFile(path, rows, size)

    def _open(self, path: str) -> pa.NativeFile | None:
        return Storage(self._table.access(path)).read(path)


def _file_name(listed: OutboxList) -> str:
    return f"rejects-{listed.commit}.parquet"


def _require_ours(errors: WritableTable, columns: Sequence[Column]) -> None:
    if reason := error_tables.unfit(errors.state(), columns):
        raise ErrorTableUnfit(str(errors.name), reason)
