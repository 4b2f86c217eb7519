"""The commits that a table's history tells of: each once, in order, whatever the table goes through."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.channels import with_channel

from frazil.errors import HistoryExpired, HistoryMoved
from frazil.model import SourcePartition
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.history import Commit, CommitCursor, Covered, place_of
from frazil.tables.rules.state import TableState, ancestors
from frazil.tables.rules.tokens import RESET, encode, key_of

from .histories import CONNECTOR, TABLE, History

ADDED = "added-records"


class Landing(History):
    """A history of a connector that lands records: how far it is decides what its commits say."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[int, Channel] = {}
        """What the channel's tokens are as of each snapshot."""

        self.parents: dict[int, int] = {}
        """Parents of our snapshots, also of those that expired."""

        self.summaries: dict[int, dict[str, str]] = {}
        """What stands beside the tokens in them."""

        self.owners = 0
        self.landed: list[int] = []
        """Snapshots that cover something, each of them once."""

    def open(self) -> int:
        """Take the table: the tokens stay what they are, the owner is another one."""
        self.owners += 1
        return self._commit(self._here())

    def land(self, rows: int = 3, errors: int = 0, gaps: int = 0) -> int:
        """One cycle."""
        here = self._here()
        end = int(here.token or -1) + rows + errors + gaps
        moved = Channel(
            str(end), 0, here.inserted + rows, here.parsed + rows + errors, here.errors + errors, self._last + 1
        )
        self.landed.append(self._commit(moved, **({ADDED: str(rows)} if rows else {})))
        return self.landed[-1]

    def other(self) -> int:
        """A commit of somebody else."""
        number = self.foreign(**{"operation": "append", ADDED: "5"})
        self.at[number] = self._here(self.snapshots[number].parent)
        return number

    def reset(self, token: int) -> int:
        """Have the channel go on elsewhere, by a command."""
        self.owners += 1
        return self._commit(replace(self._here(), token=str(token), time=self._last + 1), **{RESET: "{}"})

    def _here(self, snapshot: int | None = None) -> Channel:
        return self.at.get(snapshot or self.current or 0, Channel("-1"))

    def _commit(self, channel: Channel, **summary: str) -> int:
        self.ours(0, owner=f"owner-{self.owners}", epoch=self.owners, channel=channel, **summary)
        self.at[self._last] = channel
        self.parents[self._last] = self.snapshots[self._last].parent or 0
        self.summaries[self._last] = summary
        return self._last


@pytest.fixture
def history() -> Landing:
    landing = Landing()
    landing.open()
    return landing


def following(after: int) -> CommitCursor:
    return CommitCursor(TABLE, CONNECTOR, after)


def deliver(trail: CommitCursor, state: TableState) -> Iterator[Commit]:
    """All there is to deliver; what was given is done with when the next is asked for."""
    while (commit := trail.next(state)) is not None:
        yield commit
        trail.done()


def test_a_commit_says_what_it_covers_and_how_much_it_added(history: Landing) -> None:
    history.land(rows=3)
    history.land(rows=5, errors=2, gaps=1)

    _, commit = deliver(following(1), history.state)

    assert (commit.table, commit.snapshot_id, commit.sequence_number, commit.owner_epoch) == (TABLE, 3, 3, 1)
    assert commit.covered == (Covered("orders", 0, 3, 11),)
    assert (commit.rows, commit.records, commit.errors, commit.lost) == (5, 7, 2, 0)


def test_a_commit_without_rows_is_one_if_it_covers_offsets(history: Landing) -> None:
    history.land(rows=0, errors=2)
    history.land(rows=0, gaps=1)

    assert [(each.covered, each.rows, each.errors) for each in deliver(following(1), history.state)] == [
        ((Covered("orders", 0, 0, 2),), 0, 2),
        ((Covered("orders", 0, 2, 3),), 0, 0),
    ]


def test_openings_resets_and_what_others_commit_are_none(history: Landing) -> None:
    history.other()
    history.open()
    history.reset(0)
    history.open()
    history.ours(7, connector="ANOTHER", **{ADDED: "4"})
    history.foreign(operation="replace")

    assert [*deliver(following(1), history.state)] == []


def test_where_a_channel_only_starts_is_no_commit_and_what_comes_after_begins_there(history: Landing) -> None:
    begun = Landing()
    begun._commit(Channel("41"))
    begun.land(rows=2)

    (commit,) = deliver(following(1), begun.state)

    assert commit.covered == (Covered("orders", 0, 42, 44),)


