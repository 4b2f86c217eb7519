"""`foreach_commit`: a function that gets the rows of each commit to one table, in a thread of its own.

Nothing is queued. The thread is woken when there may be something new, and reads the table's history from the last
commit it delivered: what was and what comes are one, and a slow function holds up nobody. What that costs is snapshots,
for those it still needs are kept.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import TypeAlias

import structlog
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from frazil.config import ConnectorSettings
from frazil.connector.backoff import attempts
from frazil.connector.commits import Commits
from frazil.cycle.backoff import FIRST
from frazil.errors import FollowerFailed, FrazilError, SparkEnded, Transient, Unexpected
from frazil.model import TableName
from frazil.tables.jvm.session import answers
from frazil.tables.rules.history import Commit

Function: TypeAlias = Callable[[DataFrame, Commit], object]
"""Takes the rows of a commit, and its facts."""

_log = structlog.get_logger(__name__)


class Subscription:
    """Gives a function every commit of a connector to one table, once and in order; `Connector.foreach_commit` made it.

    It ends with the connector, and goes on where it was when the connector is started again.
    """

    def __init__(
        self,
        settings: ConnectorSettings,
        session: SparkSession,
        function: Function,
        after: int | None,
        alarm: Callable[[], object],
    ) -> None:
        """Deliver after the snapshot `after`, from now on where it is None; `alarm` is called when that fails."""
        self._settings = settings
        self._session = session
        self._function = function
        self._alarm = alarm
        self._last = after
        self._needed = 0
        """The sequence number of the last commit delivered; 0 until that is known."""

        self._table: TableName | None = None
        self._since = 0
        self._error: FrazilError | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._finishing = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._runs = False
        """Whether the thread runs and has not decided to end."""

        self.cancelled = False
        """Whether it was stopped for good."""

    @property
    def table(self) -> str | None:
        """The table, with its namespace; None until the connector has opened it."""
        return None if self._table is None else str(self._table)

    @property
    def name(self) -> TableName | None:
        """The table; None until the connector has opened it."""
        return self._table

    @property
    def last(self) -> int | None:
        """The snapshot up to which all is delivered, for `after=` another time; None until that is known."""
        return self._last

    @property
    def error(self) -> FrazilError | None:
        """Why it ended before it was asked to; the connector fails with it."""
        return self._error

    @property
    def needed(self) -> int:
        """The sequence number from which on snapshots have to stay."""
        return self._needed

    @property
    def runs_here(self) -> bool:
        """Whether it is the function that asks."""
        return self._thread is threading.current_thread()

    def stop(self) -> None:
        """Stop for good: nothing more is delivered. Where the function is at work, wait for it."""
        self.cancelled = True
        self.end()
        self.wait()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing more is delivered: the connector has ended, or this did; whether it came to that."""
        thread = self._thread
        if thread is not None and not self.runs_here:
            thread.join(timeout)
        return not self._runs

    def start(self) -> None:
        """Begin, or go on where it was."""
        with self._lock:
            self._error = None
            self._finishing.clear()
            self._stopping.clear()
            self._wake.set()
            if not self._runs:
                self._runs = True
                # Without this the function's jobs would not be in the caller's pool.
                target = inheritable_thread_target(self._session)(self._run)
                self._thread = threading.Thread(target=target, name=f"frazil-{self._settings.key}-commits", daemon=True)
                self._thread.start()

    def follow(self, table: TableName, since: int) -> None:
        """Say which table it is, once; where no snapshot was given, it begins after that sequence number."""
        if self._table is None:
            self._since = since
            self._table = table

    def wake(self) -> None:
        """Say that there may be a commit."""
        self._wake.set()

    def finish(self) -> None:
        """Deliver what is committed by now, and end."""
        self._finishing.set()
        self._wake.set()

    def end(self) -> None:
        """End after what the function is at work with."""
        self._stopping.set()
        self._wake.set()

    def _run(self) -> None:
        try:
            self._deliver_until_asked_to_end()
        except FrazilError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 (a bug: the connector must say so and not go on without it)
            # As text: a renderer that shows local variables would show the client's secrets.
            _log.error("unexpected error", connector=self._settings.name, traceback=traceback.format_exc())
            self._fail(Unexpected(error))

    def _deliver_until_asked_to_end(self) -> None:
        commits: Commits | None = None
        while True:
            # First this, then what there is: so nothing is left that was committed before.
            finishing = self._finishing.is_set()
            if commits is None and self._table is not None:
                commits = Commits(self._settings, self._session, self._table, self._last, self._since)
            try:
                if commits is not None:
                    self._deliver(commits)
            except Transient as error:
                if not answers(self._session):
                    raise SparkEnded from error
                # Asked to end; or stamina is switched off in this process, where it takes no second attempt.
                if self._wait_out(error, 1, FIRST):
                    continue
            if self._is_asked_to_end(finishing=finishing):
                return
            self._wake.wait()
            self._wake.clear()

    def _deliver(self, commits: Commits) -> None:
        """Deliver all there is."""
        while not self._stopping.is_set():
            for attempt in attempts(self._wait_out):
                with attempt:
                    found = commits.next()
            self._last, self._needed = commits.last, commits.needed
            if found is None:
                return
            rows, commit = found
            self._call(rows, commit)
            commits.done(commit)
            self._last, self._needed = commits.last, commits.needed

    def _call(self, rows: DataFrame, commit: Commit) -> None:
        try:
            self._function(rows, commit)
        except BaseException as error:
            _log.error("the function that follows a table raised", table=commit.table, traceback=traceback.format_exc())
            raise FollowerFailed(commit.table, commit.snapshot_id, self._last, error) from error

    def _wait_out(self, error: Transient, attempt: int, seconds: float) -> bool:
        """Wait before looking again; whether to."""
        if not answers(self._session):
            return False
        if not self._stopping.is_set():
            _log.warning(
                "commits cannot be delivered now",
                connector=self._settings.name,
                table=self.table,
                cause=str(error),
                attempt=attempt,
                next_attempt=f"in {seconds:.1f} s",
            )
        return not self._stopping.wait(seconds)

    def _is_asked_to_end(self, *, finishing: bool) -> bool:
        """Whether to end; from then on a start makes another thread."""
        with self._lock:
            # A start may have come in between.
            self._runs = not (self._stopping.is_set() or (finishing and self._finishing.is_set()))
            return not self._runs

    def _fail(self, error: FrazilError) -> None:
        with self._lock:
            self._error = error
            self._runs = False
        self._alarm()
