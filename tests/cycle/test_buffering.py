from __future__ import annotations

import pytest
from tests.support.channels import at

from frazil.cycle.buffering import Buffering
from frazil.cycle.planning import Backlog
from frazil.model import Buffer, SourcePartition

ALL = Buffer(seconds=10, records=100, bytes=5_000)


def backlog(length: int, *, start: int = 0, size: float | None = 10.0, partition: int = 0) -> Backlog:
    return Backlog(SourcePartition("orders", partition), at(start), at(start + length), size)


def test_without_bounds_nothing_waits() -> None:
    waiting = [backlog(1), backlog(2, size=None, partition=1)]

    assert Buffering(None).due(waiting, 0.0) == waiting


def test_time_alone_makes_a_channel_due() -> None:
    buffering = Buffering(ALL)
    waiting = [backlog(1)]

    assert buffering.due(waiting, 1000.0) == []
    assert buffering.due(waiting, 1009.9) == []
    assert buffering.due(waiting, 1010.0) == waiting


def test_what_comes_later_does_not_put_off_what_waits() -> None:
    buffering = Buffering(ALL)
    buffering.due([backlog(1)], 0.0)

    assert buffering.due([backlog(9)], 9.0) == []
    assert buffering.due([backlog(10)], 10.0) == [backlog(10)]


def test_the_number_of_records_alone_makes_a_channel_due() -> None:
    buffering = Buffering(ALL)

    assert buffering.due([backlog(99)], 0.0) == []
    assert buffering.due([backlog(100)], 0.1) == [backlog(100)]


def test_bytes_alone_make_a_channel_due() -> None:
    buffering = Buffering(ALL)

    assert buffering.due([backlog(49, size=100.0)], 0.0) == []
    assert buffering.due([backlog(50, size=100.0)], 0.1) == [backlog(50, size=100.0)]


def test_each_channel_waits_for_itself() -> None:
    buffering = Buffering(ALL)
    buffering.due([backlog(5)], 0.0)

    due = buffering.due([backlog(5), backlog(100, partition=1), backlog(5, partition=2)], 4.0)
    assert due == [backlog(100, partition=1)]
    assert buffering.due([backlog(5), backlog(5, partition=2)], 10.0) == [backlog(5)]
    assert buffering.due([backlog(5, partition=2)], 14.0) == [backlog(5, partition=2)]


def test_after_a_commit_the_clock_begins_anew() -> None:
    buffering = Buffering(ALL)
    buffering.due([backlog(5)], 0.0)
    buffering.due([backlog(5)], 10.0)

    assert buffering.due([backlog(3, start=5)], 11.0) == []
    assert buffering.due([backlog(3, start=5)], 20.9) == []
    assert buffering.due([backlog(3, start=5)], 21.0) == [backlog(3, start=5)]


def test_a_channel_that_was_empty_for_long_waits_from_its_next_record() -> None:
    buffering = Buffering(ALL)
    buffering.due([backlog(5)], 0.0)
    buffering.due([], 500.0)

    assert buffering.due([backlog(5)], 501.0) == []


def test_what_a_cycles_budget_left_of_a_due_channel_does_not_wait_again() -> None:
    buffering = Buffering(ALL)
    assert buffering.due([backlog(1000)], 0.0) == [backlog(1000)]

    assert buffering.due([backlog(20, start=980)], 1.0) == [backlog(20, start=980)]
    assert buffering.due([backlog(20, start=1000)], 2.0) == []


def test_a_channel_whose_cycle_failed_is_due_still() -> None:
    buffering = Buffering(ALL)
    buffering.due([backlog(100)], 0.0)

    assert buffering.due([backlog(100)], 0.5) == [backlog(100)]


def test_bounds_that_are_not_set_make_nothing_due() -> None:
    buffering = Buffering(Buffer(bytes=1_000))

    assert buffering.due([backlog(99)], 0.0) == []
    assert buffering.due([backlog(99)], 10_000.0) == []
    assert buffering.due([backlog(100)], 10_001.0) == [backlog(100)]


def test_records_of_unknown_size_do_not_wait_for_bytes_that_nobody_can_count() -> None:
    assert Buffering(Buffer(bytes=1_000)).due([backlog(1, size=None)], 0.0) == [backlog(1, size=None)]
    assert Buffering(Buffer(seconds=10)).due([backlog(1, size=None)], 0.0) == []


@pytest.mark.parametrize(("bounds", "needs"), [(ALL, True), (Buffer(seconds=1, records=1), False), (None, False)])
def test_sizes_matter_only_to_a_bound_of_bytes(bounds: Buffer | None, needs: bool) -> None:
    assert Buffering(bounds).needs_sizes is needs


def test_the_time_left_is_that_of_the_channel_that_has_waited_longest() -> None:
    buffering = Buffering(ALL)
    assert buffering.seconds_left(0.0) is None

    buffering.due([backlog(5)], 100.0)
    buffering.due([backlog(5), backlog(5, partition=1)], 104.0)

    assert buffering.seconds_left(104.0) == 6.0
    assert buffering.seconds_left(150.0) == 0.0


def test_time_is_left_only_to_channels_that_are_not_being_read() -> None:
    buffering = Buffering(ALL)
    buffering.due([backlog(100), backlog(5, partition=1)], 0.0)
    assert buffering.seconds_left(1.0) == 9.0

    buffering.due([backlog(100, partition=1)], 2.0)
    assert buffering.seconds_left(2.0) is None
    assert Buffering(Buffer(records=5)).seconds_left(0.0) is None
