"""Several connectors in one process, over topics and tables in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import World, settings
from tests.memory import MemoryRecord, connector

from frazil.config import ConnectorSettings
from frazil.connector import Connector, State
from frazil.connector.fleet import Fleet
from frazil.errors import (
    CatalogUnavailable,
    ConnectorExists,
    ConnectorUnknown,
    FleetEnded,
    InvalidConfiguration,
    TableNotSupported,
)
from frazil.model import TableName

BAD = MemoryRecord(b"not JSON")
TOMBSTONE = MemoryRecord(None)


@pytest.fixture
def world() -> World:
    made = World()
    for topic in ("orders", "returns"):
        made.cluster.create_topic(topic)
        made.produce(3, topic=topic)
    return made


@pytest.fixture
def fleet(world: World) -> Iterator[Fleet]:
    made = Fleet(lambda found: connector(found, world.cluster, world.catalog))
    yield made
    made.stop()
    assert made.wait(30)


def of(topic: str, **keys: str) -> ConnectorSettings:
    """A connector of the topic's name, which reads it."""
    return settings(name=topic, topics=topic, frazil__commit__interval__ms="10", **keys)


def until(found: Connector, condition: Callable[[], bool]) -> None:
    """Wait for a condition, looked at after each cycle and each change of state."""
    changed = threading.Event()
    found.on_cycle(lambda _: changed.set())
    found.on_state(lambda _: changed.set())
    while not condition():
        assert changed.wait(30), found.state
        changed.clear()


def rows(world: World, table: str) -> int:
    found = world.catalog.tables.get(TableName(("public",), table))
    return len(found.rows()) if found and found.state.current_id else 0


def test_connectors_that_are_added_land_their_topics_side_by_side(fleet: Fleet, world: World) -> None:
    for topic in ("orders", "returns"):
        fleet.add(of(topic)).wait_until_caught_up(30)

    assert [rows(world, table) for table in ("ORDERS", "RETURNS")] == [3, 3]
    assert [*fleet.connectors] == ["ORDERS", "RETURNS"]


def test_one_of_the_same_key_is_refused_and_the_one_that_runs_goes_on(fleet: Fleet, world: World) -> None:
    first = fleet.add(of("orders"))

    with pytest.raises(ConnectorExists, match="connector ORDERS cannot be added: the connector orders runs"):
        fleet.add(settings(name="ORDERS", topics="returns"))

    world.produce(2)
    assert first.wait_until_caught_up(30)
    assert rows(world, "ORDERS") == 5


def test_one_that_would_send_records_round_for_ever_is_refused_and_the_others_go_on(fleet: Fleet, world: World) -> None:
    aside = {"errors__tolerance": "all"}
    key = "errors__deadletterqueue__topic__name"
    first = fleet.add(settings(name="orders", **aside, **{key: "returns"}))

    with pytest.raises(InvalidConfiguration, match="for ever"):
        fleet.add(settings(name="returns", topics="returns", **aside, **{key: "orders"}))

    world.produce(2)
    assert first.wait_until_caught_up(30)
    assert [*fleet.connectors] == ["ORDERS"]


def test_of_many_that_add_the_same_at_once_one_does(fleet: Fleet) -> None:
    def add(_: int) -> bool:
        try:
            fleet.add(of("orders"))
        except ConnectorExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(add, range(8))) == 1


@pytest.mark.parametrize("verb", [Fleet.remove, Fleet.pause, Fleet.resume, Fleet.restart, Fleet.connector])
def test_a_name_that_none_has_is_an_error_that_says_which_there_are(
    fleet: Fleet, verb: Callable[[Fleet, str], object]
) -> None:
    fleet.add(of("orders"))

    with pytest.raises(ConnectorUnknown, match="no connector shop runs in this process: there are orders"):
        verb(fleet, "shop")


def test_one_is_replaced_while_another_goes_on_landing(fleet: Fleet, world: World) -> None:
    others = fleet.add(of("returns"))
    old = fleet.add(of("orders"))
    old.wait_until_caught_up(30)

    new = fleet.replace(of("orders", behavior__on__null__values="ignore"))
    world.cluster.topics["orders"].logs[0].append(TOMBSTONE)
    world.produce(4)
    world.produce(4, topic="returns")

    assert new.wait_until_caught_up(30)
    assert others.wait_until_caught_up(30)
    assert (old.state, fleet.connector("orders")) == (State.STOPPED, new)
    assert [rows(world, table) for table in ("ORDERS", "RETURNS")] == [7, 7]


def test_one_that_is_removed_has_ended_and_may_be_added_again(fleet: Fleet, world: World) -> None:
    removed = fleet.add(of("orders"))
    removed.wait_until_caught_up(30)

    fleet.remove("orders")
    world.produce(2)

    assert removed.state is State.STOPPED
    assert not fleet.connectors
    assert fleet.add(of("orders")).wait_until_caught_up(30)
    assert rows(world, "ORDERS") == 5


def test_one_that_is_paused_lands_nothing_until_it_is_resumed(fleet: Fleet, world: World) -> None:
    paused = fleet.add(of("orders"))
    paused.wait_until_caught_up(30)
    fleet.pause("orders")
    until(paused, lambda: paused.state is State.PAUSED)

    world.produce(2)
    assert rows(world, "ORDERS") == 3
    fleet.resume("orders")

    assert paused.wait_until_caught_up(30)
    assert rows(world, "ORDERS") == 5


