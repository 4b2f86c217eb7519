"""The real code in a thread of its own that stands still at named points, so that others can act in between.

Only one of all threads ever runs: whoever tells an actor to go on waits until it stands again or is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Crash(BaseException):
    """The process dies here: no handler of the code under test catches it."""


class Actor:
    """One piece of work that can be stopped at each point it reaches."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._until: str | None = None
        self._crashing = False
        self._may_run = threading.Semaphore(0)
        self._has_stopped = threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._bug: BaseException | None = None
        self.done = False

    def go(self, until: str | None) -> None:
        """Run on until the point `until` is reached, or to the end; what the work raised is raised here."""
        self._until = until
        if self._thread is None and until is None:
            self._run()
        elif self._thread is None:
            self._thread = threading.Thread(target=self._in_thread, daemon=True)
            self._thread.start()
            self._has_stopped.acquire()
        else:
            self._may_run.release()
            self._has_stopped.acquire()
        if self._bug is not None:
            raise self._bug

    def crash(self) -> None:
        """Die where it stands."""
        if self._thread is not None and not self.done:
            self._crashing = True
            self.go(None)

    def stand(self, point: str) -> None:
        """In the actor's own thread: it has come to `point`."""
        if point != self._until:
            return
        self._has_stopped.release()
        self._may_run.acquire()
        if self._crashing:
            raise Crash

    def _in_thread(self) -> None:
        _here.actor = self
        try:
            self._run()
        finally:
            self._has_stopped.release()

    def _run(self) -> None:
        try:
            self._work()
        except Crash:
            pass
        except BaseException as bug:  # noqa: BLE001 (the thread hands it to the test)
            self._bug = bug
        finally:
            self.done = True


_here = threading.local()


def reach(point: str) -> None:
    """Stand still if the actor of this thread was told to go no further than `point`."""
    actor: Actor | None = getattr(_here, "actor", None)
    if actor is not None:
        actor.stand(point)
