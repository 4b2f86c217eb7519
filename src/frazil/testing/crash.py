"""Crash, delay or fail the process at a named fault point (`frazil.faults.POINTS`).

Each is a context manager; several can be open at once, and act in the order they were opened.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

from frazil import faults
from frazil.faults import Point

_open: list[Callable[[Point], None]] = []


def crash_at(point: Point, hit: int = 1) -> AbstractContextManager[None]:
    """Kill the whole process group, as `kill -9` does, the `hit`-th time `point` is reached.

    Start the process in a session of its own, or the test goes with it.
    """
    return call_at(point, kill_group, hit)


@contextmanager
def crash_when(order: Path) -> Iterator[None]:
    """Kill the whole process group at the point that the file `order` names, once there is such a file.

    So that somebody outside says when; `os.replace` puts the file there in one piece.
    """

    def look(reached: Point) -> None:
        if order.exists() and order.read_text() == reached:
            kill_group()

    with ExitStack() as points:
        for point in faults.POINTS:
            points.enter_context(call_at(point, partial(look, point)))
        yield


def delay_at(point: Point, seconds: float, hit: int | None = None) -> AbstractContextManager[None]:
    """Stand still for `seconds` at `point`: every time, or only the `hit`-th."""
    return call_at(point, lambda: time.sleep(seconds), hit)


def fail_at(point: Point, error: BaseException, hit: int | None = 1) -> AbstractContextManager[None]:
    """Raise `error` the `hit`-th time `point` is reached; every time when `hit` is None."""

    def fail() -> NoReturn:
        raise error

    return call_at(point, fail, hit)


class Gate:
    """Where a thread stands that reached a halted point."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        """Set when the thread has come."""

        self._released = threading.Event()

    def release(self) -> None:
        """Let the thread go on."""
        self._released.set()

    def stand(self) -> None:
        """Stand here until released."""
        self.reached.set()
        self._released.wait()


@contextmanager
def halt_at(point: Point, hit: int = 1) -> Iterator[Gate]:
    """Hold the thread that reaches `point` until the test lets it go on, at the end of the block at the latest."""
    gate = Gate()
    with call_at(point, gate.stand, hit):
        try:
            yield gate
        finally:
            gate.release()


@contextmanager
def call_at(point: Point, action: Callable[[], object], hit: int | None = None) -> Iterator[None]:
    """Call `action` at `point`: every time, or only the `hit`-th time it is reached."""
    if point not in faults.POINTS:
        raise ValueError(f"there is no fault point {point!r}; there are {', '.join(faults.POINTS)}")
    times = itertools.count(1)

    def handle(reached: Point) -> None:
        if reached == point and (next(times) == hit or hit is None):
            action()

    _open.append(handle)
    faults.install(_handle_all)
    try:
        yield
    finally:
        _open.remove(handle)
        if not _open:
            faults.install(None)


def kill_group() -> None:
    """End this process, its JVM and its workers, with no chance to tidy up."""
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _handle_all(point: Point) -> None:
    for handle in tuple(_open):
        handle(point)
