"""Step 4 of the cycle: one Spark job that stages all tasks of a cycle."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias

import structlog
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import Accumulator, inheritable_thread_target
from pyspark.sql import SparkSession

from frazil.cycle.accounting import parts
from frazil.cycle.executors import looking_first, require_fit, unfit_python
from frazil.errors import CycleCancelled, FrazilError, StageFailed, StorageNotShared
from frazil.model import Staged, TableName, Task
from frazil.storage.storage import Storage

_QUIET: Final = 20.0
"""Seconds executors may let us wait before we say what we wait for."""

AccessTo: TypeAlias = Callable[[TableName, str], Mapping[str, str]]
"""What opens the storage at a location that a table keeps files in (`frazil.tables.base.WritableTable.access`)."""

_log = structlog.get_logger(__name__)


class Job(Protocol):
    """What a cycle needs to have its tasks staged."""

    @property
    def cores(self) -> int:
        """How many tasks run at once."""

    def run(self, groups: Sequence[Sequence[Task]], description: str) -> list[Staged]:
        """Stage the tasks, those of a group one after the other.

        Raises:
            CycleCancelled: somebody abandoned the cycle.
            StageFailed: the tasks could not be run to their end.
            ExecutorUnfit: an executor lacks what a task needs.
            StorageNotShared: what a task has written is not where the driver looks for it.
        """

    def discard(self, files: Sequence[tuple[TableName, str]], access: AccessTo) -> None:
        """Delete files of stages, given with their tables, that no commit names; what cannot be deleted now stays."""


class StagingJob:
    """Runs staging tasks on Spark for one connector, all under one job group; see `Job`."""

    def __init__(self, session: SparkSession, connector: str) -> None:
        self._session = session
        self._context = session.sparkContext
        self._local = self._context.master.startswith("local")
        self._prepared = False
        self._speculates = self._context.getConf().get("spark.speculation", "false") == "true"
        """Whether Spark starts tasks a second time that take long; which of them it did does not show."""

        if self._local and "PYSPARK_PYTHON" not in os.environ:
            # Workers on this machine are this Python, not whichever `python3` comes first on PATH.
            self._context.pythonExec = sys.executable
        self.group = f"frazil-{connector}"
        """The job group: cancelling it abandons the running cycle and nothing else."""

        self.records: Accumulator[int] = self._context.accumulator(0)
        """Records staged since the connector started."""

        self.bytes: Accumulator[int] = self._context.accumulator(0)
        """Bytes of values staged since the connector started."""

    @property
    def cores(self) -> int:
        """How many tasks the session runs at once."""
        return int(self._context.defaultParallelism)

    def prepare(self) -> None:
        """Start the Python workers and have them import what staging needs, before the first records ask for it.

        On this machine that goes on beside other work. On a cluster it is waited for, and is to be done before a table
        is opened: executors that cannot run tasks must not cost a connector that runs elsewhere its tables.

        Raises:
            CycleCancelled: somebody cancelled the job group.
            StageFailed: Spark could not run tasks to their end.
            ExecutorUnfit: an executor lacks what a task needs.
        """
        if self._prepared:
            return
        if self._local:
            target = inheritable_thread_target(self._session)(self._warm_up_aside)
            threading.Thread(target=target, daemon=True).start()
        else:
            self._warm_up()
        self._prepared = True

    def run(self, groups: Sequence[Sequence[Task]], description: str) -> list[Staged]:
        """Stage the tasks, each group in one Spark task; see `Job`."""
        function = looking_first("stage_counted", self.records, self.bytes)
        staged: list[Staged] = self._collect(groups, len(groups), function, description)
        if self._speculates and len(groups) > 1:
            staged = [replace(task, repeated=True) for task in staged]
        if not self._local:
            require_shared(staged, keeps_rejects=any(task.tolerance == "all" for group in groups for task in group))
        return staged

    def discard(self, files: Sequence[tuple[TableName, str]], access: AccessTo) -> None:
        """Delete files of stages, given with their tables, that no commit names; what cannot be deleted now stays."""
        left: dict[TableName, list[str]] = {}
        for table, path in files:
            try:
                if table not in left:
                    Storage(access(table, path)).delete(path)
                    continue
            except FrazilError as error:
                _log.debug("a file that was staged for nothing cannot be deleted", file=path, cause=error.message)
            # What fails for one file of a table fails for the others, each after a wait of its own.
            left.setdefault(table, []).append(path)
        for table, paths in left.items():
            _log.warning("files that were staged for nothing stay for now", table=str(table), files=len(paths))

    def staged(self) -> tuple[int, int]:
        """Records, and bytes of their values, staged so far, as Spark's accumulators have them."""
        return int(self.records.value), int(self.bytes.value)

    def cancel(self) -> None:
        """Abandon the running cycle; may be called from any thread."""
        self._context.cancelJobGroup(self.group)

    def _collect(
        self,
        items: Sequence[Any],
        tasks: int,
        function: Callable[[Iterator[Any]], Iterator[Any]],
        description: str,
    ) -> list[Any]:
        self._context.setJobGroup(self.group, description, interruptOnCancel=True)
        try:
            answers = self._context.parallelize(items, tasks).mapPartitions(function).collect()
        except Py4JJavaError as error:
            text = str(error.java_exception.getMessage())
            if "cancelled" in text:
                raise CycleCancelled(self.group) from error
            raise unfit_python(text) or StageFailed("the cycle's tasks", text.splitlines()[0]) from error
        require_fit(answers)
        return list(answers)

    def _warm_up(self) -> None:
        waiting = threading.Timer(_QUIET, self._say_it_waits)
        waiting.daemon = True
        waiting.start()
        try:
            self._collect(range(self.cores), self.cores, looking_first("stage_nothing"), "look at the executors")
        finally:
            waiting.cancel()

    def _warm_up_aside(self) -> None:
        """What it would raise, the first cycle meets as well and says."""
        try:
            self._warm_up()
        except (FrazilError, Py4JError, OSError, AttributeError) as error:
            # A connector stopped meanwhile has no session.
            _log.debug("the Python workers were not started ahead", cause=type(error).__name__)

    def _say_it_waits(self) -> None:
        _log.warning(
            "no executor has answered yet: does the cluster have cores and memory left for this application?",
            master=self._context.master,
        )


def require_shared(staged: Sequence[Staged], *, keeps_rejects: bool) -> None:
    """Iceberg does not look whether a file it is given exists; a table that names one nobody has cannot be read."""
    for part in parts(staged):
        written = [file.path for file in part.files]
        if part.output is not None:
            written.append(part.output)
        if part.rejects and keeps_rejects and not part.is_outgrown:
            written.append(part.rejects.path)
        for location in written:
            if not Storage().holds(location):
                raise StorageNotShared(location)
