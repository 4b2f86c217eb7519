"""One topic feeds several tables: where it is read, who lacks what of it, and when it is covered."""

from __future__ import annotations

from typing import cast

import pytest
from tests.support.channels import at, offsets, topic

from frazil.cycle.open_tables import OpenTable
from frazil.cycle.routes import covered_by_all, covers, fed_by, least_starts, needs, own_starts
from frazil.model import Position, SourcePartition, TableName
from frazil.sources.base import Acknowledgement, PartitionFacts, TopicFacts
from frazil.tables.base import WritableTable
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, TopicTokens

A, B, C = (TableName(("public",), name) for name in "ABC")


def orders(partition: int | str = 0) -> SourcePartition:
    return SourcePartition("orders", partition)


def at_token(*tokens: str | None) -> dict[int | str, Channel]:
    """Channels of partitions 0, 1 … at tokens."""
    return {number: Channel(token) for number, token in enumerate(tokens)}


def table(name: TableName, **topics: dict[int | str, Channel]) -> OpenTable:
    """A table that topics feed, whose channels are at tokens."""
    known = {each: TopicTokens("cluster", "id", channels) for each, channels in topics.items()}
    tokens = Tokens("shop", f"commit-{name.name}", "me", 1, topics=known)
    return OpenTable(cast("WritableTable", None), f"uuid-{name.name}", tokens, 1, set(topics))


def ahead_and_behind() -> dict[TableName, OpenTable]:
    """A is further on in partition 0, B in partition 1; C is fed by another topic."""
    return {
        A: table(A, orders=at_token("9", "4")),
        B: table(B, orders=at_token("6", "7"), more=at_token("2")),
        C: table(C, more=at_token("5")),
    }


FACTS = {"orders": topic("orders", partitions=2), "more": topic("more")}


def test_a_topic_feeds_the_tables_that_it_was_opened_for() -> None:
    assert [*fed_by("orders", ahead_and_behind())] == [A, B]
    assert [*fed_by("more", ahead_and_behind())] == [B, C]
    assert fed_by("others", ahead_and_behind()) == {}


def test_a_partition_is_read_from_the_least_of_its_tables_tokens() -> None:
    assert least_starts(ahead_and_behind(), FACTS) == {
        orders(0): at(7),
        orders(1): at(5),
        SourcePartition("more", 0): at(3),
    }
    assert least_starts({A: table(A, orders=at_token("9", "4"))}, FACTS) == {orders(0): at(10), orders(1): at(5)}


def test_a_partition_new_to_an_opened_topic_is_read_from_its_beginning_and_one_that_is_gone_is_not() -> None:
    tables = {A: table(A, orders=at_token("9")), B: table(B, orders=at_token("6", "7"))}

    assert least_starts(tables, FACTS) == {orders(0): at(7), orders(1): at(0)}
    assert least_starts(tables, {"orders": topic("orders")}) == {orders(0): at(7)}
    assert least_starts(tables, {}) == {}


def shards(*, gone: tuple[str, ...] = ()) -> dict[str, TopicFacts]:
    """A shard that was split in two, and one of those merged with another."""
    every = (
        PartitionFacts("a", closed=True),
        PartitionFacts("b", ("a",), closed=True),
        PartitionFacts("c", ("a",)),
        PartitionFacts("z", closed=True),
        PartitionFacts("d", ("b", "z")),
    )
    return {"orders": TopicFacts("orders", "", "", tuple(each for each in every if each.id not in gone))}


@pytest.mark.parametrize(
    ("closed", "read"),
    [("", "az"), ("a", "bcz"), ("z", "a"), ("ab", "cz"), ("az", "bc"), ("abz", "cd"), ("abcdz", "")],
)
def test_a_partition_is_read_once_all_of_its_parents_are_covered_and_until_it_is_covered_itself(
    closed: str, read: str
) -> None:
    known = {each: Channel("1", closed=True) for each in closed}

    assert [each.partition for each in sorted(least_starts({A: table(A, orders={**known})}, shards()))] == [*read]


