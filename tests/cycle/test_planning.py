from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.channels import at, backlog, offsets

from frazil.cycle.planning import SMALL_TASK, Backlog, backlogs, gathered, ranges, spread
from frazil.errors import LogTruncated
from frazil.model import Range, SourcePartition

MB = 1024 * 1024

partitions = st.builds(SourcePartition, st.sampled_from(["a", "b"]), st.integers(0, 5))
sizes = st.none() | st.floats(0.5, 1e6)
waiting = st.lists(
    st.builds(
        lambda partition, start, length, size: backlog(partition, start, start + length, size),
        partitions,
        st.integers(0, 10**12),
        st.integers(1, 10**7),
        sizes,
    ),
    max_size=8,
    unique_by=lambda each: each.partition,
)


def size_of(each: Backlog) -> float:
    """What an offset counts for: of unknown size as 1 kB, and never for nothing."""
    return 1024.0 if each.size is None else max(64.0, each.size)


def orders(partition: int) -> SourcePartition:
    return SourcePartition("orders", partition)


@given(waiting, st.integers(1, 10**10))
def test_a_cycle_reads_some_of_every_channel_and_at_most_a_record_beyond_its_budget_from_each(
    found: list[Backlog], budget: int
) -> None:
    by_partition = {each.partition: each for each in found}

    chosen = ranges(found, budget)

    assert [each.partition for each in chosen] == sorted(by_partition)
    for each in chosen:
        waits = by_partition[each.partition]
        assert each.start == waits.start < each.end <= waits.latest
    total = sum(each.length * size_of(by_partition[each.partition]) for each in chosen)
    assert total <= (budget + sum(map(size_of, found))) * 1.000001


@given(waiting)
def test_a_backlog_within_the_budget_is_read_whole_but_for_topics_of_unknown_size(found: list[Backlog]) -> None:
    budget = int(sum(each.length * size_of(each) for each in found)) + 1

    read = {each.partition: each for each in ranges(found, budget)}

    for waits in found:
        expected = waits.latest if waits.size else min(waits.latest, waits.start.ahead(20_000, waits.latest))
        assert read[waits.partition].end == expected


def test_what_a_short_channel_does_not_need_is_the_others() -> None:
    found = [backlog(orders(0), 0, 10, 100.0), backlog(orders(1), 5, 1000, 100.0), backlog(orders(2), 0, 1000, 100.0)]

    assert ranges(found, 11_000) == [offsets(orders(0), 0, 10), offsets(orders(1), 5, 55), offsets(orders(2), 0, 50)]


