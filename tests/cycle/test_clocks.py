"""Clocks that are wrong: a connector waits until it may commit, and takes no table for older than it is."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.memory import MemoryCatalog

from frazil.errors import ClockBehind, StageTooOld

from .memory import World, token

HOUR, DAY = 3600.0, 86_400.0


@dataclass
class Clock:
    """The clock of this machine, which somebody sets, and the time that really goes by."""

    monotonic: float = 1000.0
    ahead: float = 1_760_000_000.0
    """By how much the clock of this machine is set."""

    def wall(self) -> float:
        return self.monotonic + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.time", clock.wall)
    monkeypatch.setattr("time.monotonic", lambda: clock.monotonic)
    return clock


@pytest.fixture
def world(clock: Clock) -> World:
    world = World(catalog=MemoryCatalog(clock.wall, monotonic=lambda: clock.monotonic))
    world.cluster.create_topic("orders")
    return world


def test_while_its_clock_is_behind_the_table_it_stages_nothing_and_afterwards_it_goes_on(world: World, clock: Clock):
    world.produce(3)
    connector = world.run()
    clock.ahead -= 2 * HOUR
    world.produce(2)
    staged = len(world.catalog.files.data)

    with pytest.raises(ClockBehind, match=r"clock says 2025-10-09T07:.*ORDERS was last changed at 2025-10-09T09:"):
        connector.cycle()
    assert len(world.catalog.files.data) == staged

    clock.monotonic += 2 * HOUR
    connector.cycle()
    assert world.offsets() == [0, 1, 2, 3, 4]


def test_a_table_is_opened_only_once_the_clock_has_caught_up(world: World, clock: Clock):
    world.produce(3)
    world.run()
    clock.ahead -= 61
    before = world.table.state

    with pytest.raises(ClockBehind):
        world.run()
    assert world.table.state is before

    clock.monotonic += 1
    assert token(world.run()) == "2"


def test_a_minute_behind_is_no_matter(world: World, clock: Clock):
    world.produce(3)
    connector = world.run()
    clock.ahead -= 60
    world.produce(2)

    connector.cycle()

    assert world.offsets() == [0, 1, 2, 3, 4]


def test_files_are_as_old_as_the_time_that_went_by_and_not_as_a_clock_says_that_was_set(world: World, clock: Clock):
    connector = world.run()
    world.produce(3)
    world.catalog.on_request = lambda request: (
        setattr(clock, "ahead", clock.ahead + DAY) if request == "refresh" else None
    )
    connector.cycle()
    assert world.offsets() == [0, 1, 2]

    world.produce(3)
    world.catalog.on_request = lambda _: setattr(clock, "monotonic", clock.monotonic + HOUR + 1)
    with pytest.raises(StageTooOld):
        connector.cycle()


def test_a_clock_that_is_set_ahead_by_days_has_no_snapshot_expire_before_its_time(world: World, clock: Clock):
    connector = world.run()

    def land(minutes: int) -> None:
        for _ in range(minutes):
            clock.monotonic += 61
            world.produce(1)
            connector.cycle()

    land(10)
    kept = {*world.table.state.snapshots}
    clock.ahead += 5 * DAY
    land(5)
    assert kept < {*world.table.state.snapshots}

    land(20)
    assert kept.isdisjoint(world.table.state.snapshots)