def test_parents_that_the_source_no_longer_has_hold_nothing_up() -> None:
    tables = {A: table(A, orders={})}

    assert [each.partition for each in sorted(least_starts(tables, shards(gone=("a", "z"))))] == ["b", "c"]


def test_children_wait_for_a_parent_that_one_of_two_tables_has_not_to_its_end() -> None:
    ahead = table(A, orders={"a": Channel("1", closed=True), "b": Channel("5")})
    behind = table(B, orders={"a": Channel("5")})

    starts = least_starts({A: ahead, B: behind}, shards())

    # B would lack what A has of b already.
    assert starts == {orders("a"): at(6), orders("z"): at(0)}
    assert least_starts({A: ahead}, shards()).keys() == {orders("b"), orders("c"), orders("z")}


def test_a_table_says_where_it_goes_on_only_in_ranges_of_which_it_has_a_part() -> None:
    wanted = [offsets(orders(0), 7, 20), offsets(orders(1), 5, 20)]
    tables = ahead_and_behind()

    assert own_starts(tables[A], wanted) == {orders(0): at(10)}
    assert own_starts(tables[B], wanted) == {orders(1): at(8)}


@pytest.mark.parametrize(
    ("end_0", "end_1", "needed"), [(8, 5, False), (10, 5, False), (11, 5, True), (8, 6, True), (20, 20, True)]
)
def test_a_table_needs_what_lies_beyond_its_own_tokens(end_0: int, end_1: int, needed: bool) -> None:
    wanted = [offsets(orders(0), 7, end_0), offsets(orders(1), 5, end_1)]

    assert needs(ahead_and_behind()[A], wanted) is needed


def test_a_table_needs_nothing_of_a_partition_that_it_has_to_its_end() -> None:
    ended = table(A, orders={0: Channel("9", closed=True)})

    assert not needs(ended, [offsets(orders(), 7, 20)])
    assert covers([ended], orders(), at(10**9))


@pytest.mark.parametrize(("end", "both", "alone"), [(7, True, True), (8, False, True), (10, False, True)])
def test_a_partition_is_covered_where_all_tables_that_it_feeds_cover_it(end: int, both: bool, alone: bool) -> None:
    tables = ahead_and_behind()

    assert covers(tables.values(), orders(), at(end)) is both
    assert covers([tables[A], tables[C]], orders(), at(end)) is alone


def test_what_feeds_no_table_is_not_covered() -> None:
    assert not covers(ahead_and_behind().values(), SourcePartition("others", 0), at(0))


def test_what_is_acknowledged_is_the_least_place_and_the_commit_of_the_table_that_is_there() -> None:
    found = covered_by_all(ahead_and_behind(), ["orders", "more", "others"])

    assert found == {
        orders(0): Acknowledgement(at(7), "uuid-B", "commit-B"),
        orders(1): Acknowledgement(at(5), "uuid-A", "commit-A"),
        SourcePartition("more", 0): Acknowledgement(at(3), "uuid-B", "commit-B"),
    }
    assert covered_by_all(ahead_and_behind(), ["more"]).keys() == {SourcePartition("more", 0)}


@pytest.mark.parametrize("other", [{}, {0: Channel()}])
def test_nothing_is_acknowledged_of_a_partition_that_one_of_its_tables_never_opened(
    other: dict[int | str, Channel],
) -> None:
    tables = {A: table(A, orders=at_token("9")), B: table(B, orders=other)}

    assert covered_by_all(tables, ["orders"]) == {}


def test_epochs_are_those_of_the_table_whose_place_it_is() -> None:
    older: dict[int | str, Channel] = {0: Channel("9", 3)}
    newer: dict[int | str, Channel] = {0: Channel("12", 5)}

    found: Position = least_starts({A: table(A, orders=newer), B: table(B, orders=older)}, FACTS)[orders()]

    assert (found, found.leader_epoch) == (at(10), 3)
