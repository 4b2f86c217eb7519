from __future__ import annotations

from frazil.tables.expiry import MOST_KEPT, kept, told_by_snapshots
from frazil.tables.tokens import key_of

from .histories import CONNECTOR, TABLE, History


def test_snapshots_may_go_while_every_mirror_tells_the_tokens() -> None:
    history = History()
    history.foreign()
    history.ours(5)
    history.ours(7, connector="ANOTHER")
    history.foreign(operation="replace")

    assert told_by_snapshots(history.state, TABLE) == []
    history.expire(1, 2, 3)
    assert told_by_snapshots(history.state, TABLE) == []


def test_after_a_rollback_snapshots_stay_until_the_connector_has_committed_again() -> None:
    history = History()
    history.ours(5)
    history.ours(9)
    history.roll_back(to=1)
    history.ours(3, connector="ANOTHER")

    assert told_by_snapshots(history.state, TABLE) == [CONNECTOR]
    history.ours(7)
    assert told_by_snapshots(history.state, TABLE) == []


def test_snapshots_stay_that_show_that_tokens_are_uncertain() -> None:
    rolled_back, picked, damaged = History(), History(), History()
    before = rolled_back.foreign()
    rolled_back.ours(5)
    rolled_back.roll_back(to=before)
    picked.ours(5)
    picked.ours(9)
    picked.roll_back(to=1)
    picked.cherry_pick(2)
    damaged.ours(5)
    damaged.properties[key_of(CONNECTOR)] = "damaged"

    for history in (rolled_back, picked, damaged):
        assert told_by_snapshots(history.state, TABLE) == [CONNECTOR]


def test_snapshots_that_somebody_needs_are_kept_up_to_a_limit() -> None:
    history = History()
    assert kept(history.state, 1) == 1
    for token in range(5):
        history.ours(token)

    assert kept(history.state, None) == 1
    assert kept(history.state, 5) == 1
    assert kept(history.state, 3) == 3  # that one itself, and two after it
    assert kept(history.state, 0) == 6
    assert kept(history.state, 9) == 1
    assert kept(history.state, 5 - 2 * MOST_KEPT) == MOST_KEPT