def test_a_partition_that_appears_later_is_covered_from_its_start(history: Landing) -> None:
    history.land()
    tokens = history.ours(0, owner="owner-1", channel=history.at[2])
    added = with_channel(tokens, SourcePartition("orders", 1), Channel("4", time=9), "cluster", "topic-id")
    history._append({key_of(CONNECTOR): encode(added), ADDED: "5"})

    (commit,) = deliver(following(2), history.state)

    assert commit.covered == (Covered("orders", 1, 0, 5),)


def test_after_a_snapshot_of_somebody_else_the_next_commit_is_counted_from_the_one_before(history: Landing) -> None:
    history.land(rows=3)
    other = history.other()
    history.land(rows=2)

    (commit,) = deliver(following(other), history.state)

    assert (commit.covered, commit.records) == ((Covered("orders", 0, 3, 5),), 2)


def test_an_expired_snapshot_is_no_gap_if_what_came_after_it_is_there(history: Landing) -> None:
    history.land(rows=3)
    history.land(rows=2)
    history.expire(1, 2)

    (commit,) = deliver(following(2), history.state)

    assert (commit.snapshot_id, commit.rows) == (3, 2)
    assert commit.covered == (Covered("orders", 0, None, 5),)
    assert (commit.records, commit.errors, commit.lost) == (None, None, None)


def test_of_several_channels_those_count_that_moved_also_where_the_commit_before_has_expired(history: Landing) -> None:
    both = history.ours(0, owner="owner-1", channel=Channel("4", time=1))
    for offset, time in ((5, 2), (7, 3)):
        moved = with_channel(both, SourcePartition("orders", 1), Channel(str(offset), time=time), "cluster", "topic-id")
        history._append({key_of(CONNECTOR): encode(moved), ADDED: "2"})

    (commit,) = deliver(following(3), history.state)
    assert commit.covered == (Covered("orders", 1, 6, 8),)

    history.expire(1, 2, 3)
    (commit,) = deliver(following(3), history.state)
    assert commit.covered == (Covered("orders", 1, None, 8),)


def test_a_commit_without_rows_is_passed_over_where_the_commit_before_has_expired(history: Landing) -> None:
    history.land(rows=0, errors=1)
    history.land()
    history.expire(1)

    assert [each.snapshot_id for each in deliver(following(1), history.state)] == [3]


def test_an_opening_is_no_commit_where_what_came_before_has_expired(history: Landing) -> None:
    history.land(rows=3)
    history.open()
    history.land(rows=1)
    history.expire(1, 2)

    assert [each.snapshot_id for each in deliver(following(2), history.state)] == [4]


def test_expired_snapshots_in_between_are_an_error_that_names_the_oldest_there_is(history: Landing) -> None:
    history.land()
    history.land()
    history.land()
    history.expire(1, 2, 3)

    with pytest.raises(HistoryExpired, match=r"after snapshot 2 .* is 4\. .*VERSION AS OF 4.*after=4") as found:
        following(2).next(history.state)

    assert found.value.oldest == 4


def test_snapshots_that_expire_before_they_are_delivered_are_an_error(history: Landing) -> None:
    history.land()
    history.land()
    history.land()
    trail = following(1)
    trail.next(history.state)
    trail.done()
    history.expire(1, 2, 3)

    with pytest.raises(HistoryExpired) as found:
        trail.next(history.state)

    assert found.value.oldest == 4


def test_a_commit_that_expires_in_hand_is_an_error(history: Landing) -> None:
    history.land()
    history.land()
    trail = following(1)
    trail.next(history.state)
    history.expire(1, 2)

    with pytest.raises(HistoryExpired):
        trail.next(history.state)


def test_a_rollback_past_what_was_delivered_is_an_error_that_names_what_is_left(history: Landing) -> None:
    history.land()
    history.land()
    trail = following(1)
    assert len([*deliver(trail, history.state)]) == 2
    history.roll_back(to=2)
    history.open()
    history.land()

    with pytest.raises(HistoryMoved, match="after=2") as found:
        trail.next(history.state)

    assert found.value.common == 2


def test_what_is_rolled_back_before_it_was_delivered_is_not_delivered(history: Landing) -> None:
    first = history.land()
    history.land()
    history.land()
    trail = following(1)
    trail.next(history.state)
    trail.done()
    trail.next(history.state)  # in hand, and not done with
    history.roll_back(to=first)
    history.open()
    again = history.land()

    assert [each.snapshot_id for each in deliver(trail, history.state)] == [again]


def test_a_rollback_that_was_rolled_forward_again_is_nothing(history: Landing) -> None:
    history.land()
    last = history.land()
    trail = following(1)
    delivered = [*deliver(trail, history.state)]
    history.roll_back(to=1)
    history.roll_back(to=last)
    history.land()

    delivered += deliver(trail, history.state)

    assert [each.snapshot_id for each in delivered] == history.landed


