"""Rejects appended to error tables, each once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import structlog

from frazil.errors import CatalogUnavailable, ErrorTableUnfit, FrazilError, TableMissing, TableReplaced
from frazil.model import PLAIN_LAYOUT, Column, PartitionValue, StagedFile, WriteShape
from frazil.records.rejects import COLUMNS
from frazil.storage.storage import Storage
from frazil.tables import error_files
from frazil.tables.base import OutcomeUnknown, RaceLost, TableCatalog, WritableTable
from frazil.tables.error_files import Told
from frazil.tables.listed_files import DamagedFile, schema_of
from frazil.tables.outbox import OutboxList
from frazil.tables.rules import error_tables

_ATTEMPTS: Final = 50
_LOOK: Final = 60.0
"""Seconds in which manifests have to say what the table has."""

_UUID: Final = 36
"""Characters of a commit's id; more follow where only a part of what a list named is appended."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LaidOutFile:
    """A local Parquet file with rows of one partition, sorted as the table asks."""

    path: Path
    rows: int
    size: int
    """Bytes."""

    metrics: Mapping[str, Any]
    partition: tuple[PartitionValue, ...]
    directory: str
    """Of the partition, below that of all files."""


LayOut: TypeAlias = Callable[[Path, WriteShape, Path], Sequence[LaidOutFile]]
"""Writes the rows of a local file by the layout of a table of that shape, into a scratch directory."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of lists."""

    rows: int
    damaged: Sequence[str]
    """Files that cannot be read; what else the lists named is in the table."""


@dataclass(slots=True)
class _Made:
    """Files that were made for one layout of the error table."""

    layout: tuple[int, int]
    """The ids of its partition spec and its sort order."""

    files: dict[str, list[StagedFile]] = field(default_factory=dict)
    """By commit."""


