"""The same for many tables, several at a time where their catalog allows it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from frazil.errors import FrazilError

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


class TablePool:
    """Threads that a connector keeps for its tables: a new one would need a new connection to the JVM each time.

    They are daemons, unlike those of `concurrent.futures`: a catalog that never answers must not keep a process from
    ending.
    """

    def __init__(self, most: int, name: str) -> None:
        """Do `most` things at a time, in threads called `name`; with 1, in the caller's own."""
        self._most = most
        self._name = name
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = 0

    def each(self, do: Callable[[_Item], _Done], items: Sequence[_Item]) -> list[_Done | FrazilError]:
        """What `do` makes of each of the items, in their order: its answer, or the error of ours that it raised.

        Whatever else is raised goes on from here, after all of them have ended.
        """
        if self._most == 1 or len(items) < 2:
            return [_answer(do, item) for item in items]
        while self._threads < min(self._most, len(items)):
            self._threads += 1
            threading.Thread(target=self._run, name=f"{self._name}-{self._threads}", daemon=True).start()
        answers: list[Future[_Done | FrazilError]] = [Future() for _ in items]
        for item, answer in zip(items, answers, strict=True):
            self._work.put(_settling(answer, do, item))
        wait(answers)
        return [answer.result() for answer in answers]

    def close(self) -> None:
        """Let the threads end."""
        for _ in range(self._threads):
            self._work.put(None)
        self._threads = 0

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def errors_in(items: Iterable[_Item], answers: Iterable[Any]) -> dict[_Item, FrazilError]:
    """The items that were answered with an error, and their errors."""
    return {item: answer for item, answer in zip(items, answers, strict=True) if isinstance(answer, FrazilError)}


def _answer(do: Callable[[_Item], _Done], item: _Item) -> _Done | FrazilError:
    try:
        return do(item)
    except FrazilError as error:
        return error


def _settling(future: Future[_Done | FrazilError], do: Callable[[_Item], _Done], item: _Item) -> Callable[[], None]:
    def settle() -> None:
        try:
            future.set_result(_answer(do, item))
        except BaseException as error:  # noqa: BLE001 (it is raised where the answer is asked for)
            future.set_exception(error)

    return settle
