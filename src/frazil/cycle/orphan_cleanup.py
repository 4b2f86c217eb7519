"""Remove our own orphans: files of stages that were never committed, once they are old; never anything else.

Looked for when a table is opened and every hour from then on, in a thread of its own, so that cycles wait for nothing.
A file goes if

1. its name says that this connector staged it,
2. it lies in the one directory where the table's data files go, or in one of a partition there, or where its rejects
   are kept,
3. its stage was never committed, or was without it, and that is certain (`frazil.tables.rules.orphans`),
4. it has reached `frazil.orphans.min.age` by the clock of its file system,
5. no snapshot of the table refers to it, and no reject list that the tokens lead to names it,
6. and the table's files belong to the table alone (`gc.enabled`).

Whatever fails, files stay, and a later look finds them.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final, TypeAlias

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.output_cleanup import sweep_output
from frazil.errors import FrazilError
from frazil.model import TableName
from frazil.storage.found import FoundFile
from frazil.storage.local import local_path
from frazil.storage.storage import Storage
from frazil.tables import outbox
from frazil.tables.base import TableCatalog, WritableTable
from frazil.tables.rules import orphans
from frazil.tables.rules.orphans import Note
from frazil.tables.rules.stages import Stage, connector_in_names, stage_of_data, stage_of_rejects, whole
from frazil.tables.rules.tokens import read

_MOST: Final = 10_000
"""Files removed at one opening of a table."""

_LONGEST: Final = 120.0
"""Seconds that looking through one table may take."""

_LISTS: Final = 30.0
"""Seconds of these that reject lists are read for, the newest first: that a stage was never committed is certain
without them, and a connector that rejects much makes more lists in a day than can be read."""

_EVERY: Final = 3600.0
"""Seconds between two looks through a table that stays open."""

_Staged: TypeAlias = tuple[FoundFile, Stage]
"""A file, and the stage of ours that wrote it."""

_log = structlog.get_logger(__name__)


class OrphanCleanup:
    """Looks through one connector's tables, one after the other, in the background."""

    def __init__(self, settings: ConnectorSettings, catalog: TableCatalog) -> None:
        self._settings = settings
        self._catalog = catalog
        self._lock = threading.Lock()
        self._due: deque[tuple[TableName, str, str | None]] = deque()
        self._thread: threading.Thread | None = None
        self._looked = time.monotonic()

    def opened(self, table: WritableTable, replaced: str | None) -> None:
        """Look through a table that was just opened.

        Args:
            table: the table.
            replaced: the connector's last commit, which the opening replaced; None where that is not certain.
        """
        self._look_through([(table, replaced)])

    def look(self, tables: Iterable[WritableTable]) -> None:
        """Look through open tables, if that is due."""
        if time.monotonic() - self._looked >= _EVERY:
            self._looked = time.monotonic()
            self._look_through([(table, None) for table in tables])

    def _look_through(self, tables: Iterable[tuple[WritableTable, str | None]]) -> None:
        reached = [(table.name, table.uuid, replaced) for table, replaced in tables if self._reaches(table)]
        if not reached:
            return
        with self._lock:
            self._due.extend(reached)
            if self._thread is None:
                name = f"frazil-{self._settings.key}-sweeper"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()

    def abandon(self, table: WritableTable, stages: Collection[str]) -> None:
        """Take note of stages that were given up, and that now never can be committed."""
        self._note(table, Note(abandoned=frozenset(stages)))

    def lost_attempts(self, table: WritableTable, stage: str, named: Collection[str]) -> None:
        """Take note of a stage whose tasks Spark ran more than once: what of it was not `named` by its commit is lost.

        Args:
            table: what was committed to.
            stage: the commit's id.
            named: the names of all files that the commit named.
        """
        self._note(table, Note(committed={stage: frozenset(named)}))

    def _note(self, table: WritableTable, found: Note) -> None:
        if not found.abandoned and not found.committed:
            return
        if not self._reaches(table):
            return
        try:
            orphans.note(table, self._settings.key, found)
        except FrazilError as error:
            _log.warning("what was staged for nothing is not noted, and will stay", cause=error.message)

    def _reaches(self, table: WritableTable) -> bool:
        """Whether orphans of the table are removed at all: they are where every process means the same by a path."""
        if self._settings.orphans_min_age_ms is None:
            return False
        path = local_path(table.location)
        return path is None or path.is_absolute()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._thread = None
                    return
                name, uuid, replaced = self._due.popleft()
            try:
                # A table of its own, freshly read: the connector's thread goes on with the one it opened, and has
                # said what becomes of structured headers.
                table = self._catalog.open(name, None, replace(self._settings.conversion, structured_headers=False))
                if table.uuid == uuid:
                    min_age = (self._settings.orphans_min_age_ms or 0) / 1000
                    sweep(table, self._settings.key, replaced, min_age)
                    sweep_output(table, self._settings.key, min_age)
            except Exception as error:  # noqa: BLE001 (orphans are no reason to disturb the connector)
                _log.warning("orphans stay for now", table=str(name), cause=f"{type(error).__name__}: {error}")


def sweep(table: WritableTable, connector: str, replaced: str | None, min_age: float) -> None:
    """Remove the orphans of a table that are `min_age` seconds old, and note the stages of all for a later time.

    Raises:
        FrazilError, ValueError: nothing is certain any more; what was not removed by then stays.
    """
    data = orphans.data_directory(table)
    if data is None or not orphans.belong_to_the_table_alone(table.state()):
        _log.debug("orphans are not looked for: its files are in many places, or not its own", table=str(table.name))
        return
    _Sweep(table, connector, data, min_age).run(replaced)


