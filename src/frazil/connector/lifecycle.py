"""The connector a user holds: it runs cycles in a thread of its own until it is stopped, fails or is fenced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import structlog
from pyspark.sql import SparkSession

from frazil.config import ConnectorSettings, load
from frazil.connector.channels import all_channels
from frazil.connector.ends import Ends, SparkEnds
from frazil.connector.following import Followers
from frazil.connector.run import Run, Signals
from frazil.connector.states import ENDED, Condition, State
from frazil.connector.status import Status
from frazil.connector.subscription import Function, Subscription
from frazil.cycle import CycleReport, Ingestion
from frazil.cycle.sending import Backlog
from frazil.cycle.table_failures import TableFailure
from frazil.errors import FrazilError, StillStopping
from frazil.model import ChannelStatus, SourcePartition, TableName
from frazil.sources.base import Held
from frazil.tables.jvm.session import open_session, require_usable

_GRACE = 8.0
"""Seconds a running cycle may take to finish once the connector is stopped; then it is abandoned."""

_LAST_GRACE = 1.0
"""Seconds an abandoned cycle may take to notice."""

_log = structlog.get_logger(__name__)


class Connector:
    """A named ingestion: topics → tables.

    Example:
        >>> connector = Connector.from_properties("connector.properties")  # doctest: +SKIP
        >>> connector.start()  # doctest: +SKIP
        >>> connector.wait_until_caught_up()  # doctest: +SKIP
        >>> connector.stop()  # doctest: +SKIP
    """

    def __init__(self, settings: ConnectorSettings, spark: SparkSession, ends: Ends | None = None) -> None:
        """Prepare a connector; nothing is contacted before `start`.

        Args:
            settings: its configuration.
            spark: the session it stages in and commits with.
            ends: what to read from, stage with and write to in place of Kafka and that session, as tests do.

        Raises:
            SparkConnectRefused: the session is a Spark Connect session.
            SparkVersionRefused: its Spark is not the one pyspark belongs to.
            SparkEnded: its JVM is gone.
        """
        if ends is None:
            require_usable(spark)
        self.settings = settings
        self._ends = ends or SparkEnds(settings, spark)
        self._signals = Signals()
        self._status = Status(settings.name)
        self._followers = Followers(settings, spark, self._signals.wake.set)
        self._thread: threading.Thread | None = None
        self._run: Run | None = None
        """The run that goes on, or else the last one."""

    @classmethod
    def from_properties(
        cls,
        connector: Mapping[str, Any] | Path | str,
        spark: SparkSession | None = None,
        worker: Mapping[str, Any] | Path | str | None = None,
    ) -> Connector:
        """A connector from its configuration: a `.properties` or JSON file, or the keys and values themselves.

        Args:
            connector: the connector's configuration.
            spark: the session to run in; a local one is started when None.
            worker: the worker's configuration, as for `connect-standalone`.

        Raises:
            InvalidConfiguration: with every problem found.
        """
        settings = load(connector, worker)
        return cls(settings, spark or open_session(Path(settings.home), None, settings.spark))

    @property
    def state(self) -> State:
        """What the connector is doing."""
        return self._status.state

    @property
    def condition(self) -> Condition:
        """That, and why where it is trouble."""
        return self._status.condition

    @property
    def paused(self) -> bool:
        """Whether it is to begin no cycle until `resume`; it may have to finish one yet."""
        return self._signals.paused.is_set()

    @property
    def error(self) -> FrazilError | None:
        """Why it is RETRYING, FAILED or FENCED."""
        return self._status.error

    @property
    def failing(self) -> Mapping[TableName, TableFailure]:
        """The tables that are left out while the others go on, and why; the ones of the last run once it has ended."""
        ingestion = self._ingestion
        return ingestion.failing if ingestion else {}

    @property
    def held(self) -> Mapping[SourcePartition, Held]:
        """The partitions whose records cannot be had, and why; those whose trouble may pass by itself say so."""
        ingestion = self._ingestion
        return ingestion.held if ingestion else {}

    @property
    def output_backlogs(self) -> Mapping[TableName, Backlog]:
        """What accepted records wait to be sent on, by table."""
        ingestion = self._ingestion
        return ingestion.output_backlogs if ingestion else {}

    @property
    def next_attempt(self) -> float | None:
        """While RETRYING: when it tries again, in seconds since the epoch."""
        return self._status.next_attempt

    def on_cycle(self, listener: Callable[[CycleReport], None]) -> None:
        """Call `listener` with the report of every cycle, in the connector's thread; what it raises is logged."""
        self._status.on_cycle.append(listener)

    def on_state(self, listener: Callable[[State], None]) -> None:
        """Call `listener` with every state the connector enters; what it raises is logged."""
        self._status.on_state.append(listener)

    def foreach_commit(self, function: Function, *, after: int | None = None, table: str | None = None) -> Subscription:
        """Call `function` with the rows of every commit and its `Commit`, in order, in a thread of its own.

        If it raises, the connector fails. What it gets when, and how to go on: docs/how-to/continue-in-spark.md.

        Args:
            function: takes a DataFrame of exactly the rows that the commit added, and the commit's facts.
            after: the snapshot after which to begin; None for what is committed from now on.
            table: the table to follow; only needed where the connector has several.

        Raises:
            FollowRefused: which table that is cannot be known, or it is none of the connector's.
        """
        run, ingestion = self._run, self._ingestion
        ends = self.state in ENDED or self._signals.stopping.is_set()
        opened = None if ends else dict(ingestion.tables if ingestion else {})
        return self._followers.add(function, after, table, opened, lower=run is not None and run.lower_case)

    def start(self, *, until_caught_up: bool = False) -> None:
        """Start ingesting, in a thread of its own. A stopped or failed connector may be started again.

        One that runs goes on. Where the last run has not ended yet, its end is waited for.

        Args:
            until_caught_up: stop by itself once everything that is in the topics at its start is in the tables.

        Raises:
            StillStopping: it does not end within seconds, for something it waits for does not answer.
        """
        if self._thread is not None and self._thread.is_alive():
            if not self._signals.stopping.is_set() and self.state not in ENDED:
                return
            if not self._runs_here():
                self._thread.join(_GRACE)
            if self._thread.is_alive():
                raise StillStopping(self.settings.name)
        self._signals.stopping.clear()
        self._signals.abandoned.clear()
        self._run = Run(
            self.settings,
            self._ends,
            self._status,
            self._followers,
            self._signals,
            until_caught_up=until_caught_up,
        )
        self._status.begin()
        self._followers.start()
        target = self._ends.in_thread(self._run.run)
        self._thread = threading.Thread(target=target, name=f"frazil-{self.settings.key}", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Finish the running cycle and begin no other until `resume`."""
        self._signals.paused.set()
        self._signals.wake.set()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._signals.paused.clear()
        self._signals.wake.set()

    def stop(self) -> None:
        """Stop: the running cycle finishes, or is abandoned after a few seconds; tokens and rows stay together.

        What is committed is delivered to functions that follow, as far as they get in these seconds.
        """
        self._signals.stopping.set()
        self._signals.wake.set()
        if self._thread is None or self._runs_here():
            return
        self._thread.join(_GRACE)
        if self._thread.is_alive():
            self._ends.job.cancel()
            self._followers.end()
            self._thread.join(_LAST_GRACE)
        if self._thread.is_alive():
            # It waits for a broker or a catalog that does not answer. What it still does, it does whole or not at all.
            _log.warning(
                "the connector is abandoned: something it waits for does not answer", connector=self.settings.name
            )
            self._signals.abandoned.set()
            self._status.enter(State.STOPPED)

    def wait_until_caught_up(self, timeout: float | None = None) -> bool:
        """Wait until everything that is in the topics now is in the tables.

        Returns:
            Whether that came to be within `timeout` seconds.

        Raises:
            FrazilError: what stopped the connector first, or a table of it that somebody has to see to.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        wait = self._status.wait
        with self._status.changed:
            while True:
                # A plan that has begun may have looked at the topics before this call: the next one has not.
                begun = self._ingestion.plans if self._ingestion else 0
                closed = self._ingestion.closed() if self._ingestion else frozenset()
                if not wait(lambda: self._ingestion is not None and self._ingestion.plan.number > begun, deadline):  # noqa: B023
                    return False
                goal = dict(self._ingestion.plan.latest) if self._ingestion else {}
                if not wait(lambda: self._ingestion is not None and self._ingestion.reached(goal), deadline):  # noqa: B023
                    return False
                # What goes on where a partition has ended may be known since its end was read, and in no goal yet.
                if self._ingestion is None or self._ingestion.closed() == closed:
                    break
            failure = self._ingestion.failure() if self._ingestion else None
        if failure is not None:
            raise failure
        return True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the connector has ended; whether it has."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self.state in ENDED

    def status(self) -> list[ChannelStatus]:
        """One entry per channel, as of the last cycle."""
        run, ingestion = self._run, self._ingestion
        if run is None or ingestion is None:
            return []
        return all_channels(self.settings.key, ingestion, self.condition, run.source, self.settings.source.identity)

    def dropped(self) -> dict[str, int]:
        """Values of keys that have no column, by `<table>.<key>`, since the connector opened."""
        ingestion = self._ingestion
        return dict(ingestion.notices.dropped) if ingestion else {}

    def staged(self) -> tuple[int, int]:
        """Records and bytes staged since the connector was made, as Spark's accumulators have them."""
        return self._ends.job.staged()

    @property
    def _ingestion(self) -> Ingestion | None:
        return self._run.ingestion if self._run else None

    def _runs_here(self) -> bool:
        """Whether it is the connector's own thread that asks, or a function's that follows it."""
        return self._thread is threading.current_thread() or self._followers.run_here()
