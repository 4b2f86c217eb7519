"""What the machine found, told plainly."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.cycle.memory import TABLE, Clock, Feeding, Trouble, World, orders
from tests.memory import MemoryLog

from frazil.cycle import Ingestion
from frazil.errors import CatalogUnavailable, LogTruncated, RecordsReplaced, RecordsSkipped, TokensMissing
from frazil.model import SourcePartition, TableName

A, B = (TableName(("public",), name) for name in "AB")
SKIP = {"frazil__on__data__loss": "skip"}
BOTH = {"topics": "orders,returns", "snowflake__topic2table__map": "orders:orders,returns:orders"}


def test_a_running_connector_reads_nothing_of_a_topic_whose_opening_was_rolled_back():
    world = World()
    world.cluster.create_topic("orders")
    running = world.run(**BOTH)
    before = world.table.state.current_id
    world.cluster.create_topic("returns").logs[0].latest = 5
    world.cluster.log(SourcePartition("returns", 0)).retain(5)
    world.produce(3, topic="returns")
    running.cycle()

    world.catalog.tables[TABLE].set_current(before)
    running.recall()

    with pytest.raises(TokensMissing, match="returns"):
        running.cycle()
    assert world.offsets(topic="returns") == []


@pytest.fixture
def shared() -> World:
    """A topic that feeds two tables."""
    made = World(routing=Feeding(A, B))
    made.cluster.create_topic("orders")
    return made


def log(world: World) -> MemoryLog:
    return world.cluster.log(orders())


def landed(world: World, name: TableName) -> list[tuple[int, int]]:
    """Offset and leader epoch of the record of each row."""
    return sorted((row.offset, row.leader_epoch) for row in world.catalog.tables[name].rows())


def roll_back(world: World, name: TableName, snapshot: int | None) -> None:
    assert snapshot is not None
    world.catalog.tables[name].set_current(snapshot)


def at_first(world: World, request: str, act: Callable[[], object]) -> None:
    """Do something right before the cluster answers a request for the first time."""
    pending = [act]

    def on_request(name: str) -> None:
        if name == request and pending:
            pending.pop()()

    world.cluster.on_request = on_request


def until_quiet(running: Ingestion, *errors: type[Exception]) -> None:
    """Run cycles as a connector does, over errors of these kinds, until one has nothing to do."""
    for _ in range(10):
        try:
            if running.cycle().idle:
                return
        except errors:
            running.recall()
    pytest.fail("it does not come to rest")


def test_a_rolled_back_table_takes_no_other_one_back_over_what_a_truncation_replaced(shared: World):
    shared.produce(4)
    running = shared.run(**SKIP)
    before = shared.catalog.tables[B].state.current_id
    log(shared).truncate(2)
    shared.produce(1)
    until_quiet(running, RecordsReplaced)

    roll_back(shared, B, before)
    running.recall()
    until_quiet(running, RecordsReplaced)

    once = [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0)]
    assert (landed(shared, A), landed(shared, B)) == (once, once)


def test_tables_at_one_offset_of_different_logs_are_looked_at_each(shared: World):
    shared.produce(4)
    running = shared.run(**SKIP)
    before = shared.catalog.tables[B].state.current_id
    log(shared).truncate(2)
    shared.produce(2)
    until_quiet(running, RecordsReplaced)

    roll_back(shared, B, before)  # to the same offset token, of the former log
    running.recall()
    shared.produce(3)
    until_quiet(running, RecordsReplaced)

    both = sorted([(n, 0) for n in range(4)] + [(n, 1) for n in range(2, 7)])
    assert (landed(shared, A), landed(shared, B)) == (both, both)


@pytest.fixture
def apart(shared: World) -> World:
    """Of eight records, the first table has five and the second none."""
    shared.run(**SKIP)
    before = shared.catalog.tables[B].state.current_id
    shared.produce(5)
    shared.run(**SKIP)
    roll_back(shared, B, before)
    shared.produce(3)
    return shared


def truncate_and_grow(world: World) -> None:
    log(world).truncate(2)
    world.produce(6)


@pytest.mark.parametrize("request_", ["discover", "latest", "read", "facts"])
def test_a_truncation_at_any_step_of_a_cycle_is_seen_by_tables_that_are_apart(apart: World, request_: str):
    at_first(apart, request_, lambda: truncate_and_grow(apart))

    until_quiet(apart.connector(**SKIP), RecordsReplaced)

    for name in A, B:
        found = landed(apart, name)
        assert [each for each in found if each[0] < 2 or each[1] == 1] == [
            (0, 0),
            (1, 0),
            *((n, 1) for n in range(2, 8)),
        ]
        assert len(found) == len({*found})
    assert {(n, 0) for n in range(5)} <= {*landed(apart, A)}


def test_a_truncation_while_tables_that_are_apart_are_read_stops_the_connector(apart: World):
    at_first(apart, "read", lambda: truncate_and_grow(apart))

    with pytest.raises(LogTruncated, match=r"truncated at offset 2 .* its offset token is 4"):
        apart.connector().cycle()

    assert landed(apart, A) == [(n, 0) for n in range(5)]


@pytest.mark.parametrize("loss", ["truncation", "retention"])
def test_a_loss_that_one_table_cannot_write_down_does_not_hold_up_the_other(
    shared: World, monkeypatch: pytest.MonkeyPatch, loss: str
):
    clock = Clock()
    monkeypatch.setattr("frazil.cycle.table_failures.time", clock)
    shared.produce(5)
    running = shared.run(**SKIP)
    if loss == "truncation":
        log(shared).truncate(3)
        shared.produce(4)
    else:
        shared.produce(4)
        log(shared).retain(7)
    trouble = Trouble(shared, A, "build")

    until_quiet(running, RecordsReplaced, RecordsSkipped)
    assert running.failing.keys() == {A}
    new = [(n, 1) for n in range(3, 7)] if loss == "truncation" else [(7, 0), (8, 0)]
    assert landed(shared, B) == sorted([(n, 0) for n in range(5)] + new)

    trouble.end()
    clock.now += 100
    until_quiet(running, RecordsReplaced, RecordsSkipped, CatalogUnavailable)
    assert landed(shared, A) == landed(shared, B)
