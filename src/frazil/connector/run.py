"""One run of a connector, from its start to its end: cycles, each of them tried until it works."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from frazil.config import ConnectorSettings
from frazil.connector.backoff import attempts
from frazil.connector.ends import Ends
from frazil.connector.following import Followers
from frazil.connector.states import State
from frazil.connector.status import Status
from frazil.cycle import CycleReport, Ingestion
from frazil.cycle.backoff import FIRST
from frazil.cycle.identity import require_topics
from frazil.errors import (
    Fenced,
    FrazilError,
    ShapeMoved,
    SparkEnded,
    Terminal,
    TokensMoved,
    TopicMissing,
    Transient,
    Unexpected,
)
from frazil.model import Position, SourcePartition
from frazil.sources.base import Source

_STOP_FOLLOWS = 1.0
"""Seconds between the end of the JVM and the stop of the process, where one signal was sent to both."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Signals:
    """What the run of a connector is asked to do; set by any thread."""

    stopping: threading.Event = field(default_factory=threading.Event)
    paused: threading.Event = field(default_factory=threading.Event)
    wake: threading.Event = field(default_factory=threading.Event)
    """There is something to look at: one of the others was set, or a function that follows has failed."""
    abandoned: threading.Event = field(default_factory=threading.Event)
    """The stop was not waited for: what the run needs is taken away, and its errors mean nothing."""


