"""Answers of brokers that are behind: former leaders, and metadata from before partitions were added."""

from __future__ import annotations

import pytest
from tests.cycle.memory import Clock, World, orders
from tests.memory import MemoryLog

from frazil.cycle import Ingestion
from frazil.sources.kafka.positions import KafkaPosition

LATEST = {"consumer__override__auto__offset__reset": "latest"}


@pytest.fixture
def world() -> World:
    """A topic whose log has a second leader and ten records."""
    found = World()
    found.cluster.create_topic("orders")
    found.cluster.log(orders()).elect()
    found.produce(10)
    return found


def behind(world: World, end: int) -> None:
    """Have the former leader give the end of its log."""
    world.cluster.former[orders()] = KafkaPosition(end, 0)


def goal_of(running: Ingestion) -> dict:
    goal = running.goal(running.discover())
    assert goal is not None
    return dict(goal)


def test_the_end_that_a_former_leader_gives_is_no_goal_that_is_reached(world: World) -> None:
    running = world.connector()
    running.discover()
    goal = goal_of(running)
    behind(world, 0)

    running.cycle()

    assert not running.reached(goal)
    assert "former leader of epoch 0" in running.held[orders()].reason

    world.cluster.former.clear()
    running.cycle()
    assert running.reached(goal)
    assert running.held == {}
    assert world.offsets() == [*range(10)]


def test_a_goal_is_known_only_when_present_leaders_have_answered(world: World) -> None:
    running = world.run()
    behind(world, 4)

    assert running.goal(running.discover()) is None

    world.cluster.former.clear()
    assert goal_of(running) == {orders(): KafkaPosition(10)}


def test_the_end_that_a_former_leader_gives_is_no_truncation(world: World) -> None:
    running = world.run(**LATEST)  # its token has no epoch to compare by
    behind(world, 4)
    running.cycle()
    world.cluster.former.clear()
    world.produce(3)

    running.cycle()

    assert world.offsets() == [10, 11, 12]


def test_a_topic_that_is_made_again_begins_with_epochs_of_its_own(world: World) -> None:
    running = world.run(topics="", topics__regex="orders|returns")
    world.cluster.create_topic("returns").logs[0].elect()
    running.cycle()
    world.cluster.delete_topic("returns")
    running.cycle()
    world.cluster.create_topic("returns")

    assert goal_of(running) == {orders(): KafkaPosition(10), **{each: KafkaPosition(0) for each in returns(world)}}


def returns(world: World) -> list:
    return world.cluster.partitions("returns")


def test_an_older_epoch_is_believed_after_a_minute(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("frazil.sources.kafka.leader_epochs.time", clock)
    running = world.run()
    behind(world, 10)
    assert running.goal(running.discover()) is None

    clock.now += 61

    assert goal_of(running) == {orders(): KafkaPosition(10)}


@pytest.mark.parametrize("loss", ["fail", "skip"])
@pytest.mark.parametrize("restarted", [False, True])
def test_metadata_that_lacks_a_partition_is_no_loss_of_its_records(world: World, loss: str, restarted: bool) -> None:
    keys = {"frazil__on__data__loss": loss}
    world.cluster.add_partitions("orders", 2)
    world.produce(3, partition=1)
    running = world.run(**keys)
    logs: list[MemoryLog] = world.cluster.topics["orders"].logs
    hidden = logs.pop()
    running = world.connector(**keys) if restarted else running
    running.cycle()
    world.produce(1)
    running.cycle()

    logs.append(hidden)
    world.produce(2, partition=1)
    running.cycle()

    assert world.offsets(0) == [*range(11)]
    assert world.offsets(1) == [*range(5)]
