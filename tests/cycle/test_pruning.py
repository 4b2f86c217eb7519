"""Tokens of topics that are gone: dropped a month later, and never those of topics that may still be there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import World
from tests.memory.catalog import MemorySwap

from frazil.cycle import Ingestion
from frazil.errors import BrokerRefused, BrokerUnavailable, CatalogUnavailable, TokensMoved, TopicReplaced
from frazil.tables.base import OutcomeUnknown
from frazil.tables.rules.tokens import PRUNED, read
from frazil.testing.crash import fail_at

BOTH = {"topics": "orders,more", "snowflake__topic2table__map": "orders:orders,more:orders"}
HOUR, DAY = 3600.0, 86_400.0


@dataclass
class Clock:
    """Both clocks, which pass when they are told to."""

    began: float
    passed: float = 0.0
    ahead: float = 0.0
    """How far the wall clock was set forward."""

    def time(self) -> float:
        return self.began + self.passed + self.ahead

    def monotonic(self) -> float:
        return 1000.0 + self.passed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock(time.time())
    monkeypatch.setattr("frazil.cycle.pruning.time", found)
    return found


@pytest.fixture
def world() -> World:
    """A connector has landed two topics in one table."""
    found = World()
    for topic, records in (("orders", 10), ("more", 5)):
        found.cluster.create_topic(topic)
        found.produce(records, topic=topic)
    return found


def kept(world: World) -> set[str]:
    """The topics that the table's tokens speak of."""
    tokens = read(world.table.state, "orders", "SHOP")
    assert tokens is not None
    return set(tokens.topics)


def audits(world: World) -> list[Any]:
    """What the summaries of the table's snapshots say of tokens that were dropped."""
    found = (snapshot.summary(PRUNED) for snapshot in world.table.state.snapshots.values())
    return [orjson.loads(text) for text in found if text is not None]


def pass_time(running: Ingestion, clock: Clock, seconds: float, *, steps: int = 7) -> None:
    """Let time pass, with cycles in between."""
    for _ in range(steps):
        clock.passed += seconds / steps
        running.cycle()


def test_a_clock_that_is_set_forward_makes_no_topic_older(world: World, clock: Clock) -> None:
    running = world.run(**BOTH)
    world.cluster.delete_topic("more")
    clock.ahead = 40 * DAY

    pass_time(running, clock, 3 * HOUR)

    assert kept(world) == {"orders", "more"}


def test_they_are_dropped_a_month_after_the_last_record_and_the_snapshot_says_so(world: World, clock: Clock) -> None:
    running = world.run(**BOTH)
    more = world.cluster.topics["more"].id
    world.cluster.delete_topic("more")
    world.produce(3)

    pass_time(running, clock, 29 * DAY)
    assert kept(world) == {"orders", "more"}
    pass_time(running, clock, 2 * DAY)

    assert kept(world) == {"orders"}
    assert (world.offsets(), world.offsets(topic="more")) == ([*range(13)], [*range(5)])
    (audit,) = audits(world)
    assert audit["command"] == "frazil.tokens.retention"
    assert audit["topics"] == {"more": {"cluster": world.cluster.id, "id": more, "tokens": ["4"]}}


def test_nobody_loses_them_who_has_not_been_away_for_an_hour(world: World, clock: Clock) -> None:
    running = world.run(**BOTH)
    clock.passed = 40 * DAY
    topic = world.cluster.topics.pop("more")

    pass_time(running, clock, 0.9 * HOUR)
    world.cluster.topics["more"] = topic
    pass_time(running, clock, 0.2 * HOUR, steps=2)
    world.cluster.topics.pop("more")
    pass_time(running, clock, 0.9 * HOUR)
    assert kept(world) == {"orders", "more"}

    world.cluster.topics["more"] = topic
    world.produce(2, topic="more")
    running.cycle()
    assert world.offsets(topic="more") == [*range(7)]


@pytest.mark.parametrize("error", [BrokerUnavailable, BrokerRefused])
def test_an_hour_in_which_the_broker_did_not_answer_once_does_not_count(
    world: World, clock: Clock, error: type[BrokerUnavailable | BrokerRefused]
) -> None:
    running = world.run(**BOTH)
    world.cluster.delete_topic("more")
    clock.passed = 40 * DAY
    pass_time(running, clock, 0.9 * HOUR)

    def fail(request: str) -> None:
        if request == "facts":
            raise error("memory:9092", "describe topics", "no")

    world.cluster.on_request = fail
    pass_time(running, clock, 0.2 * HOUR, steps=1)
    world.cluster.on_request = lambda _: None
    pass_time(running, clock, 0.9 * HOUR)
    assert kept(world) == {"orders", "more"}
    pass_time(running, clock, 0.5 * HOUR)

    assert kept(world) == {"orders"}


