"""Waiting for what cannot be interrupted, until somebody cancels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, TypeVar

from frazil.errors import QueryCancelled

_Value = TypeVar("_Value")


class Cancelling:
    """What one statement waits for; `cancel` ends the waiting, from any thread."""

    def __init__(self) -> None:
        self._interrupts: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._waited: Future[Any] | None = None
        self._changes = False
        self.is_cancelled = False

    def cancel(self) -> None:
        """End what is waited for now, and all that comes after it."""
        with self._lock:
            self.is_cancelled = True
            interrupts, waited, changes = list(self._interrupts), self._waited, self._changes
        if waited is not None:
            _settle(waited, QueryCancelled(changes=changes))
        for interrupt in interrupts:
            interrupt()

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        """Have `interrupt` called as soon as somebody cancels.

        Raises:
            QueryCancelled: somebody has.
        """
        with self._lock:
            self._interrupts.append(interrupt)
        self.check()

    def check(self) -> None:
        """Go on only if nobody has cancelled.

        Raises:
            QueryCancelled: somebody has.
        """
        if self.is_cancelled:
            raise QueryCancelled

    def wait(self, call: Callable[[], _Value], *, changes: bool = False) -> _Value:
        """What a call into the JVM answers; it goes on unheard if somebody cancels.

        Args:
            call: the call.
            changes: whether it changes anything.

        Raises:
            QueryCancelled: somebody has.
        """
        answer: Future[_Value] = Future()

        def run() -> None:
            try:
                value = call()
            except BaseException as error:  # noqa: BLE001 (it is raised where it is waited for)
                _settle(answer, error)
            else:
                _settle(answer, None, value)

        with self._lock:
            self._waited, self._changes = answer, changes
        self.check()
        threading.Thread(target=run, name="frazil-planning", daemon=True).start()
        try:
            return answer.result()
        finally:
            with self._lock:
                self._waited = None


def _settle(answer: Future[Any], error: BaseException | None, value: object = None) -> None:
    with suppress(InvalidStateError):  # it was answered before
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)