class ErrorTable:
    """The error table of one table, as one connector uses it."""

    def __init__(self, catalog: TableCatalog, table: WritableTable, connector: str, lay_out: LayOut) -> None:
        """Append what the connector with that key could not make rows of `table` of.

        Args:
            catalog: where both tables are.
            table: the table.
            connector: the connector's key.
            lay_out: writes files where the error table is partitioned or sorted.
        """
        self.table = table
        self._catalog = catalog
        self._connector = connector
        self._lay_out = lay_out
        self._mark = error_tables.mark(connector, table.uuid)
        self._errors: WritableTable | None = None
        """The error table, once something was appended to it."""

    def append(self, lists: Sequence[OutboxList], name: str) -> Appended:
        """Append the rejects of those of the lists that are not there.

        Args:
            lists: those that are not delivered, the oldest first.
            name: the connector's name as its user wrote it.

        Raises:
            ErrorTableUnfit: there is a table of that name, and it is another one.
            TableNotSupported: it is laid out in a way that cannot be written.
            CatalogUnavailable, StorageUnavailable, StorageRefused: they are not appended; or nobody knows.
        """
        damaged: dict[str, None] = {}
        columns = self._columns(lists, damaged)
        if columns is None:
            return Appended(0, [*damaged])
        errors = self._opened(columns)
        made = _Made((-1, -1))
        for _ in range(_ATTEMPTS):
            swap = errors.begin()
            _require_ours(errors, columns)
            due = self._due(errors, lists)
            if not due:
                return Appended(0, [*damaged])
            layout = (swap.base.spec_id, swap.base.sort_order_id)
            if made.layout != layout:
                made = _Made(layout)
            self._make(errors, made, due, name, damaged)
            files = [file for each in due for file in made.files[each.commit]]
            swap.build(files, self._mark, due[-1].commit, {})
            try:
                swap.swap()
            except RaceLost:
                # Files that were made stay where they are: whoever won may have made the same ones under these names.
                continue
            except OutcomeUnknown as error:
                errors.refresh()
                if errors.state().property(self._mark) != due[-1].commit:
                    raise CatalogUnavailable(f"append to {errors.name}", str(error)) from error
            return Appended(sum(file.rows for file in files), [*damaged])
        raise CatalogUnavailable(f"append to {errors.name}", f"{_ATTEMPTS} other commits came first")

    def expire(self, min_age_ms: int) -> None:
        """Expire old snapshots, now and then, of an error table that frazil created."""
        if self._errors is None:
            return
        try:
            self._errors.expire(min_age_ms)
        except FrazilError as error:
            # The append happened, whatever becomes of old snapshots.
            _log.warning("old snapshots were not expired this time", table=str(self._errors.name), cause=error.message)

    def _opened(self, columns: Sequence[Column]) -> WritableTable:
        """The error table, which stays the same while it is there: it knows when its snapshots were expired last."""
        if self._errors is not None:
            try:
                self._errors.refresh()
            except (TableMissing, TableReplaced):
                self._errors = None
        if self._errors is None:
            self._errors = self._catalog.errors(error_tables.name_of(self.table.name), columns, self.table.uuid)
        return self._errors

    def _due(self, errors: WritableTable, lists: Sequence[OutboxList]) -> list[OutboxList]:
        newest = errors.state().property(self._mark)
        due = error_tables.missing(lists, newest)
        if newest is None or len(due) < len(lists):
            return due
        # Tokens went back to a time before: what the table has does not show in the list of those it lacks.
        names = {_file_name(each): each for each in due}
        there = errors.referred_to(names, time.monotonic() + _LOOK)
        return [each for name, each in names.items() if name not in there]

    def _columns(self, lists: Sequence[OutboxList], damaged: dict[str, None]) -> tuple[Column, ...] | None:
        """What the rejects ask of an error table; None if none of them can be had."""
        for path in (path for listed in lists for path in listed.files):
            try:
                schema = schema_of(self.table, path, COLUMNS)
                if schema is not None:
                    return error_tables.columns(*error_files.types_of(schema))
            except (DamagedFile, KeyError):
                damaged[path] = None
        return None

    def _make(
        self, errors: WritableTable, made: _Made, due: Sequence[OutboxList], name: str, damaged: dict[str, None]
    ) -> None:
        """Make the files of lists that have none yet."""
        shape = errors.shape()
        for each in due:
            if each.commit not in made.files:
                made.files[each.commit] = [*self._files(errors, shape, each, name, damaged)]

    def _files(
        self, errors: WritableTable, shape: WriteShape, listed: OutboxList, name: str, damaged: dict[str, None]
    ) -> Iterator[StagedFile]:
        """The rejects of a list as data files of the table; none if none of them can be had."""
        with tempfile.TemporaryDirectory(prefix="frazil-rejects-") as directory:
            scratch = Path(directory)
            at = listed.at or time.time_ns() // 1_000_000
            rows = self._written(listed, Told(name, listed.commit[:_UUID], at), scratch / "rejects.parquet", damaged)
            if not rows:
                return
            found: Sequence[LaidOutFile] = [_plain(scratch / "rejects.parquet", rows)]
            if shape.layout != PLAIN_LAYOUT:
                found = self._lay_out(scratch / "rejects.parquet", shape, scratch)
            for number, file in enumerate(found):
                path = _location(errors, _file_name(listed, number), file.directory)
                Storage(errors.access(path)).move(file.path, path)
                yield StagedFile(path, file.rows, file.size, file.metrics, file.partition)

    def _written(self, listed: OutboxList, told: Told, local: Path, damaged: dict[str, None]) -> int:
        """Write what can be read of a list to a local file; how many rejects that is."""
        while True:
            try:
                return error_files.write(
                    self.table, [path for path in listed.files if path not in damaged], told, local
                )
            except DamagedFile as error:
                damaged[error.path] = None


def _plain(path: Path, rows: int) -> LaidOutFile:
    return LaidOutFile(path, rows, path.stat().st_size, {}, (), "")


def _location(errors: WritableTable, name: str, directory: str) -> str:
    path, place = errors.new_data_path(name), errors.partition_place(name)
    return path if place is None else f"{path[:place]}{directory}/{path[place:]}"


def _file_name(listed: OutboxList, number: int = 0) -> str:
    """The name of a data file; by the first of a list's it shows whether a table has them."""
    return f"rejects-{listed.commit}{f'-{number}' if number else ''}.parquet"


def _require_ours(errors: WritableTable, columns: Sequence[Column]) -> None:
    if reason := error_tables.unfit(errors.state(), columns):
        raise ErrorTableUnfit(str(errors.name), reason)
