from __future__ import annotations

from frazil.connector.backoff import FIRST, LONGEST, Backoff


def test_waits_grow_to_a_bound_and_a_success_begins_anew() -> None:
    backoff = Backoff()

    waits = [backoff.next() for _ in range(20)]

    assert FIRST / 2 <= waits[0] <= FIRST
    assert all(LONGEST / 2 <= wait <= LONGEST for wait in waits[10:])
    assert backoff.attempt == 20
    backoff.reset()
    assert backoff.next() <= FIRST
