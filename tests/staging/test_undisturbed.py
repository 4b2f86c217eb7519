"""Python's garbage collector while a task runs."""

from __future__ import annotations

import gc
import weakref

from frazil.staging import worker


class Knot:
    """Refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_the_collector_is_off_while_a_task_runs_and_on_for_a_users_functions():
    with worker.undisturbed():
        during = gc.isenabled()

    assert (during, gc.isenabled()) == (False, True)


def test_garbage_does_not_pile_up_while_a_task_runs():
    with worker.undisturbed():
        first = weakref.ref(Knot())
        for _ in range(60_000):
            Knot()

        worker.collect()

        assert first() is None
