"""Tables are independent: one that fails waits by itself, and the others go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import Clock, Trouble, World
from tests.memory import MemoryRecord

from frazil.cycle import Ingestion
from frazil.errors import CatalogUnavailable, Fenced, FrazilError, StageFailed, TableNotSupported, TokensUncertain
from frazil.model import SourcePartition, TableName
from frazil.tables.rules.tokens import read

GOOD, BAD = (TableName(("public",), name) for name in ("GOOD", "BAD"))
TOPICS = "good,bad"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("frazil.cycle.table_failures.time", found)
    return found


@pytest.fixture
def world() -> World:
    made = World()
    for topic in TOPICS.split(","):
        made.cluster.create_topic(topic)
        made.produce(3, topic=topic)
    return made


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


def offsets(world: World, name: TableName) -> list[int]:
    table = world.catalog.tables.get(name)
    return sorted(row.offset for row in table.rows()) if table else []


def epoch(world: World, name: TableName) -> int:
    tokens = read(world.catalog.tables[name].state, str(name), "SHOP")
    assert tokens
    return tokens.epoch


def cycles(connector: Ingestion, clock: Clock, count: int, seconds: float = 1.0) -> None:
    for _ in range(count):
        connector.cycle()
        clock.now += seconds


def test_a_table_that_cannot_be_opened_does_not_keep_the_others_from_landing(world: World, clock: Clock) -> None:
    trouble = Trouble(world, BAD, "open")
    connector = world.connector(topics=TOPICS)

    connector.cycle()

    assert offsets(world, GOOD) == [0, 1, 2]
    assert [*connector.failing] == [BAD]
    assert connector.failing[BAD].error is trouble.error


def test_the_healthy_tables_are_opened_once_however_often_another_fails(world: World, clock: Clock) -> None:
    Trouble(world, BAD, "open")
    connector = world.connector(topics=TOPICS)

    cycles(connector, clock, 200)

    # One that opened it, one that landed what there was.
    assert len(world.catalog.tables[GOOD].history) == 2
    assert epoch(world, GOOD) == 1


def test_a_table_that_fails_is_tried_after_waits_of_its_own_that_double(world: World, clock: Clock) -> None:
    trouble = Trouble(world, BAD, "open")
    connector = world.connector(topics=TOPICS)

    cycles(connector, clock, 600)

    # Waits of at most 0.5, 1, 2 … 60 s, at least half of each.
    assert 12 <= trouble.count <= 32
    assert connector.failing[BAD].attempt == trouble.count
    due = connector.seconds_until_due()
    assert due is not None
    assert 0 <= due <= 60


def test_a_table_that_works_again_lands_everything_once(world: World, clock: Clock) -> None:
    trouble = Trouble(world, BAD, "open")
    connector = world.connector(topics=TOPICS)
    cycles(connector, clock, 20)
    world.produce(2, topic="bad")

    trouble.end()
    cycles(connector, clock, 2, 60)

    assert offsets(world, BAD) == [0, 1, 2, 3, 4]
    assert not connector.failing


@pytest.mark.parametrize("request_", ["refresh", "build"])
def test_a_table_that_cannot_be_read_or_committed_to_waits_while_the_others_go_on(
    world: World, clock: Clock, request_: str
) -> None:
    connector = world.connector(topics=TOPICS)
    connector.cycle()
    trouble = Trouble(world, BAD, request_)
    for _ in range(30):
        world.produce(1, topic="good")
        world.produce(1, topic="bad")
        cycles(connector, clock, 1)

    assert offsets(world, GOOD) == list(range(33))
    assert offsets(world, BAD) == [0, 1, 2]
    assert [*connector.failing] == [BAD]

    trouble.end()
    cycles(connector, clock, 2, 60)
    assert offsets(world, BAD) == list(range(33))
    assert (epoch(world, GOOD), epoch(world, BAD)) == (1, 1)


def test_waits_grow_also_where_only_the_commit_fails(world: World, clock: Clock) -> None:
    connector = world.connector(topics=TOPICS)
    connector.cycle()
    trouble = Trouble(world, BAD, "build")
    world.produce(1, topic="bad")

    cycles(connector, clock, 300)

    assert trouble.count < 25


def test_a_new_topic_of_a_table_that_waits_is_opened_with_it(world: World, clock: Clock) -> None:
    connector = world.connector(topics="", topics__regex="good|bad|more", snowflake__topic2table__map="more:bad")
    connector.cycle()
    trouble = Trouble(world, BAD, "refresh")
    world.produce(1, topic="bad")
    cycles(connector, clock, 1)
    world.cluster.create_topic("more")
    world.produce(2, topic="more")
    cycles(connector, clock, 5, 0.01)
    count = trouble.count
    cycles(connector, clock, 5, 0.01)

    assert trouble.count == count
    trouble.end()
    cycles(connector, clock, 3, 60)

    rows = {(row.partition, row.offset) for row in world.catalog.tables[BAD].rows()}
    assert rows == {
        *((SourcePartition("bad", 0), offset) for offset in range(4)),
        *((SourcePartition("more", 0), offset) for offset in range(2)),
    }


def test_what_somebody_has_to_see_to_is_not_tried_again_and_the_others_go_on(world: World, clock: Clock) -> None:
    connector = world.connector(topics=TOPICS)
    connector.cycle()
    trouble = Trouble(world, BAD, "refresh", error=TokensUncertain("public.BAD", "SHOP"))
    world.produce(2, topic="good")
    world.produce(2, topic="bad")

    cycles(connector, clock, 50, 60)

    assert trouble.count == 1
    assert offsets(world, GOOD) == [0, 1, 2, 3, 4]
    assert connector.failing[BAD].is_final
    assert connector.failure() is trouble.error


def test_where_nothing_is_left_that_can_go_on_the_connector_has_failed(world: World, clock: Clock) -> None:
    error = TableNotSupported("public.BAD", "it is partitioned", "Map it.")
    Trouble(world, BAD, "open", error=error)
    connector = world.connector(topics="bad")

    with pytest.raises(TableNotSupported):
        connector.cycle()


def test_of_two_tables_that_fail_for_good_the_second_ends_the_connector(world: World, clock: Clock) -> None:
    connector = world.connector(topics=TOPICS)
    connector.cycle()
    error = TokensUncertain("public.BAD", "SHOP")
    Trouble(world, BAD, "refresh", error=error)
    world.produce(1, topic="bad")
    cycles(connector, clock, 1)
    Trouble(world, GOOD, "refresh", error=error)
    world.produce(1, topic="good")

    with pytest.raises(TokensUncertain):
        connector.cycle()


def test_an_outage_of_the_catalog_is_the_connectors_and_not_each_tables(world: World, clock: Clock) -> None:
    connector = world.connector(topics=TOPICS)
    connector.cycle()
    world.produce(1, topic="bad")

    def down(_: str) -> None:
        raise CatalogUnavailable("answer", "connection refused")

    world.catalog.on_request = down
    with pytest.raises(CatalogUnavailable):
        connector.cycle()
    with pytest.raises(CatalogUnavailable):
        connector.recall()

    assert not connector.failing
    world.catalog.on_request = lambda _: None
    connector.recall()
    connector.cycle()
    assert offsets(world, BAD) == [0, 1, 2, 3]


def test_a_catalog_that_lists_no_tables_does_not_stop_those_that_are_open(world: World, clock: Clock) -> None:
    connector = world.connector(topics="", topics__regex="good|new")
    connector.cycle()
    world.cluster.create_topic("new")
    world.produce(2, topic="good")

    def unlisted(request: str) -> None:
        if request == "list_tables":
            raise CatalogUnavailable("list the tables of public", "forbidden")

    world.catalog.on_request = unlisted
    cycles(connector, clock, 5)
    assert offsets(world, GOOD) == [0, 1, 2, 3, 4]
    assert [name.name for name in connector.failing] == ["NEW"]

    world.produce(1, topic="new")
    world.catalog.on_request = lambda _: None
    cycles(connector, clock, 2, 60)
    assert offsets(world, TableName(("public",), "NEW")) == [0]


def test_a_topic_whose_table_can_have_no_name_does_not_stop_the_others(world: World, clock: Clock) -> None:
    world.cluster.create_topic("_frazil")
    connector = world.connector(topics="", topics__regex="good|_frazil")

    connector.cycle()

    assert offsets(world, GOOD) == [0, 1, 2]
    assert [failure.error.code for failure in connector.failing.values()] == ["table_name"]


def test_a_newer_opener_of_one_table_stops_the_whole_connector(world: World, clock: Clock) -> None:
    first = world.connector(topics=TOPICS)
    first.cycle()
    world.connector(topics="bad").cycle()
    world.produce(1, topic="bad")
    world.produce(1, topic="good")

    with pytest.raises(Fenced):
        first.cycle()


def test_a_task_that_cannot_write_for_its_table_does_not_stop_the_others(world: World, clock: Clock) -> None:
    connector = world.connector(topics=TOPICS)
    connector.cycle()
    world.catalog.files.full.add("memory/public/BAD")
    world.produce(2, topic="good")
    world.produce(2, topic="bad")

    cycles(connector, clock, 3, 0.01)
    assert offsets(world, GOOD) == [0, 1, 2, 3, 4]
    assert connector.failing[BAD].error.code == "storage_unavailable"

    world.catalog.files.full.clear()
    cycles(connector, clock, 2, 60)
    assert offsets(world, BAD) == [0, 1, 2, 3, 4]


def test_a_broker_that_fails_is_everybodys_trouble(world: World, clock: Clock) -> None:
    connector = world.connector(topics=TOPICS)
    connector.cycle()
    world.produce(1, topic="bad")
    world.cluster.log(SourcePartition("bad", 0)).retain(4)

    with pytest.raises(FrazilError) as raised:
        connector.cycle()

    assert not isinstance(raised.value, StageFailed)
    assert not connector.failing


def test_a_failure_is_logged_once_and_so_is_its_end(world: World, clock: Clock) -> None:
    connector = world.connector(topics=TOPICS)
    connector.cycle()
    trouble = Trouble(world, BAD, "build")
    world.produce(1, topic="bad")
    with capture_logs() as lines:
        cycles(connector, clock, 100)
        trouble.end()
        cycles(connector, clock, 2, 60)

    said = [line["event"] for line in lines if line.get("table") == str(BAD)]
    assert said == ["a table is left out, and the others go on", "a table goes on"]


def test_channels_of_tables_that_could_not_be_opened_are_part_of_the_goal(world: World, clock: Clock) -> None:
    trouble = Trouble(world, BAD, "open")
    connector = world.connector(topics=TOPICS)
    goal = connector.goal(connector.discover())
    cycles(connector, clock, 1)
    assert not connector.covers(goal)

    trouble.end()
    cycles(connector, clock, 2, 60)

    assert connector.covers(goal)


def test_threads_do_not_grow_with_attempts(clock: Clock) -> None:
    from tests.memory import MemoryCatalog

    world = World(catalog=MemoryCatalog(at_once=4))
    for topic in ("good", "bad", "third"):
        world.cluster.create_topic(topic).logs[0].append(MemoryRecord({"id": 1}))
    Trouble(world, BAD, "open")
    connector = world.connector(topics="good,bad,third")
    cycles(connector, clock, 5)
    before = threading.active_count()

    cycles(connector, clock, 100)

    assert threading.active_count() <= before
    connector.close()
