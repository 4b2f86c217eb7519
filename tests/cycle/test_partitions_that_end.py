"""Partitions that end, as shards do that are split or merged: what comes after them waits for their ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import TABLE, Clock, Feeding, Trouble, World
from tests.memory import SEQUENCES, MemoryCluster, MemoryRecord, MemoryRow
from tests.memory.sequences.positions import END, sequence

from frazil.cycle import Ingestion
from frazil.model import SourcePartition, TableName
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, read


@pytest.fixture
def world() -> World:
    """A stream of one shard with three records."""
    made = World(MemoryCluster(SEQUENCES))
    made.cluster.create_topic("orders")
    write(made, shard(0), 3)
    return made


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


def shard(number: int) -> SourcePartition:
    return SourcePartition("orders", f"shard-{number:03d}")


def write(world: World, partition: SourcePartition, count: int) -> None:
    log = world.cluster.log(partition)
    log.append(*(MemoryRecord({"id": log.latest + n}) for n in range(count)))


def rows(world: World) -> list[MemoryRow]:
    """The table's rows, in the order in which they were committed."""
    return world.table.rows()


def landed(world: World, partition: SourcePartition) -> list[int]:
    return sorted(row.offset for row in rows(world) if row.partition == partition)


def tokens(world: World) -> Tokens:
    found = read(world.table.state, str(TABLE), "SHOP")
    assert found
    return found


def channel(world: World, partition: SourcePartition) -> Channel:
    return tokens(world).channel(partition)


def cycles(connector: Ingestion, count: int = 1) -> None:
    for _ in range(count):
        connector.cycle()


def test_a_shard_lands_and_goes_on_behind_its_last_sequence_number(world: World) -> None:
    connector = world.run()
    write(world, shard(0), 2)
    connector.cycle()
    again = world.run()
    write(world, shard(0), 1)
    again.cycle()

    assert landed(world, shard(0)) == [0, 1, 2, 3, 4, 5]
    assert channel(world, shard(0)).token == sequence(5)
    assert tokens(world).source == SEQUENCES


def test_children_are_read_only_once_their_parent_is_covered_to_its_end(world: World) -> None:
    connector = world.run()
    write(world, shard(0), 2)
    left, right = world.cluster.split(shard(0))
    for each in (left, right):
        write(world, each, 4)

    connector.cycle()
    assert landed(world, shard(0)) == [0, 1, 2, 3, 4]
    assert (landed(world, left), landed(world, right)) == ([], [])

    connector.cycle()
    assert (landed(world, left), landed(world, right)) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert [row.partition for row in rows(world)][:5] == [shard(0)] * 5


def test_tokens_say_that_a_partition_is_closed_and_whose_records_come_before_a_childs(world: World) -> None:
    connector = world.run()
    left, right = world.cluster.split(shard(0))
    write(world, left, 1)
    assert not channel(world, shard(0)).closed

    cycles(connector, 2)

    parent, child = channel(world, shard(0)), channel(world, left)
    assert (parent.closed, parent.token, parent.parsed) == (True, END.last, 3)
    assert (child.closed, child.parents, child.token) == (False, (shard(0).partition,), sequence(0))
    assert not channel(world, right).closed


def test_a_partition_that_is_covered_to_its_end_is_not_read_again(world: World) -> None:
    connector = world.run()
    world.cluster.end(shard(0))
    connector.cycle()
    asked: list[str] = []
    world.cluster.on_request = asked.append

    cycles(connector, 2)
    cycles(world.run())

    assert "read" not in asked
    assert landed(world, shard(0)) == [0, 1, 2]
    assert channel(world, shard(0)).closed


def test_grandchildren_come_after_children(world: World) -> None:
    connector = world.run()
    left, right = world.cluster.split(shard(0))
    write(world, left, 2)
    write(world, right, 2)
    first, second = world.cluster.split(left)
    write(world, first, 2)
    write(world, second, 2)

    order = []
    for _ in range(4):
        before = len(rows(world))
        connector.cycle()
        order.append({row.partition for row in rows(world)[before:]})

    assert order == [set(), {left, right}, {first, second}, set()]
    assert channel(world, first).parents == (left.partition,)