planned = st.lists(
    st.builds(
        lambda partition, start, length: offsets(partition, start, start + length),
        partitions,
        st.integers(0, 10**12),
        st.integers(1, 10**6),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda each: each.partition,
)


@given(planned, st.fixed_dictionaries({"a": st.floats(1, 10**4), "b": st.floats(1, 10**4)}), st.integers(1, 16))
def test_tasks_cover_every_range_once_and_none_reads_a_partition_twice(
    given_ranges: list[Range], average: Mapping[str, float], most: int
) -> None:
    tasks = spread(given_ranges, average, most)

    assert 1 <= len(tasks) <= most
    assert all(tasks)
    for task in tasks:
        assert len({each.partition for each in task}) == len(task)
    for whole in given_ranges:
        pieces = sorted(
            (each for task in tasks for each in task if each.partition == whole.partition), key=lambda each: each.start
        )
        assert (pieces[0].start, pieces[-1].end) == (whole.start, whole.end)
        assert all(before.end == after.start for before, after in pairwise(pieces))
        assert all(each.length > 0 for each in pieces)


def test_two_pieces_of_one_partition_never_meet_in_one_task() -> None:
    megabytes = [152, 80, 80, 80, 8]
    found = [offsets(orders(number), 0, length) for number, length in enumerate(megabytes)]

    tasks = spread(found, {"orders": MB}, 4)

    assert sorted(each.length for task in tasks for each in task if each.partition == orders(0)) == [76, 76]
    assert all(len({each.partition for each in task}) == len(task) for task in tasks)


def test_a_small_backlog_is_one_task() -> None:
    found = [offsets(orders(number), 0, 100) for number in range(20)]

    assert spread(found, {"orders": 700.0}, 8) == [found]
    assert len(spread(found, {}, 8)) == 1


def test_topics_with_little_to_read_stay_whole_and_many_of_them_are_worth_a_second_task() -> None:
    few, many = (
        [offsets(SourcePartition(f"t{topic}", number), 0, 100) for topic in range(count) for number in range(3)]
        for count in (5, 200)
    )

    assert len(spread(few, {}, 2)) == 1
    tasks = spread(many, {}, 2)

    topics = [{each.partition.topic for each in task} for task in tasks]
    assert [len(each) for each in topics] == [100, 100]
    assert topics[0].isdisjoint(topics[1])


def test_a_topic_with_much_to_read_is_spread_and_a_little_one_beside_it_is_not() -> None:
    large = [offsets(orders(number), 0, 10_000) for number in range(4)]
    little = [offsets(SourcePartition("little", number), 0, 10) for number in range(4)]

    tasks = spread([*large, *little], {"orders": SMALL_TASK / 10_000, "little": 100.0}, 4)

    assert sorted(sum(each.partition.topic == "orders" for each in task) for task in tasks) == [1, 1, 1, 1]
    assert sorted(sum(each.partition.topic == "little" for each in task) for task in tasks) == [0, 0, 0, 4]


@given(st.lists(planned, max_size=6), st.fixed_dictionaries({"a": st.floats(1, 10**4)}), st.integers(1, 4))
def test_what_is_read_again_is_gathered_whole_and_no_task_reads_a_partition_twice(
    tasks: list[list[Range]], average: Mapping[str, float], most: int
) -> None:
    again = gathered(tasks, average, most)

    assert sorted(map(repr, (each for task in again for each in task))) == sorted(
        map(repr, (each for task in tasks for each in task))
    )
    assert all(len({each.partition for each in task}) == len(task) > 0 for task in again)
    assert len(again) <= max(most, len(tasks))


def test_little_tasks_of_many_topics_are_gathered() -> None:
    tasks = [[offsets(SourcePartition(f"t{topic}", 0), 0, 100)] for topic in range(200)]

    assert [len(each) for each in gathered(tasks, {}, 2)] == [100, 100]


def test_a_large_backlog_is_as_many_tasks_as_there_are_cores_with_about_equal_bytes() -> None:
    found = [offsets(orders(number), 0, 10_000) for number in range(16)]

    tasks = spread(found, {"orders": SMALL_TASK / 10_000}, 4)

    assert [sum(each.length for each in task) for task in tasks] == [40_000] * 4


def test_one_hot_partition_is_cut_into_pieces() -> None:
    (hot,) = [offsets(orders(0), 7, 100_007)]

    tasks = spread([hot], {"orders": 256 * MB / 100_000}, 4)

    assert [[(each.start.first, each.end.first) for each in task] for task in tasks] == [
        [(7, 25_007)],
        [(25_007, 50_007)],
        [(50_007, 75_007)],
        [(75_007, 100_007)],
    ]


def test_only_channels_with_something_new_wait() -> None:
    starts = {orders(0): at(5), orders(1): at(5), orders(2): at(5), orders(3): at(0)}
    latest = {orders(0): at(5), orders(1): at(9), orders(3): at(1)}

    assert backlogs(starts, latest, {"orders": 3.0}) == [backlog(orders(1), 5, 9, 3.0), backlog(orders(3), 0, 1, 3.0)]


def test_a_partition_that_ends_before_its_token_is_truncated_never_nothing_new() -> None:
    with pytest.raises(LogTruncated, match="orders-0 ends at offset 4 but its offset token is 5"):
        backlogs({orders(0): at(6)}, {orders(0): at(4)}, {})
    with pytest.raises(LogTruncated):
        backlogs({orders(0): at(6)}, {orders(0): at(5)}, {})
    assert backlogs({orders(0): at(6)}, {orders(0): at(6)}, {}) == []


def test_channels_of_unknown_size_share_the_budget_too() -> None:
    found = [backlog(orders(number), 0, 10**6, None) for number in range(1000)]

    chosen = ranges(found, 512 * MB)

    assert {each.length for each in chosen} <= {524, 525}


def test_tombstones_do_not_make_a_cycle_without_end() -> None:
    (chosen,) = ranges([backlog(orders(0), 0, 10**10, 0.0)], 512 * MB)

    assert chosen.length == 512 * MB // 64
