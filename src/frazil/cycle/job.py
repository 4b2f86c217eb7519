"""Step 4 of the cycle: one Spark job that stages all tasks of a cycle."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Protocol

import structlog
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import Accumulator
from pyspark.sql import SparkSession

from frazil.errors import CycleCancelled, StageFailed
from frazil.model import Staged, Task
from frazil.staging.storage import Storage
from frazil.staging.task import counting, stage_nothing

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
        """

    def discard(self, staged: Sequence[Staged]) -> None:
        """Delete files of a stage that no commit was tried with."""


class StagingJob:
    """Runs staging tasks on Spark for one connector, all under one job group; see `Job`."""

    def __init__(self, session: SparkSession, connector: str) -> None:
        self._context = session.sparkContext
        if self._context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
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

    def warm_up(self) -> None:
        """Start the Python workers and have them import what staging needs, before the first records ask for it."""
        self._context.setJobGroup(self.group, "start the Python workers")
        try:
            self._context.parallelize(range(self.cores), self.cores).mapPartitions(stage_nothing).collect()
        except (Py4JError, OSError, AttributeError) as error:
            # The first cycle meets the same trouble and says so; a connector stopped meanwhile has none.
            _log.debug("the Python workers were not started ahead", cause=type(error).__name__)

    def run(self, groups: Sequence[Sequence[Task]], description: str) -> list[Staged]:
        """Stage the tasks, each group in one Spark task.

        Raises:
            CycleCancelled: somebody cancelled the job group.
            StageFailed: Spark could not run the tasks to their end.
        """
        self._context.setJobGroup(self.group, description, interruptOnCancel=True)
        try:
            staged: list[Staged] = (
                self._context.parallelize(groups, len(groups))
                .mapPartitions(counting(self.records, self.bytes))
                .collect()
            )
        except Py4JJavaError as error:
            text = str(error.java_exception.getMessage())
            if "cancelled" in text:
                raise CycleCancelled(self.group) from error
            raise StageFailed("the cycle's tasks", text.splitlines()[0]) from error
        return staged

    def discard(self, staged: Sequence[Staged]) -> None:
        """Delete files of a stage that no commit was tried with."""
        for task in staged:
            for file in task.files:
                Storage().delete(file.path)

    def cancel(self) -> None:
        """Abandon the running cycle; may be called from any thread."""
        self._context.cancelJobGroup(self.group)