def test_what_was_merged_waits_for_both_of_its_parents(world: World) -> None:
    connector = world.run()
    left, right = world.cluster.split(shard(0))
    cycles(connector, 2)
    write(world, left, 1)
    write(world, right, 1)
    (merged,) = world.cluster.merge(left, right)
    write(world, merged, 3)
    world.cluster.log(right).closed = False

    cycles(connector, 3)
    assert channel(world, left).closed
    assert (landed(world, left), landed(world, right), landed(world, merged)) == ([0], [0], [])
    world.cluster.end(right)
    cycles(connector, 2)

    assert (landed(world, left), landed(world, right), landed(world, merged)) == ([0], [0], [0, 1, 2])
    assert channel(world, merged).parents == (left.partition, right.partition)
    assert [row.partition for row in rows(world)][-3:] == [merged] * 3


def test_a_new_table_gets_the_parents_first_as_well(world: World) -> None:
    left, right = world.cluster.split(shard(0))
    write(world, left, 2)
    write(world, right, 2)

    connector = world.run()
    assert {row.partition for row in rows(world)} == {shard(0)}
    connector.cycle()

    assert [len(landed(world, each)) for each in (shard(0), left, right)] == [3, 2, 2]


def test_one_that_starts_at_the_end_reads_nothing_of_a_closed_partition_and_its_childrens_news(world: World) -> None:
    latest = {"consumer__override__auto__offset__reset": "latest"}
    left, right = world.cluster.split(shard(0))
    write(world, left, 2)

    connector = world.run(**latest)
    write(world, left, 1)
    write(world, right, 1)
    connector.cycle()

    assert (landed(world, shard(0)), landed(world, left), landed(world, right)) == ([], [2], [0])
    assert channel(world, shard(0)).closed


def test_a_goal_is_covered_once_children_of_what_has_ended_are(world: World) -> None:
    connector = world.run()
    left, right = world.cluster.split(shard(0))
    write(world, left, 2)
    write(world, right, 1)
    goal = connector.goal(connector.discover())
    assert goal[shard(0)] == END
    assert goal.keys() == {shard(0), left, right}

    seen = []
    while not connector.covers(goal):
        connector.cycle()
        seen.append(len(rows(world)))
        assert len(seen) < 5

    assert seen == [3, 6]
    write(world, left, 1)
    assert connector.covers(goal)
    assert not connector.covers(connector.goal(connector.discover()))


def test_a_goal_of_partitions_that_ended_without_a_record_is_covered(world: World) -> None:
    connector = world.run()
    left, right = world.cluster.split(shard(0))
    world.cluster.end(left)
    world.cluster.end(right)
    goal = connector.goal(connector.discover())

    assert not connector.covers(goal)
    cycles(connector, 2)

    assert connector.covers(goal)
    assert [channel(world, each).closed for each in (shard(0), left, right)] == [True] * 3


def test_a_table_that_is_behind_gets_the_rest_of_a_parent_before_its_children_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("frazil.cycle.table_failures.time", clock)
    behind, ahead = TableName(("public",), "BEHIND"), TableName(("public",), "AHEAD")
    world.routing = Feeding(behind, ahead)
    connector = world.run()
    write(world, shard(0), 2)
    left, right = world.cluster.split(shard(0))
    write(world, left, 2)
    write(world, right, 2)
    trouble = Trouble(world, behind, "build")
    cycles(connector, 2)
    trouble.end()
    clock.now += 60
    write(world, left, 1)

    order = []
    for _ in range(3):
        before = len(world.catalog.tables[behind].rows())
        connector.cycle()
        order.append({row.partition for row in world.catalog.tables[behind].rows()[before:]})

    assert order == [{shard(0)}, {left, right}, set()]
    every = [
        *((shard(0), offset) for offset in range(5)),
        *((left, offset) for offset in range(3)),
        (right, 0),
        (right, 1),
    ]
    for name in (behind, ahead):
        assert sorted((row.partition, row.offset) for row in world.catalog.tables[name].rows()) == every
