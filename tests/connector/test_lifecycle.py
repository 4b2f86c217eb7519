"""A connector's life, over topics and tables in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import TABLE, World, settings
from tests.memory import MemoryEnds, connector

from frazil.connector import Connector, State
from frazil.errors import CatalogUnavailable, StillStopping, TableNotSupported, TopicMissing
from frazil.model import SourcePartition, TableName

BAD = TableName(("public",), "BAD")


@pytest.fixture
def world() -> World:
    made = World()
    made.cluster.create_topic("orders")
    made.produce(3)
    return made


@contextmanager
def running(world: World, **keys: str) -> Iterator[Connector]:
    made = connector(settings(frazil__commit__interval__ms="10", **keys), world.cluster, world.catalog)
    made.start()
    try:
        yield made
    finally:
        world.catalog.on_request = lambda _: None
        made.stop()
        made.wait(30)


def until(found: Connector, condition: Callable[[], bool]) -> None:
    """Wait for a condition, looked at after each cycle and each change of state."""
    changed = threading.Event()
    found.on_cycle(lambda _: changed.set())
    found.on_state(lambda _: changed.set())
    while not condition():
        assert changed.wait(30), found.state
        changed.clear()


def down(_: str) -> None:
    raise CatalogUnavailable("answer", "connection refused")


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without waits, and seconds of patience that are none."""
    monkeypatch.setattr("frazil.connector.backoff.spread", lambda _: 0.0)
    monkeypatch.setattr("frazil.connector.lifecycle._GRACE", 0.1)
    monkeypatch.setattr("frazil.connector.lifecycle._LAST_GRACE", 0.1)


def test_a_connector_that_could_not_open_keeps_its_opener_and_its_threads_across_retries(
    world: World, hurried: None
) -> None:
    attempts = 0
    enough = threading.Event()
    threads: set[str] = set()

    def refuse(request: str) -> None:
        nonlocal attempts
        threads.update(thread.name for thread in threading.enumerate())
        if request == "open":
            attempts += 1
            if attempts > 100:
                enough.set()
            raise CatalogUnavailable("open", "connection refused")

    world.catalog.on_request = refuse
    world.catalog.at_once = 4
    with running(world, name="keeper", topics="orders,more") as found:
        world.cluster.create_topic("more")
        assert enough.wait(30)
        world.catalog.on_request = lambda _: None
        assert found.wait_until_caught_up(30)

    assert world.offsets() == [0, 1, 2]
    assert len({name for name in threads if name.startswith("frazil-KEEPER-tables")}) <= 4
    assert len(world.table.history) == 2


def test_a_connector_starts_again_only_when_its_last_run_has_ended(world: World, hurried: None) -> None:
    block, blocked = threading.Event(), threading.Event()

    def hang(request: str) -> None:
        if request == "build":
            blocked.set()
            block.wait(60)

    with running(world) as found:
        assert found.wait_until_caught_up(30)
        world.catalog.on_request = hang
        world.produce(3)
        assert blocked.wait(30)
        found.stop()
        assert found.state is State.STOPPED
        with pytest.raises(StillStopping):
            found.start()

        world.catalog.on_request = lambda _: None
        block.set()
        assert found._thread
        found._thread.join(30)
        found.start()
        world.produce(2)
        assert found.wait_until_caught_up(30)

    assert world.offsets() == list(range(8))


def test_an_abandoned_run_does_not_fail_of_what_is_taken_away_from_it(world: World, hurried: None) -> None:
    block, blocked = threading.Event(), threading.Event()

    def hang(request: str) -> None:
        if request == "build":
            blocked.set()
            block.wait(60)
            raise RuntimeError("SparkContext was stopped")

    with running(world) as found:
        assert found.wait_until_caught_up(30)
        world.catalog.on_request = hang
        world.produce(3)
        assert blocked.wait(30)
        found.stop()
        block.set()
        assert found._thread
        found._thread.join(30)

        assert found.state is State.STOPPED
        assert found.error is None


def test_a_connector_that_is_started_right_when_it_fails_runs_again(world: World) -> None:
    again: list[State] = []

    with running(world) as found:
        assert found.wait_until_caught_up(30)

        def refuse(_: str) -> None:
            raise TableNotSupported("public.ORDERS", "it is partitioned", "Map it.")

        world.catalog.on_request = refuse
        world.produce(1)
        until(found, lambda: found.state is State.FAILED)
        world.catalog.on_request = lambda _: None
        found.start()
        again.append(found.state)
        assert found.wait_until_caught_up(30)

    assert again != [State.FAILED]
    assert world.offsets() == [0, 1, 2, 3]


def test_an_outage_is_one_line_of_the_log_however_many_attempts_it_outlasts(world: World, hurried: None) -> None:
    attempts = 0
    enough = threading.Event()

    def refuse(request: str) -> None:
        nonlocal attempts
        attempts += request == "refresh"
        if attempts > 50:
            enough.set()
        down(request)

    with capture_logs() as lines, running(world) as found:
        assert found.wait_until_caught_up(30)
        world.catalog.on_request = refuse
        world.produce(1)
        assert enough.wait(30)
        assert found.state is State.RETRYING
        world.catalog.on_request = lambda _: None
        assert found.wait_until_caught_up(30)

    warnings = [line["event"] for line in lines if line["log_level"] == "warning"]
    assert [event for event in warnings if not event.startswith("stamina.")] == [
        "the cycle is abandoned, and tried again until it works"
    ]
    assert world.offsets() == [0, 1, 2, 3]


