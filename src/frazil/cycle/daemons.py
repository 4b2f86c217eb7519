"""Threads that work beside the cycles, and never keep a process from ending."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

_Done = TypeVar("_Done")
_Work: TypeAlias = tuple[Future[Any], Callable[[], Any]]


class Daemons:
    """Threads that are kept: a new one would need a new connection to the JVM each time.

    They are daemons, unlike those of `concurrent.futures`: a catalog that never answers must not keep a process from
    ending.
    """

    def __init__(self, most: int, name: str) -> None:
        """Work in `most` threads at a time, called `name`; each is started when there is work for it."""
        self._most = most
        self._name = name
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._threads = 0

    def submit(self, work: Callable[[], _Done]) -> Future[_Done]:
        """Have work done behind what waits already; its answer, or what it raises, is in the future."""
        future: Future[_Done] = Future()
        self._work.put((future, work))
        if self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._run, name=f"{self._name}-{self._threads}", daemon=True).start()
        return future

    def close(self) -> None:
        """Let the threads end once they have done what they are at; what waits is cancelled."""
        while not self._work.empty():
            try:
                waiting = self._work.get_nowait()
            except queue.Empty:
                break
            if waiting is not None and waiting[0].cancel():
                waiting[0].set_running_or_notify_cancel()
        for _ in range(self._threads):
            self._work.put(None)
        self._threads = 0

    def _run(self) -> None:
        while (found := self._work.get()) is not None:
            future, work = found
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 (it is raised where the answer is asked for)
                future.set_exception(error)