class _Sweep:
    """One look through one table."""

    def __init__(self, table: WritableTable, connector: str, data: str, min_age: float) -> None:
        self._table = table
        self._connector = connector
        self._data = data
        self._outbox = outbox.directory(table)
        self._min_age = min_age
        self._deadline = time.monotonic() + _LONGEST
        self._storages = {place: Storage(table.access(place)) for place in (data, self._outbox)}

    def run(self, replaced: str | None) -> None:
        """Do it; `replaced` is the connector's last commit, which the opening replaced."""
        notes = dict(self._notes())
        noted = reduce(Note.joined, notes.values(), Note())
        if not noted and replaced is None:
            return
        found = self._staged(lambda stage, name: noted.covers(stage, name) or stage.base == replaced)
        lost = {stage.id for _, stage in found} - noted.committed.keys()
        # What others were staged from was a commit after all, if only in a copy of the table.
        lost -= {stage.base for _, stage in self._staged(lambda stage, _: stage.base in lost)} if lost else set()
        if new := lost - noted.abandoned:
            orphans.note(self._table, self._connector, Note(abandoned=frozenset(new)))
        left = self._remove([each for each in found if each[1].id in lost or each[1].id in noted.committed])
        self._forget(note for note, said in notes.items() if left.isdisjoint(said.abandoned | said.committed.keys()))

    def _notes(self) -> Iterator[tuple[FoundFile, Note]]:
        """The connector's notes."""
        ours = connector_in_names(self._connector)
        for note in self._storages[self._outbox].files(self._outbox, lambda name: orphans.whose_note(name) == ours):
            try:
                yield note, orphans.noted(self._table, note.location)
            except (FrazilError, FileNotFoundError, ValueError) as error:
                _log.warning("a note of abandoned stages cannot be read", note=note.location, cause=str(error))

    def _staged(self, wanted: Callable[[Stage, str], bool]) -> list[_Staged]:
        """The files of the connector's stages that are `wanted`, by their names."""
        ours = connector_in_names(self._connector)
        found: list[_Staged] = []
        for directory, stage_of, below in ((self._data, stage_of_data, True), (self._outbox, stage_of_rejects, False)):

            def is_wanted(name: str, stage_of: Callable[[str], Stage | None] = stage_of) -> bool:
                self._require_time()
                stage = stage_of(name)
                return stage is not None and stage.connector == ours and wanted(stage, name)

            files = self._storages[directory].files(directory, is_wanted, below=below)
            in_place = (file for file in files if _is_of_partition(file.directory, directory))
            found.extend((file, stage) for file in in_place if (stage := stage_of(file.name)))
        return found

    def _remove(self, orphaned: Sequence[_Staged]) -> set[str]:
        """Remove the old ones that nobody refers to, and return the stages that others are left of."""
        if not orphaned:
            return set()
        first = orphaned[0][0]
        before = self._storage_of(first).now(first.directory) - self._min_age
        old = [(file, stage) for file, stage in orphaned if file.modified <= before][:_MOST]
        left = Counter(stage.id for _, stage in orphaned)
        used = self._used({whole(file.name) for file, _ in old})
        removed = size = 0
        for file, stage in old:
            left[stage.id] -= 1
            if whole(file.name) in used:
                continue
            try:
                self._storage_of(file).delete(file.location)
            except FrazilError as error:
                left[stage.id] += 1
                _log.warning("an orphan cannot be removed", file=file.location, cause=error.message)
            else:
                removed += 1
                size += file.size
        if removed:
            _log.info(
                "removed files of stages that were never committed",
                connector=self._connector,
                table=str(self._table.name),
                files=removed,
                bytes=size,
            )
        return set(+left)

    def _used(self, names: Collection[str]) -> set[str]:
        """Those of the files' names that the table's newest version refers to, by a snapshot or by our reject lists."""
        if not names:
            return set()
        self._table.refresh()
        used = self._table.referred_to(names, self._deadline)
        tokens = read(self._table.state(), str(self._table.name), self._connector)
        if tokens and any(stage_of_rejects(name) for name in names):
            until = min(self._deadline, time.monotonic() + _LISTS)
            for listed in outbox.undelivered(self._table, tokens.rejects):
                if time.monotonic() > until:
                    break
                used.update(path.rpartition("/")[2] for path in (listed.path, *listed.files))
        return used

    def _storage_of(self, file: FoundFile) -> Storage:
        return self._storages[self._outbox if file.directory == self._outbox else self._data]

    def _forget(self, notes: Iterable[FoundFile]) -> None:
        """Remove notes that have done their service: old ones, as what a stage left may come late."""
        storage = self._storages[self._outbox]
        for note in notes:
            if note.modified <= storage.now(self._outbox) - self._min_age:
                storage.delete(note.location)
                storage.delete(f"{note.directory}/.{note.name}.crc")  # Hadoop's checksum of it

    def _require_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError("looking through the table takes too long")


def _is_of_partition(directory: str, data: str) -> bool:
    """Whether a directory is where the data files go, or that of a partition there, whose steps are `name=value`."""
    return all("=" in step for step in directory.removeprefix(data).split("/") if step)