class Run:
    """What the thread of a connector does."""

    def __init__(
        self,
        settings: ConnectorSettings,
        ends: Ends,
        status: Status,
        followers: Followers,
        signals: Signals,
        *,
        until_caught_up: bool,
    ) -> None:
        """Prepare a run; nothing is contacted before `run`.

        Args:
            settings: the connector's.
            ends: what it reads from, stages with and writes to.
            status: where it says what it is doing.
            followers: the functions that follow its tables.
            signals: what it is asked to do.
            until_caught_up: whether it ends by itself, once everything that is in the topics by then is in the tables.
        """
        self._settings = settings
        self._ends = ends
        self._status = status
        self._followers = followers
        self._signals = signals
        self._until_caught_up = until_caught_up
        self._goal: Mapping[SourcePartition, Position] | None = None
        """What there is to catch up with, for whoever stops then."""

        self.source: Source | None = None
        """What it reads from; None until it is connected and once the run has ended."""

        self.ingestion: Ingestion | None = None
        """Its cycles; None until its tables are about to be opened."""

        self.lower_case = False
        """Whether its catalog is known to have names in lower case only."""

    def run(self) -> None:
        """Ingest until asked to stop, or until the end."""
        error = self._ended_by()
        self._followers.finish()
        error = error or self._followers.wait()  # trouble is reported at once; else they have it all first
        state = State.FENCED if isinstance(error, Fenced) else State.FAILED if error else State.STOPPED
        if error is not None:
            _log.error("the connector has ended", connector=self._settings.name, state=str(state), cause=str(error))
        if self.ingestion is not None:
            if error is None and self._ends.answers():
                self.ingestion.settle(lambda: not self._signals.stopping.is_set())
            self.ingestion.close()
        if self.source is not None:
            self.source.close()
        self.source = None
        self._status.end(state, error)

    def _ended_by(self) -> FrazilError | None:
        """Ingest; the error that ended it before it was asked to stop."""
        while not self._signals.stopping.is_set():
            try:
                self._ingest()
                break
            except Terminal as error:
                return error
            except Transient as error:
                # Asked to stop; or stamina is switched off in this process, where it takes no second attempt.
                self._wait_out(error, 1, FIRST)
            except Exception as error:  # noqa: BLE001 (a bug: the connector must say so and not vanish)
                if self._signals.abandoned.is_set():
                    return None
                if not self._ends.answers():
                    # What stops the process may stop its JVM, too; tokens and rows are together in any case.
                    return None if self._signals.stopping.wait(_STOP_FOLLOWS) else SparkEnded()
                # As text: a renderer that shows local variables would show the client's secrets.
                _log.error("unexpected error", connector=self._settings.name, traceback=traceback.format_exc())
                return Unexpected(error)
        return None

    def _ingest(self) -> None:
        """Run cycles until something ends them. Each is tried until it works."""
        while not self._signals.stopping.is_set():
            if self._signals.paused.is_set():
                self._stand()
                continue
            for attempt in attempts(self._wait_out):
                with attempt:
                    began = time.monotonic()
                    ingestion, report = self._cycle()
            if self._status.error is not None:
                _log.info("the connector goes on", connector=self._settings.name)
            self._status.work(report)
            self._status.enter(State.RUNNING if ingestion.stalled is None else State.RETRYING)
            self._followers.look(ingestion.tables)
            if report.failure is not None:
                raise report.failure
            if self._goal is not None and ingestion.reached(self._goal):
                if (failure := ingestion.failure()) is not None:
                    raise failure
                if deleted := ingestion.deleted(self._goal):
                    read = self._settings.source
                    raise TopicMissing(read.kind, deleted, read.address)
                return
            self._sleep(self._rest(began, ingestion), idle=report.idle)

    def _cycle(self) -> tuple[Ingestion, CycleReport]:
        """Open, if that is not done; after an error, recall; run one cycle."""
        if self.ingestion is None:
            # Kept whatever comes: another one would open anew the tables that this one could open.
            self.ingestion = self._open()
            self.ingestion.discover()
        elif self._status.error is not None:
            self.ingestion.recall()
        if self._until_caught_up and self._goal is None:
            found = self.ingestion.discover()
            require_topics(self._settings, found)
            self._goal = self.ingestion.goal(found)
        if self._status.error is None:
            # After an error it is RETRYING until a cycle has worked.
            self._status.enter(State.RUNNING)
        return self.ingestion, self.ingestion.cycle()

    def _open(self) -> Ingestion:
        settings = self._settings
        self._ends.job.prepare()
        catalog = self._ends.catalog()
        self.lower_case = catalog.lower_case
        if self.source is None:
            self.source = self._ends.source()
        # Who runs until caught up wants what there is, not what is due.
        buffer = None if self._until_caught_up else settings.buffer
        return Ingestion(settings, catalog, self.source, self._ends.job, buffer, needed=self._followers.needed)

    def _wait_out(self, error: Transient, attempt: int, seconds: float) -> bool:
        """Wait before planning again; whether to. What only moved under us is planned again at once."""
        stopping = self._signals.stopping
        if stopping.is_set():
            return False
        if attempt == 1 and isinstance(error, TokensMoved | ShapeMoved):
            seconds = 0.0
        # An outage is one line of the log, however many attempts it outlasts.
        log = _log.debug if type(error) is type(self._status.error) else _log.warning
        self._status.retry(error, seconds)
        log(
            "the cycle is abandoned, and tried again until it works",
            connector=self._settings.name,
            cause=str(error),
            attempt=attempt,
            next_attempt=f"in {seconds:.1f} s",
        )
        stopping.wait(seconds)
        while self._signals.paused.is_set() and not stopping.is_set():
            self._stand()
            self._status.enter(State.RETRYING)
        return not stopping.is_set()

    def _stand(self) -> None:
        """Stand still until woken."""
        self._status.enter(State.PAUSED)
        self._sleep(None)

    def _rest(self, began: float, ingestion: Ingestion) -> float:
        """Seconds until the next cycle after one that began at `began`: sooner where a channel is due sooner."""
        rest = began + self._settings.commit_interval_ms / 1000 - time.monotonic()
        due = ingestion.seconds_until_due()
        return rest if due is None else min(rest, due)

    def _sleep(self, seconds: float | None, *, idle: bool = False) -> None:
        """Wait for the next cycle; woken early by pause, resume and stop. Back to back still rests while idle."""
        rest = None if seconds is None else max(seconds, 0.05 if idle else 0.0)
        if rest is None or rest > 0:
            self._signals.wake.wait(rest)
        self._signals.wake.clear()
