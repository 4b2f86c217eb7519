"""The same for many tables, several at a time where their catalog allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import wait
from functools import partial
from typing import Any, TypeVar

from frazil.cycle.daemons import Daemons
from frazil.errors import FrazilError

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


class TablePool:
    """Threads that a connector keeps for its tables."""

    def __init__(self, most: int, name: str) -> None:
        """Do `most` things at a time, in threads called `name`; with 1, in the caller's own."""
        self._most = most
        self._threads = Daemons(most, name)

    def each(self, do: Callable[[_Item], _Done], items: Sequence[_Item]) -> list[_Done | FrazilError]:
        """What `do` makes of each of the items, in their order: its answer, or the error of ours that it raised.

        Whatever else is raised goes on from here, after all of them have ended.
        """
        if self._most == 1 or len(items) < 2:
            return [_answer(do, item) for item in items]
        answers = [self._threads.submit(partial(_answer, do, item)) for item in items]
        wait(answers)
        return [answer.result() for answer in answers]

    def close(self) -> None:
        """Let the threads end."""
        self._threads.close()


def errors_in(items: Iterable[_Item], answers: Iterable[Any]) -> dict[_Item, FrazilError]:
    """The items that were answered with an error, and their errors."""
    return {item: answer for item, answer in zip(items, answers, strict=True) if isinstance(answer, FrazilError)}


def _answer(do: Callable[[_Item], _Done], item: _Item) -> _Done | FrazilError:
    try:
        return do(item)
    except FrazilError as error:
        return error
