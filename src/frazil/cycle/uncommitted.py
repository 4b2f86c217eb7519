"""Files of a cycle that no commit has named: they are deleted as soon as it is certain that none ever will."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from frazil.cycle.accounting import parts
from frazil.cycle.job import AccessTo, Job
from frazil.model import Staged, TableName


class Uncommitted:
    """What the running cycle has written. Several tables may be committed to at a time."""

    def __init__(self, job: Job, access: AccessTo, *, keeps_rejects: bool) -> None:
        """Delete with `job`, by what `access` gives; `keeps_rejects` says whether tasks write reject files at all."""
        self._job = job
        self._access = access
        self._keeps_rejects = keeps_rejects
        self._lock = threading.Lock()
        self._paths: dict[str, TableName] = {}

    def add(self, staged: Sequence[Staged]) -> None:
        """Take note of what tasks have written."""
        for part in parts(staged):
            for file in part.files:
                self.add_path(part.shape.table, file.path)
            if part.output is not None:
                self.add_path(part.shape.table, part.output)
            if part.rejects is not None and self._keeps_rejects and not part.is_outgrown:
                self.add_path(part.shape.table, part.rejects.path)

    def add_path(self, table: TableName, path: str) -> None:
        """Take note of one file that belongs to a table."""
        with self._lock:
            self._paths[path] = table

    def hand_over(self, paths: Iterable[str]) -> HandedOver:
        """Leave files to a commit: whether it names them is known to it alone."""
        with self._lock:
            return HandedOver(self, {path: self._paths.pop(path) for path in paths})

    def discard(self) -> None:
        """Delete what was not handed over, or was taken back; what cannot be deleted now stays an orphan."""
        with self._lock:
            paths, self._paths = self._paths, {}
        if paths:
            self._job.discard([(table, path) for path, table in paths.items()], self._access)


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Files that were left to a commit."""

    _owner: Uncommitted
    _paths: dict[str, TableName]

    def take_back(self) -> None:
        """The commit has come to nothing, for certain."""
        for path, table in self._paths.items():
            self._owner.add_path(table, path)
