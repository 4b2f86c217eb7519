"""Remove our own orphans: files of stages that were never committed, once they are old; never anything else.

Looked for when a table is opened, in a thread of its own, so that opening waits for nothing. A file goes if

1. its name says that this connector staged it,
2. it lies in the one directory where the table's data files go, or where its rejects are kept,
3. its stage was never committed, and for certain (`frazil.tables.orphans`),
4. it has reached `frazil.orphans.min.age` by the clock of its file system,
5. no snapshot of the table refers to it, and no reject list that the tokens lead to names it,
6. and the table's files belong to the table alone (`gc.enabled`).

Whatever fails, files stay, and a later opening looks again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import structlog

from frazil.config import ConnectorSettings
from frazil.errors import FrazilError
from frazil.model import TableName
from frazil.staging.found import FoundFile
from frazil.staging.local import local_path
from frazil.staging.storage import Storage
from frazil.tables import orphans, rejects
from frazil.tables.base import Target, Targets
from frazil.tables.stages import Stage, connector_in_names, stage_of_data, stage_of_rejects, whole
from frazil.tables.tokens import read

_MOST: Final = 10_000
"""Files removed at one opening of a table."""

_LONGEST: Final = 120.0
"""Seconds that looking through one table may take."""

_Staged: TypeAlias = tuple[FoundFile, Stage]
"""A file, and the stage of ours that wrote it."""

_log = structlog.get_logger(__name__)


class Sweeper:
    """Looks through one connector's tables, one after the other, in the background."""

    def __init__(self, settings: ConnectorSettings, catalog: Targets) -> None:
        self._settings = settings
        self._catalog = catalog
        self._lock = threading.Lock()
        self._due: deque[tuple[TableName, str, str | None]] = deque()
        self._thread: threading.Thread | None = None

    def opened(self, table: Target, replaced: str | None) -> None:
        """Look through a table that was just opened.

        Args:
            table: the table.
            replaced: the connector's last commit, which the opening replaced; None where that is not certain.
        """
        if not self._reaches(table):
            return
        with self._lock:
            self._due.append((table.name, table.uuid, replaced))
            if self._thread is None:
                name = f"frazil-{self._settings.key}-sweeper"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()

    def gave_up(self, table: Target, stages: Collection[str]) -> None:
        """Take note of stages that were given up, and that now never can be committed."""
        if not stages or not self._reaches(table):
            return
        try:
            orphans.note(table, self._settings.key, stages)
        except FrazilError as error:
            _log.warning("what was staged for nothing is not noted, and will stay", cause=error.message)

    def _reaches(self, table: Target) -> bool:
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
                # A table of its own, freshly read: the connector's thread goes on with the one it opened, and was told
                # what becomes of structured headers.
                table = self._catalog.open(name, None, replace(self._settings.conversion, structured_headers=False))
                if table.uuid == uuid:
                    sweep(table, self._settings.key, replaced, (self._settings.orphans_min_age_ms or 0) / 1000)
            except Exception as error:  # noqa: BLE001 (orphans are no reason to disturb the connector)
                _log.warning("orphans stay for now", table=str(name), cause=f"{type(error).__name__}: {error}")


def sweep(table: Target, connector: str, replaced: str | None, min_age: float) -> None:
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

    def __init__(self, table: Target, connector: str, data: str, min_age: float) -> None:
        self._table = table
        self._connector = connector
        self._data = data
        self._outbox = rejects.directory(table)
        self._min_age = min_age
        self._deadline = time.monotonic() + _LONGEST
        self._storages = {place: Storage(table.access(place)) for place in (data, self._outbox)}

    def run(self, replaced: str | None) -> None:
        """Do it; `replaced` is the connector's last commit, which the opening replaced."""
        notes = dict(self._notes())
        noted = frozenset[str]().union(*notes.values())
        found = self._staged(lambda stage: stage.id in noted or stage.base == replaced)
        lost = {stage.id for _, stage in found}
        # What others were staged from was a commit after all, if only in a copy of the table.
        lost -= {stage.base for _, stage in self._staged(lambda stage: stage.base in lost)} if lost else set()
        if lost - noted:
            orphans.note(self._table, self._connector, lost - noted)
        left = self._remove([(file, stage) for file, stage in found if stage.id in lost])
        self._forget(note for note, stages in notes.items() if left.isdisjoint(stages))

    def _notes(self) -> Iterator[tuple[FoundFile, frozenset[str]]]:
        """The connector's notes, and the stages that each names."""
        ours = connector_in_names(self._connector)
        for note in self._storages[self._outbox].files(self._outbox, lambda name: orphans.whose_note(name) == ours):
            try:
                yield note, orphans.noted(self._table, note.location)
            except (FrazilError, ValueError) as error:
                _log.warning("a note of abandoned stages cannot be read", note=note.location, cause=str(error))

    def _staged(self, wanted: Callable[[Stage], bool]) -> list[_Staged]:
        """The files of the connector's stages that are `wanted`."""
        ours = connector_in_names(self._connector)
        found: list[_Staged] = []
        for directory, stage_of in ((self._data, stage_of_data), (self._outbox, stage_of_rejects)):

            def is_wanted(name: str, stage_of: Callable[[str], Stage | None] = stage_of) -> bool:
                self._require_time()
                stage = stage_of(name)
                return stage is not None and stage.connector == ours and wanted(stage)

            files = self._storages[directory].files(directory, is_wanted)
            found.extend((file, stage) for file in files if (stage := stage_of(file.name)))
        return found

    def _remove(self, orphaned: Sequence[_Staged]) -> set[str]:
        """Remove the old ones that nobody refers to, and return the stages that others are left of."""
        if not orphaned:
            return set()
        directory = orphaned[0][0].directory
        before = self._storages[directory].now(directory) - self._min_age
        old = [(file, stage) for file, stage in orphaned if file.modified <= before][:_MOST]
        left = Counter(stage.id for _, stage in orphaned)
        used = self._used({whole(file.name) for file, _ in old})
        removed = size = 0
        for file, stage in old:
            left[stage.id] -= 1
            if whole(file.name) in used:
                continue
            try:
                self._storages[file.directory].delete(file.location)
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
            for listed in rejects.undelivered(self._table, tokens.rejects):
                self._require_time()
                used.update(path.rpartition("/")[2] for path in (listed.path, *listed.files))
        return used

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
