"""What is said of a statement that somebody cancels."""

from __future__ import annotations

import threading

import pytest

from frazil.errors import QueryCancelled
from frazil.queries.waiting import Cancelling


@pytest.mark.parametrize(("changes", "said"), [(False, "changed nothing"), (True, "may have happened all the same")])
def test_what_was_asked_of_the_catalog_may_happen_after_it_was_cancelled(changes: bool, said: str):
    cancelling, asked, goes_on = Cancelling(), threading.Event(), threading.Event()

    def call() -> None:
        asked.set()
        goes_on.wait(30)

    def cancel() -> None:
        asked.wait(30)
        cancelling.cancel()

    threading.Thread(target=cancel, daemon=True).start()
    with pytest.raises(QueryCancelled, match=said):
        cancelling.wait(call, changes=changes)
    goes_on.set()


def test_what_was_cancelled_before_it_was_asked_has_changed_nothing():
    cancelling = Cancelling()
    cancelling.cancel()

    with pytest.raises(QueryCancelled, match="changed nothing"):
        cancelling.wait(lambda: pytest.fail("it was asked"), changes=True)