def test_a_topic_that_exists_keeps_them_also_when_nobody_reads_it(world: World, clock: Clock) -> None:
    world.run(**BOTH)
    clock.passed = 400 * DAY

    pass_time(world.run(topics="orders"), clock, DAY)

    assert kept(world) == {"orders", "more"}


def test_another_cluster_does_not_say_what_is_gone(world: World, clock: Clock) -> None:
    world.run(**BOTH)
    table, here = world.table, world.cluster.id
    world.cluster.delete_topic("more")
    clock.passed = 400 * DAY
    running = world.run(topics="orders")

    world.cluster.id, world.cluster.topics = "another", {}
    pass_time(running, clock, DAY)

    assert table is world.table
    assert kept(world) == {"orders", "more"}
    assert here != "another"


def test_a_topic_that_was_never_read_has_to_be_away_for_all_the_time(world: World, clock: Clock) -> None:
    world.cluster.create_topic("more")
    running = world.run(**BOTH)
    world.cluster.delete_topic("more")

    pass_time(running, clock, 29 * DAY)
    assert kept(world) == {"orders", "more"}
    pass_time(running, clock, 10 * DAY)

    assert kept(world) == {"orders"}


def test_they_are_kept_for_ever_where_the_configuration_says_so(world: World, clock: Clock) -> None:
    running = world.run(frazil__tokens__retention="never", **BOTH)
    world.cluster.delete_topic("more")

    pass_time(running, clock, 4000 * DAY)

    assert kept(world) == {"orders", "more"}


def test_a_topic_made_again_is_another_one_before_and_opened_as_new_afterwards(world: World, clock: Clock) -> None:
    running = world.run(frazil__tokens__retention="10 d", **BOTH)
    world.cluster.delete_topic("more")
    pass_time(running, clock, 9 * DAY)
    world.cluster.create_topic("more")
    with pytest.raises(TopicReplaced):
        running.cycle()
    world.cluster.delete_topic("more")
    pass_time(running, clock, 2 * DAY)
    assert kept(world) == {"orders"}

    world.cluster.create_topic("more")
    world.produce(3, topic="more")
    running.cycle()
    world.run(**BOTH)

    assert world.offsets(topic="more") == [0, 0, 1, 1, 2, 2, 3, 4]
    assert kept(world) == {"orders", "more"}


@pytest.fixture
def due(world: World, clock: Clock) -> Ingestion:
    """A connector whose next look drops tokens."""
    running = world.run(**BOTH)
    world.cluster.delete_topic("more")
    clock.passed = 40 * DAY
    pass_time(running, clock, 0.95 * HOUR)
    clock.passed += 0.2 * HOUR
    return running


def test_a_commit_that_fails_is_no_reason_to_stop_and_is_tried_again(
    world: World, clock: Clock, due: Ingestion
) -> None:
    world.produce(2)

    with capture_logs() as told, fail_at("before_swap", CatalogUnavailable("commit", "it is down")):
        due.cycle()
    assert ["stay for now" in each["event"] for each in told if each["log_level"] == "warning"] == [True]
    assert (kept(world), world.offsets()) == ({"orders", "more"}, [*range(12)])

    pass_time(due, clock, HOUR)
    assert (kept(world), world.offsets()) == ({"orders"}, [*range(12)])


def test_a_process_that_dies_while_it_drops_them_has_dropped_all_or_nothing(
    world: World, clock: Clock, due: Ingestion
) -> None:
    world.produce(2)
    with pytest.raises(KeyboardInterrupt), fail_at("before_swap", KeyboardInterrupt()):
        due.cycle()
    assert kept(world) == {"orders", "more"}

    again = world.run(**BOTH)
    pass_time(again, clock, 2 * HOUR)

    assert (kept(world), world.offsets(), world.offsets(topic="more")) == ({"orders"}, [*range(12)], [*range(5)])


def test_a_commit_whose_answer_is_lost_is_met_at_the_next_recall(
    world: World, due: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.produce(2)
    real = MemorySwap.swap

    def lost(swap: MemorySwap) -> None:
        real(swap)
        monkeypatch.setattr(MemorySwap, "swap", real)
        world.catalog.on_request = fail
        raise OutcomeUnknown("no answer")

    def fail(_: str) -> None:
        world.catalog.on_request = lambda _: None
        raise CatalogUnavailable("load", "no answer")

    monkeypatch.setattr(MemorySwap, "swap", lost)
    with pytest.raises(TokensMoved):
        due.cycle()
    due.recall()
    due.cycle()

    assert (kept(world), world.offsets(), len(audits(world))) == ({"orders"}, [*range(12)], 1)


def test_who_was_fenced_drops_nothing(world: World, due: Ingestion) -> None:
    world.run(**BOTH)

    due.cycle()

    assert kept(world) == {"orders", "more"}
