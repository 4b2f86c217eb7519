from __future__ import annotations

from frazil.tables.rules.expiry import MOST_KEPT, kept, named_by_snapshots, needed_by_others, oldest_kept
from frazil.tables.rules.state import PUBLISHED_WAP
from frazil.tables.rules.tokens import key_of

from .histories import CONNECTOR, TABLE, History


def test_snapshots_may_go_while_every_mirror_tells_the_tokens() -> None:
    history = History()
    history.foreign()
    history.ours(5)
    history.ours(7, connector="ANOTHER")
    history.foreign(operation="replace")

    assert named_by_snapshots(history.state, TABLE) == []
    history.expire(1, 2, 3)
    assert named_by_snapshots(history.state, TABLE) == []


def test_after_a_rollback_snapshots_stay_until_the_connector_has_committed_again() -> None:
    history = History()
    history.ours(5)
    history.ours(9)
    history.roll_back(to=1)
    history.ours(3, connector="ANOTHER")

    assert named_by_snapshots(history.state, TABLE) == [CONNECTOR]
    history.ours(7)
    assert named_by_snapshots(history.state, TABLE) == []


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
        assert named_by_snapshots(history.state, TABLE) == [CONNECTOR]


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


def test_snapshots_stay_without_which_tokens_would_become_uncertain() -> None:
    history = History()
    history.ours(5)
    history.branch("audit", at=1)
    history.roll_back(to=2)  # forwarded to the branch

    assert named_by_snapshots(history.state, TABLE) == []
    assert named_by_snapshots(history.state, TABLE, {1}) == [CONNECTOR]
    history.ours(7)
    assert named_by_snapshots(history.state, TABLE, {1, 2}) == []


def test_the_snapshots_stay_that_tell_the_tokens_of_branches_and_tags() -> None:
    history = History()
    history.ours(5)
    history.ours(70, connector="ANOTHER")
    history.foreign()
    history.branch("audit", at=3)
    history.branch("audit")
    history.references["tagged"] = history.ours(8).snapshot_seq
    for token in (9, 10):
        history.ours(token)

    doomed = {*history.snapshots} - {history.current, *history.references.values()}
    assert needed_by_others(history.state, doomed) == {1, 2, 3, 4}
    assert doomed - needed_by_others(history.state, doomed) == {7}

    history.expire(7)
    history.roll_back(to=history.references["audit"])
    assert named_by_snapshots(history.state, TABLE) == [CONNECTOR]


def test_no_snapshot_stays_for_a_branch_whose_tokens_have_expired_or_never_were() -> None:
    history = History()
    history.ours(5)
    for _ in range(3):
        history.foreign()
    history.branch("audit", at=4)
    history.ours(6)
    history.expire(1)

    assert needed_by_others(history.state, {2, 3, 4}) == set()


def test_what_was_staged_stays_until_it_is_published() -> None:
    history = History()
    history.ours(5)
    staged, published = history.staged(), history.staged()
    history.foreign(**{PUBLISHED_WAP: f"audit {published}"})

    assert needed_by_others(history.state, {staged, published}) == {staged}


def test_the_age_of_snapshots_is_that_of_the_clock_on_which_less_time_has_passed() -> None:
    day = 86_400_000
    opened = 20_000 * day

    assert oldest_kept(opened + 5, opened, 5, 2) == opened + 3
    assert oldest_kept(opened + 5 * day, opened, 5, 2) == opened + 3, "a clock that runs ahead"
    assert oldest_kept(opened - 5 * day, opened, 5, 2) == opened - 5 * day - 2, "one that is behind"
