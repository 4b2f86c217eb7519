"""The connector a user holds: it runs cycles in a thread of its own until it is stopped, fails or is fenced."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import structlog
from pyspark.sql import SparkSession

from frazil.config import ConnectorSettings, load
from frazil.connector.backoff import attempts
from frazil.connector.channels import all_channels
from frazil.connector.ends import Ends, SparkEnds
from frazil.connector.following import Followers
from frazil.connector.states import ENDED, Condition, State
from frazil.connector.subscription import Function, Subscription
from frazil.cycle import CycleReport, Ingestion
from frazil.cycle.backoff import FIRST
from frazil.cycle.identity import require_topics
from frazil.cycle.table_failures import TableFailure
from frazil.errors import (
    Fenced,
    FrazilError,
    ShapeMoved,
    SparkEnded,
    StillStopping,
    Terminal,
    TokensMoved,
    Transient,
    Unexpected,
)
from frazil.model import ChannelStatus, Position, SourcePartition, TableName
from frazil.sources.base import Source
from frazil.tables.jvm.session import open_session, require_usable

_GRACE = 8.0
"""Seconds a running cycle may take to finish once the connector is stopped; then it is abandoned."""

_LAST_GRACE = 1.0
"""Seconds an abandoned cycle may take to notice."""

_News = TypeVar("_News")

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
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._paused = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._state = State.STOPPED
        self._error: FrazilError | None = None
        self._next_attempt: float | None = None
        self._source: Source | None = None
        self._ingestion: Ingestion | None = None
        self._listeners: list[Callable[[CycleReport], None]] = []
        self._until_caught_up = False
        self._goal: Mapping[SourcePartition, Position] | None = None
        """What there is to catch up with, for whoever stops then."""

        self._state_listeners: list[Callable[[State], None]] = []
        self._followers = Followers(settings, spark, self._wake.set)

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
        return self._state

    @property
    def error(self) -> FrazilError | None:
        """Why it is RETRYING, FAILED or FENCED."""
        return self._error

    @property
    def failing(self) -> Mapping[TableName, TableFailure]:
        """The tables that are left out while the others go on, and why; the ones of the last run once it has ended."""
        return self._ingestion.failing if self._ingestion else {}

    @property
    def next_attempt(self) -> float | None:
        """While RETRYING: when it tries again, in seconds since the epoch."""
        return self._next_attempt

    def on_cycle(self, listener: Callable[[CycleReport], None]) -> None:
        """Call `listener` with the report of every cycle, in the connector's thread; what it raises is logged."""
        self._listeners.append(listener)

    def on_state(self, listener: Callable[[State], None]) -> None:
        """Call `listener` with every state the connector enters; what it raises is logged."""
        self._state_listeners.append(listener)

    def foreach_commit(self, function: Function, *, after: int | None = None, table: str | None = None) -> Subscription:
        """Call `function` with the rows of every commit and its `Commit`, in order, in a thread of its own.

        If it raises, the connector fails. What it gets when, and how to go on: docs/how-to/continue-in-spark.md.

        Args:
            function: takes a DataFrame of exactly the rows that the commit added, and the commit's facts.
            after: the snapshot after which to begin; None for what is committed from now on.
            table: the table to follow; only needed where the connector has several.

        Raises:
            FollowRefused: it cannot be told which table that is, or it is none of the connector's.
        """
        ingestion = self._ingestion
        ends = self._state in ENDED or self._stopping.is_set()
        return self._followers.add(
            function, after, table, None if ends else dict(ingestion.tables if ingestion else {})
        )

    def start(self, *, until_caught_up: bool = False) -> None:
        """Start ingesting, in a thread of its own. A stopped or failed connector may be started again.

        One that runs goes on. Where the last run has not ended yet, its end is waited for.

        Args:
            until_caught_up: stop by itself once everything that is in the topics at its start is in the tables.

        Raises:
            StillStopping: it does not end within seconds, for something it waits for does not answer.
        """
        if self._thread is not None and self._thread.is_alive():
            if not self._stopping.is_set() and self._state not in ENDED:
                return
            if not self._runs_here():
                self._thread.join(_GRACE)
            if self._thread.is_alive():
                raise StillStopping(self.settings.name)
        self._until_caught_up = until_caught_up
        self._ingestion = self._goal = None
        self._stopping.clear()
        self._error = None
        self._enter(State.OPENING)
        self._followers.start()
        target = self._ends.in_thread(self._run)
        self._thread = threading.Thread(target=target, name=f"frazil-{self.settings.key}", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Finish the running cycle and begin no other until `resume`."""
        self._paused.set()
        self._wake.set()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._paused.clear()
        self._wake.set()

    def stop(self) -> None:
        """Stop: the running cycle finishes, or is abandoned after a few seconds; tokens and rows stay together.

        What is committed is delivered to functions that follow, as far as they get in these seconds.
        """
        self._stopping.set()
        self._wake.set()
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
            self._enter(State.STOPPED)

    def wait_until_caught_up(self, timeout: float | None = None) -> bool:
        """Wait until everything that is in the topics now is in the tables.

        Returns:
            Whether that came to be within `timeout` seconds.

        Raises:
            FrazilError: what stopped the connector first, or a table of it that somebody has to see to.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            # A plan that has begun may have looked at the topics before this call: the next one has not.
            begun = self._ingestion.plans if self._ingestion else 0
            if not self._wait(lambda: self._ingestion is not None and self._ingestion.plan.number > begun, deadline):
                return False
            goal = dict(self._ingestion.plan.latest) if self._ingestion else {}
            if not self._wait(lambda: self._ingestion is not None and self._ingestion.covers(goal), deadline):
                return False
            failure = self._ingestion.failure() if self._ingestion else None
        if failure is not None:
            raise failure
        return True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the connector has ended; whether it has."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self._state in ENDED

    def status(self) -> list[ChannelStatus]:
        """One entry per channel, as of the last cycle."""
        ingestion = self._ingestion
        if ingestion is None:
            return []
        error = self._error
        condition = Condition(self._state, None if error is None else str(error))
        return all_channels(self.settings.key, ingestion, condition, self._source)

    def dropped(self) -> dict[str, int]:
        """Values of keys that have no column, by `<table>.<key>`, since the connector opened."""
        return dict(self._ingestion.notices.dropped) if self._ingestion else {}

    def staged(self) -> tuple[int, int]:
        """Records and bytes staged since the connector was made, as Spark's accumulators have them."""
        return self._ends.job.staged()

    def _run(self) -> None:
        error = self._ended_by()
        self._followers.finish()
        error = error or self._followers.wait()  # trouble is told at once; else they have it all first
        ended = State.FENCED if isinstance(error, Fenced) else State.FAILED if error else State.STOPPED
        self._end(ended, error)

    def _ended_by(self) -> FrazilError | None:
        """Ingest until told to stop, or until the end; the error that ended it before."""
        while not self._stopping.is_set():
            try:
                self._ingest()
                break
            except Terminal as error:
                return error
            except Transient as error:
                # Asked to stop; or stamina is switched off in this process, where it takes no second attempt.
                self._wait_out(error, 1, FIRST)
            except Exception as error:  # noqa: BLE001 (a bug: the connector must say so and not vanish)
                if not self._ends.answers():
                    return SparkEnded()
                # As text: a renderer that shows local variables would show the client's secrets.
                _log.error("unexpected error", connector=self.settings.name, traceback=traceback.format_exc())
                return Unexpected(error)
        return None

    def _ingest(self) -> None:
        """Run cycles until something ends them. Each is tried until it works."""
        while not self._stopping.is_set():
            if self._paused.is_set():
                self._stand()
                continue
            for attempt in attempts(self._wait_out):
                with attempt:
                    began = time.monotonic()
                    ingestion, report = self._cycle()
            if self._error is not None:
                _log.info("the connector goes on", connector=self.settings.name)
            self._error = self._next_attempt = None
            self._finish(report, ingestion)
            self._followers.look(ingestion.tables)
            if report.failure is not None:
                raise report.failure
            if self._goal is not None and ingestion.covers(self._goal):
                if (failure := ingestion.failure()) is not None:
                    raise failure
                return
            self._sleep(self._rest(began, ingestion), idle=report.idle)

    def _cycle(self) -> tuple[Ingestion, CycleReport]:
        """Open, if that is not done; after an error, recall; run one cycle."""
        if self._ingestion is None:
            # Kept whatever comes: another one would open anew the tables that this one could open.
            self._ingestion = self._open()
            self._ingestion.discover()
        elif self._error is not None:
            self._ingestion.recall()
        if self._until_caught_up and self._goal is None:
            found = self._ingestion.discover()
            require_topics(self.settings, found)
            self._goal = self._ingestion.goal(found)
        if self._error is None:
            # After an error it is RETRYING until a cycle has worked.
            self._enter(State.RUNNING)
        return self._ingestion, self._ingestion.cycle()

    def _open(self) -> Ingestion:
        settings = self.settings
        self._ends.job.prepare()
        catalog = self._ends.catalog()
        if self._source is None:
            self._source = self._ends.source()
        # Who runs until caught up wants what there is, not what is due.
        buffer = None if self._until_caught_up else settings.buffer
        return Ingestion(settings, catalog, self._source, self._ends.job, buffer, needed=self._followers.needed)

    def _wait_out(self, error: Transient, attempt: int, seconds: float) -> bool:
        """Wait before planning again; whether to. What only moved under us is planned again at once."""
        if self._stopping.is_set():
            return False
        if attempt == 1 and isinstance(error, TokensMoved | ShapeMoved):
            seconds = 0.0
        # An outage is one line of the log, however many attempts it outlasts.
        log = _log.debug if type(error) is type(self._error) else _log.warning
        self._error = error
        self._next_attempt = time.time() + seconds
        self._enter(State.RETRYING)
        log(
            "the cycle is abandoned, and tried again until it works",
            connector=self.settings.name,
            cause=str(error),
            attempt=attempt,
            next_attempt=f"in {seconds:.1f} s",
        )
        self._stopping.wait(seconds)
        while self._paused.is_set() and not self._stopping.is_set():
            self._stand()
            self._enter(State.RETRYING)
        return not self._stopping.is_set()

    def _stand(self) -> None:
        """Stand still until woken."""
        self._enter(State.PAUSED)
        self._sleep(None)

    def _finish(self, report: CycleReport, ingestion: Ingestion) -> None:
        self._tell(self._listeners, report)
        self._enter(State.RUNNING if ingestion.stalled is None else State.RETRYING)

    def _tell(self, listeners: Sequence[Callable[[_News], None]], news: _News) -> None:
        """Tell listeners something. What one of them raises is its own trouble, and not the connector's."""
        for listener in listeners:
            try:
                listener(news)
            except Exception:  # noqa: BLE001 (whatever it is, records are landed all the same)
                # As text: a renderer that shows local variables would show the client's secrets.
                _log.error("a listener failed", connector=self.settings.name, traceback=traceback.format_exc())

    def _runs_here(self) -> bool:
        """Whether it is the connector's own thread that asks, or a function's that follows it."""
        return self._thread is threading.current_thread() or self._followers.run_here()

    def _enter(self, state: State) -> None:
        with self._changed:
            changed = state != self._state
            self._state = state
            self._changed.notify_all()
        if changed:
            self._tell(self._state_listeners, state)

    def _end(self, state: State, error: FrazilError | None) -> None:
        self._error = error
        self._next_attempt = None
        if error is not None:
            _log.error("the connector has ended", connector=self.settings.name, state=str(state), cause=str(error))
        if self._ingestion is not None:
            self._ingestion.close()
        if self._source is not None:
            self._source.close()
        self._source = None
        self._enter(state)

    def _rest(self, began: float, ingestion: Ingestion) -> float:
        """Seconds until the next cycle after one that began at `began`: sooner where a channel is due sooner."""
        rest = began + self.settings.commit_interval_ms / 1000 - time.monotonic()
        due = ingestion.seconds_until_due()
        return rest if due is None else min(rest, due)

    def _sleep(self, seconds: float | None, *, idle: bool = False) -> None:
        """Wait for the next cycle; woken early by pause, resume and stop. Back to back still rests while idle."""
        rest = None if seconds is None else max(seconds, 0.05 if idle else 0.0)
        if rest is None or rest > 0:
            self._wake.wait(rest)
        self._wake.clear()

    def _wait(self, condition: Callable[[], bool], deadline: float | None) -> bool:
        """Wait, holding the lock, until `condition` or the deadline.

        Raises:
            FrazilError: what ended the connector before.
        """
        while not condition():
            if self._state in ENDED:
                if self._error is not None:
                    raise self._error
                return False
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            self._changed.wait(left)
        return True