def test_the_state_of_a_table_that_is_left_out_is_its_channels_and_the_connector_runs(world: World) -> None:
    world.cluster.create_topic("bad")
    world.produce(2, topic="bad")

    def refuse(request: str, name: TableName) -> None:
        if name == BAD and request == "open":
            raise CatalogUnavailable("load the table public.BAD", "forbidden")

    world.catalog.on_table_request = refuse
    with running(world, topics="orders,bad") as found:
        until(found, lambda: bool(world.catalog.tables.get(TABLE) and len(world.offsets()) == 3))
        until(found, lambda: found.state is State.RUNNING)
        status = {each.table: each for each in found.status()}

    assert (status["public.ORDERS"].state, status["public.ORDERS"].reason) == ("RUNNING", None)
    assert status["public.BAD"].state == "RETRYING"
    assert "forbidden" in str(status["public.BAD"].reason)
    assert (status["public.BAD"].offset_token, status["public.BAD"].lag_records) == (None, 2)


def test_who_runs_until_caught_up_hears_of_a_table_that_cannot_once_the_others_are(world: World) -> None:
    world.cluster.create_topic("bad")
    world.produce(2, topic="bad")
    error = TableNotSupported("public.BAD", "it is partitioned", "Map it.")

    def refuse(request: str, name: TableName) -> None:
        if name == BAD and request == "open":
            raise error

    world.catalog.on_table_request = refuse
    made = connector(settings(topics="orders,bad"), world.cluster, world.catalog)
    made.start(until_caught_up=True)
    assert made.wait(30)

    assert (made.state, made.error) == (State.FAILED, error)
    assert world.offsets() == [0, 1, 2]


def at_first_read(world: World, act: Callable[[], object]) -> None:
    """Do something to the topics when the goal of a run is fixed and its first records are about to be read."""
    pending = [act]

    def on_request(request: str) -> None:
        if request == "read" and pending:
            pending.pop()()

    world.cluster.on_request = on_request


def caught_up(world: World, **keys: str) -> Connector:
    """A connector that has run until it was caught up."""
    made = connector(settings(frazil__commit__interval__ms="10", **keys), world.cluster, world.catalog)
    made.start(until_caught_up=True)
    try:
        assert made.wait(30), made.condition
    finally:
        made.stop()
    return made


@pytest.mark.parametrize("keys", [{"topics": "orders,returns"}, {"topics": "", "topics__regex": "orders|returns"}])
def test_a_run_until_caught_up_names_a_topic_that_was_deleted_before_it_was_read(
    world: World, hurried: None, keys: dict[str, str]
) -> None:
    world.cluster.create_topic("returns")
    world.produce(5, topic="returns")
    at_first_read(world, lambda: world.cluster.delete_topic("returns"))

    ended = caught_up(world, **keys)

    assert isinstance(ended.error, TopicMissing)
    assert "returns" in ended.error.message
    assert world.offsets() == [0, 1, 2]


def test_a_run_until_caught_up_needs_no_deleted_topic_that_it_has_read(world: World, hurried: None) -> None:
    world.cluster.create_topic("returns")
    world.produce(5, topic="returns")
    assert caught_up(world, topics="orders,returns").state is State.STOPPED
    world.produce(4)
    at_first_read(world, lambda: world.cluster.delete_topic("returns"))

    assert caught_up(world, topics="orders,returns").state is State.STOPPED
    assert world.offsets() == [*range(7)]


def test_a_run_until_caught_up_ends_at_the_end_of_a_log_that_was_truncated(world: World, hurried: None) -> None:
    world.produce(50)
    log = world.cluster.log(SourcePartition("orders", 0))
    at_first_read(world, lambda: log.truncate(20))

    assert caught_up(world, frazil__on__data__loss="skip").state is State.STOPPED
    assert world.offsets() == [*range(20)]


def test_who_waits_until_caught_up_waits_for_no_record_that_was_truncated(world: World, hurried: None) -> None:
    with running(world, frazil__on__data__loss="skip") as found:
        assert found.wait_until_caught_up(30)
        log = world.cluster.log(SourcePartition("orders", 0))
        at_first_read(world, lambda: log.truncate(20))
        world.produce(50)

        assert found.wait_until_caught_up(30)

    assert world.offsets() == [*range(20)]


@pytest.mark.parametrize(("asked", "state"), [(True, State.STOPPED), (False, State.FAILED)])
def test_a_jvm_that_ends_with_a_stop_is_no_failure(
    world: World, hurried: None, monkeypatch: pytest.MonkeyPatch, asked: bool, state: State
) -> None:
    monkeypatch.setattr("frazil.connector.run._STOP_FOLLOWS", 5.0 if asked else 0.0)
    gone = threading.Event()

    def end(request: str) -> None:
        if request == "read":
            gone.set()
            raise ConnectionResetError("the JVM is gone")

    monkeypatch.setattr(MemoryEnds, "answers", lambda _: not gone.is_set())
    world.cluster.on_request = end
    with running(world) as found:
        assert gone.wait(30)
        if asked:
            found.stop()
        assert found.wait(30)
        assert found.state is state


def test_who_waits_until_caught_up_hears_of_a_table_that_cannot(world: World) -> None:
    world.cluster.create_topic("bad")
    error = TableNotSupported("public.BAD", "it is partitioned", "Map it.")

    def refuse(request: str, name: TableName) -> None:
        if name == BAD and request == "open":
            raise error

    world.catalog.on_table_request = refuse
    with running(world, topics="orders,bad") as found, pytest.raises(TableNotSupported):
        found.wait_until_caught_up(30)

    assert world.offsets() == [0, 1, 2]
