"""Which ledger of replayed records holds in a version of a table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import LedgerUnreadable
from frazil.model import SourcePartition
from frazil.tables.rules.replays import Ledger, LedgerName, decode, encode, encode_name, key_of, name_in
from frazil.tables.rules.state import MemorySnapshot, MemoryState

ORDERS = SourcePartition("orders", 0)
FIRST, SECOND = LedgerName("ledger-2", 2), LedgerName("ledger-4", 4)
LEDGERS = {"ledger-2": Ledger({ORDERS: frozenset({7})}), "ledger-4": Ledger({ORDERS: frozenset({7, 9})}, FIRST)}

places = st.tuples(
    st.builds(SourcePartition, st.text(max_size=3), st.integers(0, 3)), st.integers(0, 2**62) | st.text(max_size=3)
)


def history(*, current: int = 5, expired: int = 0) -> MemoryState:
    """Five snapshots, of which the second and the fourth are replays."""
    names = {2: FIRST, 4: SECOND}
    snapshots = {
        number: MemorySnapshot(
            number,
            number - 1 or None,
            number,
            {key_of("SHOP"): encode_name(names[number])} if number in names else {},
        )
        for number in range(1, 6)
        if number > expired
    }
    return MemoryState("uuid", current, snapshots, {key_of("SHOP"): encode_name(SECOND)})


def found(state: MemoryState) -> LedgerName | None:
    return name_in(state, "SHOP", LEDGERS.__getitem__)


@pytest.mark.parametrize(("current", "holds"), [(5, SECOND), (4, SECOND), (3, FIRST), (2, FIRST), (1, None)])
def test_a_rollback_past_a_replay_takes_it_from_the_ledger(current: int, holds: LedgerName | None) -> None:
    assert found(history(current=current)) == holds


def test_what_was_replayed_is_known_after_its_snapshot_has_expired() -> None:
    assert found(history(expired=4)) == SECOND


def test_a_rollback_is_known_where_only_the_snapshot_before_the_replay_is_left() -> None:
    state = history(current=3, expired=2)

    assert found(state) == FIRST


def test_a_table_that_was_begun_anew_has_nothing_that_was_replayed() -> None:
    anew = MemorySnapshot(9, None, 9, {})

    assert found(replace(history(), current_id=9, snapshots={9: anew})) is None
    assert found(replace(history(), current_id=None)) is None


def test_what_other_connectors_replayed_is_theirs() -> None:
    assert name_in(history(), "OTHER", LEDGERS.__getitem__) is None


@given(st.lists(places), st.lists(places))
def test_a_ledger_has_what_it_was_given_and_what_the_one_before_had_and_nothing_else(before, more) -> None:
    ledger = Ledger().followed_by(before, None).followed_by(more, FIRST)

    again = decode(encode(ledger), "path")

    assert again == ledger
    assert {(each, offset) for each, offsets in again.offsets.items() for offset in offsets} == {*before, *more}
    assert len(again) == len({*before, *more})


@pytest.mark.parametrize("content", [b"", b"no", encode(Ledger())[:-3]])
def test_a_damaged_ledger_is_no_empty_one(content: bytes) -> None:
    with pytest.raises(LedgerUnreadable, match="ledger-2"):
        decode(content, "ledger-2")


def test_a_damaged_name_is_no_empty_ledger() -> None:
    state = replace(history(), properties={key_of("SHOP"): '{"v": 9}'}, snapshots={5: MemorySnapshot(5, 4, 5, {})})

    with pytest.raises(LedgerUnreadable, match="version 9"):
        found(state)