def test_one_that_is_paused_stays_so_when_it_is_replaced(fleet: Fleet, world: World) -> None:
    fleet.add(of("orders")).wait_until_caught_up(30)
    fleet.pause("orders")

    new = fleet.replace(of("orders", behavior__on__null__values="ignore"))
    until(new, lambda: new.state is State.PAUSED)
    world.produce(2)
    assert rows(world, "ORDERS") == 3
    fleet.resume("orders")

    assert new.wait_until_caught_up(30)
    assert rows(world, "ORDERS") == 5


def test_one_that_cannot_be_made_with_other_settings_runs_on(world: World) -> None:
    made = [connector(of("orders"), world.cluster, world.catalog)]
    fleet = Fleet(lambda _: made.pop())
    old = fleet.add(of("orders"))

    with pytest.raises(IndexError):
        fleet.replace(of("orders", behavior__on__null__values="ignore"))

    world.produce(2)
    assert fleet.connector("orders").wait_until_caught_up(30)
    assert (fleet.connector("orders"), rows(world, "ORDERS")) == (old, 5)
    fleet.stop()


def test_none_starts_once_all_are_stopped(fleet: Fleet) -> None:
    found = fleet.add(of("orders"))
    found.wait_until_caught_up(30)
    stopping = threading.Thread(target=fleet.stop)

    def stop_all(state: State) -> None:
        if state is State.STOPPED and not stopping.ident:
            stopping.start()
            stopping.join(0.2)  # as far as it gets: its turn comes after the restart's

    found.on_state(stop_all)
    with pytest.raises(FleetEnded, match="connector orders was not started"):
        fleet.restart("orders")
    with pytest.raises(FleetEnded):
        fleet.add(of("returns"))

    stopping.join(30)
    assert fleet.wait(0)
    assert [*fleet.connectors] == ["ORDERS"]


def test_many_may_ask_for_different_things_at_once(fleet: Fleet, world: World) -> None:
    others = fleet.add(of("returns"))

    def ask(number: int) -> None:
        wish = (fleet.restart, fleet.pause, fleet.resume, fleet.remove, fleet.restart)[number % 5]
        try:
            wish("orders")
        except ConnectorUnknown:
            fleet.add(of("orders"))

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(ask, number) for number in range(40)]:
            assert future.exception() is None or isinstance(future.exception(), ConnectorExists)

    world.produce(2, topic="returns")
    assert others.wait_until_caught_up(30)
    assert rows(world, "RETURNS") == 5
    with suppress(ConnectorExists):
        fleet.add(of("orders"))
    fleet.resume("orders")
    assert fleet.connector("orders").wait_until_caught_up(30)
    assert rows(world, "ORDERS") == 3


def test_one_that_failed_is_restarted_and_the_others_never_stopped(fleet: Fleet, world: World) -> None:
    others = fleet.add(of("returns"))
    others.wait_until_caught_up(30)

    def refused(request: str, name: TableName) -> None:
        if name.name == "ORDERS":
            raise TableNotSupported("public.ORDERS", "it is another one's")

    world.catalog.on_table_request = refused
    failed = fleet.add(of("orders"))
    until(failed, lambda: failed.state is State.FAILED)
    world.catalog.on_table_request = lambda *_: None
    fleet.restart("orders")

    assert failed.wait_until_caught_up(30)
    assert others.state is State.RUNNING
    assert rows(world, "ORDERS") == 3


def test_a_fleet_has_ended_once_all_of_it_has(fleet: Fleet, world: World) -> None:
    for topic in ("orders", "returns"):
        fleet.add(of(topic), until_caught_up=True)

    assert fleet.wait(30)
    assert {each.state for each in fleet.connectors.values()} == {State.STOPPED}
    assert rows(world, "RETURNS") == 3


def test_a_listener_that_raises_is_logged_and_its_connector_goes_on(fleet: Fleet, world: World) -> None:
    found = fleet.add(of("orders"))

    def raises(_: object) -> None:
        raise CatalogUnavailable("listen", "it hears nothing")

    def leaves(_: object) -> None:
        raise SystemExit

    with capture_logs() as logs:
        for listen in (found.on_cycle, found.on_state):
            listen(raises)
            listen(leaves)
        world.produce(2)
        assert found.wait_until_caught_up(30)
        fleet.pause("orders")
        until(found, lambda: found.state is State.PAUSED)
        fleet.resume("orders")
        assert found.wait_until_caught_up(30)

    assert found.state is State.RUNNING
    assert {each["event"] for each in logs if each["log_level"] == "error"} == {"a listener failed"}
    assert rows(world, "ORDERS") == 5


def test_a_report_says_what_became_of_each_table(world: World) -> None:
    running = world.connector(topics="orders,returns", errors__tolerance="all", behavior__on__null__values="ignore")
    running.cycle()
    world.produce(2)
    world.cluster.topics["returns"].logs[0].append(*(BAD, TOMBSTONE))

    report = running.cycle()

    orders, returns = report.tables[TableName(("public",), "ORDERS")], report.tables[TableName(("public",), "RETURNS")]
    assert (orders.records, orders.rows, orders.errors, orders.skipped, orders.files) == (2, 2, 0, 0, 1)
    assert (returns.records, returns.rows, returns.errors, returns.skipped, returns.files) == (2, 0, 1, 1, 0)
    assert report.snapshots == {name: counts.snapshot for name, counts in report.tables.items()}
    assert (report.records, report.rows, report.errors) == (4, 2, 1)
