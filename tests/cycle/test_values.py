"""A topic whose records go to a table for each value of a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import Clock, Trouble, World, orders
from tests.memory import MemoryRecord

from frazil import faults
from frazil.errors import Fenced, InvalidRecord, TableMissing, TableOfRoute, TopicsShareName
from frazil.model import TableName
from frazil.tables.rules.tokens import Tokens, read

BY_COUNTRY = {"frazil__route__field": "country", "errors__tolerance": "all"}
OWN, DE, FR = (TableName(("public",), name) for name in ("ORDERS", "ORDERS_DE", "ORDERS_FR"))


@pytest.fixture
def world() -> World:
    made = World()
    made.cluster.create_topic("orders", 2)
    return made


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(found, "time_ns", lambda: 0, raising=False)
    monkeypatch.setattr("frazil.cycle.quiet_tables.time", found)
    monkeypatch.setattr("frazil.cycle.table_failures.time", found)
    return found


def produce(world: World, *countries: object, partition: int = 0, topic: str = "orders") -> None:
    log = world.cluster.topics[topic].logs[partition]
    log.append(*(MemoryRecord({"n": log.latest + n, "country": each}) for n, each in enumerate(countries)))


def landed(world: World, name: TableName, partition: int = 0) -> list[int]:
    return sorted(row.offset for row in world.catalog.tables[name].rows() if row.partition == orders(partition))


def tokens(world: World, name: TableName) -> Tokens:
    found = read(world.catalog.tables[name].state, str(name), "SHOP")
    assert found
    return found


def rejected(world: World) -> list[int]:
    """The offsets that were set aside, of all partitions."""
    return sorted(place[1] for places in world.catalog.files.rejects.values() for place in places)


def test_each_value_has_a_table_of_its_own(world: World) -> None:
    produce(world, "de", "fr", "de")
    produce(world, "fr", partition=1)
    running = world.run(**BY_COUNTRY)
    produce(world, "fr", "de")
    running.cycle()

    assert (landed(world, DE), landed(world, FR)) == ([0, 2, 4], [1, 3])
    assert (landed(world, DE, 1), landed(world, FR, 1)) == ([], [0])
    assert landed(world, OWN) == []
    assert sorted(world.catalog.tables) == [OWN, DE, FR]


def test_a_report_has_the_counts_of_each_table_and_what_was_read_once(world: World) -> None:
    produce(world, "de", "fr", "de", None)

    report = world.connector(**BY_COUNTRY).cycle()

    found = {name.name: (each.records, each.rows, each.errors) for name, each in report.tables.items()}
    assert found == {"ORDERS": (1, 0, 1), "ORDERS_DE": (2, 2, 0), "ORDERS_FR": (1, 1, 0)}
    assert (report.records, report.rows, report.errors, report.lag_records) == (4, 3, 1, 0)


def test_what_leads_nowhere_is_a_reject_of_the_topics_own_table(world: World) -> None:
    produce(world, "de", None, {"a": 1}, ["de"], "")
    log = world.cluster.topics["orders"].logs[0]
    log.append(MemoryRecord({"n": 5}), MemoryRecord(b"no JSON"), MemoryRecord(None), MemoryRecord({"country": True}))

    world.run(**BY_COUNTRY)

    assert rejected(world) == [1, 2, 3, 4, 5, 6]
    assert (landed(world, DE), landed(world, OWN)) == ([0], [7])
    assert landed(world, TableName(("public",), "ORDERS_TRUE")) == [8]
    own = tokens(world, OWN).channel(orders())
    assert (own.token, own.parsed, own.errors, own.inserted) == ("8", 7, 6, 1)


def test_values_beyond_the_bound_are_rejected_also_after_a_restart(world: World) -> None:
    produce(world, "b", "a", "c", "b")
    world.run(**BY_COUNTRY, frazil__route__max__tables="2")
    produce(world, "c", "a", "d")
    world.run(**BY_COUNTRY, frazil__route__max__tables="2")

    assert sorted(each.name for each in world.catalog.tables) == ["ORDERS", "ORDERS_A", "ORDERS_B"]
    assert rejected(world) == [2, 4, 6]


def test_two_values_of_one_name_are_kept_apart(world: World) -> None:
    produce(world, "de", "DE", "De", "de")

    running = world.run(**BY_COUNTRY)

    assert landed(world, DE) == [1]
    assert rejected(world) == [0, 2, 3]
    assert [*running.tables[OWN].tokens.topics["orders"].routes] == ["DE"]


def test_a_table_of_somebody_else_gets_nothing(world: World) -> None:
    world.catalog.create(DE, [], {})
    produce(world, "de", "fr")

    world.run(**BY_COUNTRY)

    assert world.catalog.tables[DE].rows() == []
    assert (landed(world, FR), rejected(world)) == ([1], [0])


def test_a_table_that_was_made_for_a_value_is_taken(world: World) -> None:
    world.catalog.create(DE, [], {"frazil.route": "de"})
    produce(world, "de", "de")

    world.run(**BY_COUNTRY)

    assert landed(world, DE) == [0, 1]


def test_no_table_is_made_where_none_is_to_be_made(world: World) -> None:
    world.catalog.create(OWN, [], {})
    world.catalog.create(DE, [], {"frazil.route": "de"})
    produce(world, "de", "fr")

    world.run(**BY_COUNTRY, snowflake__autocreate__table__type="none")

    assert (landed(world, DE), rejected(world)) == ([0], [1])


def test_the_table_of_a_value_is_no_table_for_another_topic(world: World) -> None:
    produce(world, "de")
    world.run(**BY_COUNTRY)
    world.cluster.create_topic("orders_de")

    connector = world.connector(**BY_COUNTRY, topics="orders,orders_de")
    connector.discover()

    (error,) = [failure.error for failure in connector.failing.values()]
    assert isinstance(error, TableOfRoute)
    assert "orders_de" in error.message
    assert "'de'" in error.message


def test_the_table_of_another_topic_is_no_table_for_a_value(world: World) -> None:
    world.cluster.create_topic("orders_de")
    produce(world, "de", "fr")
    produce(world, "x", topic="orders_de")

    world.run(**BY_COUNTRY, topics="orders,orders_de")

    assert landed(world, DE) == []
    assert (landed(world, FR), rejected(world)) == ([1], [0])


@pytest.mark.parametrize("point", ["during_open", "before_swap", "after_stage"])
@pytest.mark.parametrize("hit", range(1, 9))
def test_a_kill_between_the_commits_of_the_tables_loses_and_doubles_nothing(world: World, point: str, hit: int) -> None:
    produce(world, "de", "fr", "de", None)
    produce(world, "fr", "it", partition=1)
    hits = 0

    def crash(found: str) -> None:
        nonlocal hits
        hits += found == point
        if hits == hit:
            hits += 1
            raise Killed

    faults.install(crash)
    try:
        dying = world.connector(**BY_COUNTRY)
        dying.cycle()
        produce(world, "it", "de", partition=1)
        dying.cycle()
    except Killed:
        pass
    finally:
        faults.install(None)
    if world.cluster.topics["orders"].logs[1].latest == 2:
        produce(world, "it", "de", partition=1)
    world.run(**BY_COUNTRY)

    it = TableName(("public",), "ORDERS_IT")
    assert (landed(world, DE, 0), landed(world, FR, 0), landed(world, it, 0)) == ([0, 2], [1], [])
    assert (landed(world, DE, 1), landed(world, FR, 1), landed(world, it, 1)) == ([3], [0], [1, 2])
    assert landed(world, OWN) == []
    assert tokens(world, OWN).channel(orders()).errors == 1


def test_which_values_have_tables_is_decided_before_any_of_them_has_rows() -> None:
    keys = {**BY_COUNTRY, "frazil__route__max__tables": "1"}
    for hit in range(1, 6):
        world = World()
        world.cluster.create_topic("orders")
        produce(world, "x")
        killed_before_swap(world, hit, keys)
        produce(world, "a")
        world.run(**keys)

        tables = [name for name in world.catalog.tables if name != OWN]
        places = [offset for name in tables for offset in landed(world, name)]
        assert sorted([*places, *rejected(world)]) == [0, 1]


def killed_before_swap(world: World, hit: int, keys: Mapping[str, str]) -> None:
    """Run a connector that is killed right before it swaps for the `hit`th time, if it comes to that."""
    points: list[str] = []

    def crash(found: str) -> None:
        points.append(found)
        if points.count("before_swap") == hit:
            raise Killed

    faults.install(crash)
    try:
        with suppress(Killed):
            world.run(**keys)
    finally:
        faults.install(None)


def test_a_quiet_table_commits_only_now_and_then_and_before_a_stop(world: World, clock: Clock) -> None:
    produce(world, "de", "fr")
    running = world.run(**BY_COUNTRY)
    before = len(world.catalog.tables[FR].history)
    for _ in range(5):
        produce(world, "de")
        running.cycle()
    assert len(world.catalog.tables[FR].history) == before
    assert tokens(world, FR).channel(orders()).token == "1"

    clock.now += 61
    produce(world, "de")
    running.cycle()
    assert tokens(world, FR).channel(orders()).token == "7"

    produce(world, "de")
    running.cycle()
    running.settle()
    assert tokens(world, FR).channel(orders()).token == "8"


def test_a_quiet_table_that_wakes_up_after_a_kill_gets_its_records_once(world: World) -> None:
    produce(world, "de", "fr")
    running = world.run(**BY_COUNTRY)
    for _ in range(3):
        produce(world, "de")
        running.cycle()
    produce(world, "fr")

    world.run(**BY_COUNTRY)

    assert (landed(world, DE), landed(world, FR)) == ([0, 2, 3, 4], [1, 5])


def test_what_a_quiet_table_has_looked_at_is_not_read_again_after_an_error(world: World) -> None:
    produce(world, "de", "fr")
    running = world.run(**BY_COUNTRY)
    produce(world, "de", "de")
    running.cycle()
    running.recall()

    assert tokens(world, FR).channel(orders()).token == "1"
    assert running.tables[FR].tokens.channel(orders()).token == "3"


def test_a_table_that_was_rolled_back_gets_what_it_lost_and_the_others_nothing_twice(world: World) -> None:
    produce(world, "de", "fr")
    running = world.run(**BY_COUNTRY)
    before = world.catalog.tables[DE].state.current_id
    produce(world, "de", "fr", "de")
    running.cycle()

    assert before is not None
    world.catalog.tables[DE].set_current(before)
    running.recall()
    produce(world, "it")
    running.cycle()

    assert (landed(world, DE), landed(world, FR)) == ([0, 2, 4], [1, 3])


def test_a_quiet_table_that_was_rolled_back_gets_what_it_lost(world: World, clock: Clock) -> None:
    produce(world, "de", "fr")
    running = world.run(**BY_COUNTRY)
    before = world.catalog.tables[FR].state.current_id
    assert before is not None
    produce(world, "fr")
    running.cycle()
    produce(world, "de")
    running.cycle()
    assert running.tables[FR].holds

    world.catalog.tables[FR].set_current(before)
    running.recall()
    produce(world, "de")
    running.cycle()
    clock.now += 61
    produce(world, "fr")
    running.cycle()

    assert (landed(world, DE), landed(world, FR)) == ([0, 3, 4], [1, 2, 5])


def test_a_column_that_a_quiet_table_got_meanwhile_does_no_harm(world: World, clock: Clock) -> None:
    produce(world, "de", "fr")
    running = world.run(**BY_COUNTRY)
    produce(world, "de")
    running.cycle()
    world.catalog.tables[FR].drop_column("n")
    produce(world, "de")
    running.cycle()
    produce(world, "fr")

    running.cycle()
    assert [*running.failing] == [FR]
    clock.now += 10
    produce(world, "de")
    running.cycle()

    assert (landed(world, DE), landed(world, FR)) == ([0, 2, 3, 5], [1, 4])


def test_an_own_table_that_was_rolled_back_finds_the_tables_again(world: World) -> None:
    produce(world, None)
    running = world.run(**BY_COUNTRY)
    before = world.catalog.tables[OWN].state.current_id
    assert before is not None
    produce(world, "de", None, "fr")
    running.cycle()

    world.catalog.tables[OWN].set_current(before)
    running.recall()
    assert [*running.tables] == [OWN]
    produce(world, "de")
    running.cycle()
    running.cycle()

    assert (landed(world, DE), landed(world, FR)) == ([1, 4], [3])
    assert tokens(world, OWN).channel(orders()).errors == 2


def test_a_table_that_cannot_be_opened_for_a_new_value_holds_up_only_the_topics_own(world: World, clock: Clock) -> None:
    produce(world, "de")
    running = world.run(**BY_COUNTRY)
    trouble = Trouble(world, FR, "open", "build")
    produce(world, "fr", "de")
    running.cycle()
    assert (landed(world, DE), [*running.failing]) == ([0, 2], [OWN])

    trouble.end()
    clock.now += 60
    produce(world, "de")
    running.cycle()

    assert (landed(world, DE), landed(world, FR)) == ([0, 2, 3], [1])
    assert not running.failing


def test_a_table_that_cannot_commit_catches_up(world: World, clock: Clock) -> None:
    produce(world, "de", "fr")
    running = world.run(**BY_COUNTRY)
    trouble = Trouble(world, FR, "build")
    produce(world, "fr", "de")
    running.cycle()
    assert (landed(world, DE), landed(world, FR)) == ([0, 3], [1])

    trouble.end()
    clock.now += 60
    produce(world, "it")
    running.cycle()

    assert (landed(world, DE), landed(world, FR)) == ([0, 3], [1, 2])


def test_a_dropped_table_of_a_value_stops_it_also_after_a_restart(world: World) -> None:
    produce(world, "de", "fr")
    world.run(**BY_COUNTRY)
    world.catalog.drop(DE)

    restarted = world.connector(**BY_COUNTRY)
    restarted.discover()

    assert isinstance(restarted.failing[DE].error, TableMissing)


@pytest.mark.parametrize(("policy", "expected"), [("continue", [2]), ("earliest", [0, 2])])
def test_a_dropped_table_of_a_value_begins_where_the_configuration_says(
    world: World, policy: str, expected: list[int]
) -> None:
    keys = {**BY_COUNTRY, "frazil__on__table__missing": policy}
    produce(world, "de", "fr")
    world.run(**keys)
    world.catalog.drop(DE)
    produce(world, "de")

    world.run(**keys)

    assert (landed(world, DE), landed(world, FR)) == (expected, [1])


def test_an_older_opener_makes_no_table_that_gets_anything(world: World) -> None:
    produce(world, "de")
    older = world.run(**BY_COUNTRY)
    newer = world.run(**BY_COUNTRY)
    produce(world, "fr", "de")

    with pytest.raises(Fenced):
        older.cycle()
    newer.cycle()

    assert (landed(world, DE), landed(world, FR)) == ([0, 2], [1])


def test_a_record_that_leads_nowhere_stops_a_connector_that_tolerates_none(world: World) -> None:
    produce(world, "de", "fr", None, "de")

    running = world.connector(frazil__route__field="country")
    running.cycle()
    report = running.cycle()

    assert isinstance(report.failure, InvalidRecord)
    assert report.failure.message.startswith("the record at topic orders, partition 0, offset 2 ")
    assert (landed(world, DE), landed(world, FR)) == ([0], [1])


def test_two_topics_of_one_generated_name_are_an_error_that_names_both(world: World) -> None:
    world.cluster.create_topic("Orders")

    with pytest.raises(TopicsShareName, match="Orders and orders"):
        world.connector(topics="orders,Orders").discover()


def test_a_topic_that_appears_with_the_generated_name_of_another_one_stops_both(world: World) -> None:
    world.cluster.create_topic("returns")
    topics = "orders,returns,Orders"
    running = world.run(topics=topics)
    world.cluster.create_topic("Orders")
    world.produce(1)
    world.produce(1, topic="returns")
    running.cycle()

    (error,) = [failure.error for failure in running.failing.values()]
    assert isinstance(error, TopicsShareName)
    assert "Orders and orders" in error.message
    assert (landed(world, OWN), len(world.catalog.tables[TableName(("public",), "RETURNS")].rows())) == ([], 1)


def test_topics_that_a_map_brings_together_share_a_table(world: World) -> None:
    world.cluster.create_topic("Orders")
    world.produce(1)
    world.produce(2, topic="Orders")

    world.run(topics="orders,Orders", snowflake__topic2table__map="[oO]rders:orders")

    assert len(world.catalog.tables[OWN].rows()) == 3


def test_topics_that_share_their_own_table_share_those_of_the_values(world: World) -> None:
    world.cluster.create_topic("returns")
    produce(world, "de", "fr")
    produce(world, "de", "it", topic="returns")
    keys = {**BY_COUNTRY, "snowflake__topic2table__map": "orders|returns:orders", "topics": "orders,returns"}
    running = world.run(**keys)
    produce(world, "fr", topic="returns")
    running.cycle()
    world.run(**keys)

    names = {each.name: len(table.rows()) for each, table in world.catalog.tables.items()}
    assert names == {"ORDERS": 0, "ORDERS_DE": 2, "ORDERS_FR": 2, "ORDERS_IT": 1}


class Killed(BaseException):
    """The process is gone."""