def test_a_replaced_table_is_an_error(history: Landing) -> None:
    last = history.land()
    history.begin_anew()

    with pytest.raises(HistoryMoved) as found:
        following(last).next(history.state)
    assert found.value.common is None

    history.open()
    with pytest.raises(HistoryMoved) as found:
        following(last).next(history.state)
    assert found.value.common is None
    with pytest.raises(HistoryMoved):
        following(4711).next(history.state)


def test_a_cherry_pick_is_no_commit_unless_it_is_the_commit_itself(history: Landing) -> None:
    history.land()
    gone = history.land()
    history.roll_back(to=2)
    history.other()
    history.cherry_pick(gone)

    assert [each.snapshot_id for each in deliver(following(1), history.state)] == [2]


def test_the_place_of_a_sequence_number_is_the_snapshot_that_was_current_then(history: Landing) -> None:
    first = history.land()
    history.land()
    history.roll_back(to=first)
    history.land()

    assert place_of(history.state, TABLE, 2) == first
    assert place_of(history.state, TABLE, 3) == first  # the one of that number is not part of it any more
    history.expire(1, 2)
    assert place_of(history.state, TABLE, 2) == first
    history.begin_anew()
    history.open()
    with pytest.raises(HistoryMoved):
        place_of(history.state, TABLE, 2)


class Story:
    """A table that lives through what is drawn, and somebody who follows it."""

    def __init__(self) -> None:
        self.history = Landing()
        self.history.open()
        self.trail = following(1)
        self.delivered: list[Commit] = []

    def land(self, rows: int, errors: int, gaps: int) -> None:
        self.history.land(rows, errors, gaps)

    def open(self) -> None:
        self.history.open()

    def other(self) -> None:
        self.history.other()

    def reset(self, token: int) -> None:
        self.history.reset(token)

    def expire(self, left: int) -> None:
        kept = {each.id for each in itertools.islice(ancestors(self.history.state), left)}
        self.history.expire(*set(self.history.snapshots) - kept)

    def roll_back(self, place: int) -> None:
        known = sorted(self.history.snapshots)
        self.history.roll_back(to=known[place % len(known)])

    def look(self) -> None:
        """Take one in hand, and come to no end with it."""
        self.trail.next(self.history.state)

    def take(self, count: int) -> None:
        for commit in itertools.islice(deliver(self.trail, self.history.state), count):
            self.delivered.append(commit)
            self.trail.done()

    def restart(self) -> None:
        self.trail = following(self.trail.last)


acts = st.lists(
    st.one_of(
        st.tuples(st.just(Story.land), st.integers(0, 3), st.integers(0, 2), st.integers(1, 2)),
        st.tuples(st.sampled_from([Story.open, Story.other, Story.look, Story.restart])),
        st.tuples(st.sampled_from([Story.take, Story.expire]), st.integers(1, 5)),
        st.tuples(st.just(Story.reset), st.integers(-1, 9)),
        st.tuples(st.just(Story.roll_back), st.integers(0, 30)),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(acts)
def test_every_commit_of_the_history_is_delivered_once_and_in_order_or_an_error_says_why_not(acts) -> None:
    story = Story()
    history = story.history
    try:
        for act, *arguments in acts:
            act(story, *arguments)
        story.take(100)
    except (HistoryExpired, HistoryMoved) as error:
        require_reason(error, history.state, story.trail.last)
        return

    found = [each.snapshot_id for each in story.delivered]
    reachable = [each.id for each in ancestors(history.state)][::-1]
    assert len(set(found)) == len(found)
    assert set(found) <= set(history.landed)
    # Of a commit without rows nobody can tell that it is one, where the commit before has expired.
    first = next((each for each in reachable if each in history.parents), None)
    unknown = {first} - set(found) if ADDED not in history.summaries.get(first, ()) else set()
    expected = [each for each in reachable if each in history.landed and each not in unknown]
    assert [each for each in found if each in reachable] == expected
    for commit in story.delivered:
        (covered,) = commit.covered
        assert covered.end == int(history.at[commit.snapshot_id].token) + 1
        if covered.start is not None:
            parent = history.at[history.parents[commit.snapshot_id]]
            assert covered.start == int(parent.token) + 1
            assert commit.records == commit.rows + commit.errors


def require_reason(error: HistoryExpired | HistoryMoved, state: TableState, last: int) -> None:
    """There is an error only where nobody can go on from the last commit."""
    here = [*ancestors(state)]
    assert last not in [each.id for each in here]
    assert here[-1].parent != last
    assert isinstance(error, HistoryMoved) or error.oldest == here[-1].id
