"""No topic, value or mapping leads to an error table: its rows are rejected records, which nobody can forge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import TABLE, World, settings
from tests.memory import MemoryRecord, MemoryTable

from frazil.cycle.foreseeing import obstacles
from frazil.errors import TableOfRejects
from frazil.model import ERROR_LOGGING, Primitive, TableName
from frazil.tables.rules.error_tables import REJECTS_OF, columns, mark
from frazil.testing.crash import call_at

ERRORS = TableName(("public",), "ORDERS_ERRORS")
COLUMNS = columns(Primitive("int"), Primitive("long"))
BOTH = {"topics": "orders,orders_errors"}
TO_TABLE = {"errors__tolerance": "all", "frazil__errors__table": "true"}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


@pytest.fixture
def world() -> World:
    """Two topics with three records each; the second is called like the error table of the first."""
    made = World()
    for topic in ("orders", "orders_errors"):
        made.cluster.create_topic(topic)
        made.produce(3, topic=topic)
    return made


def with_error_table(world: World, **properties: str) -> MemoryTable:
    return world.catalog.create(ERRORS, COLUMNS, properties or {REJECTS_OF: "uuid"})


@pytest.mark.parametrize("properties", [{REJECTS_OF: "uuid"}, {mark("SHOP", "uuid"): "commit"}])
@pytest.mark.parametrize(
    "keys", [BOTH, {"topics": "orders,other", "snowflake__topic2table__map": "other:orders_errors"}]
)
def test_no_topic_lands_in_an_error_table(world: World, keys: dict[str, str], properties: dict[str, str]) -> None:
    errors = with_error_table(world, **properties)
    world.cluster.create_topic("other")
    world.produce(1, topic="other")
    before = errors.state

    connector = world.run(**keys)

    assert errors.state is before
    assert world.offsets() == [0, 1, 2]
    assert {name: type(each.error) for name, each in connector.failing.items()} == {ERRORS: TableOfRejects}


@pytest.mark.parametrize("there", [True, False])
def test_no_topic_takes_the_name_of_an_error_table_that_is_not_there_yet(world: World, there: bool) -> None:
    if there:
        world.run()

    connector = world.run(**BOTH, **TO_TABLE)

    assert [*world.catalog.tables] == [TABLE]
    assert "public.ORDERS_ERRORS is the error table of public.ORDERS" in str(connector.failing[ERRORS].error)


def test_the_table_itself_may_ask_for_an_error_table(world: World) -> None:
    world.catalog.create(TABLE, [], {ERROR_LOGGING: "true"})

    assert ERRORS in world.run(**BOTH).failing


def test_a_table_without_an_error_table_takes_no_name_from_others(world: World) -> None:
    assert world.run(**BOTH).failing == {}
    assert ERRORS in world.catalog.tables


def test_values_that_lead_to_error_tables_are_rejected_and_others_land() -> None:
    world = World()
    world.cluster.create_topic("orders")
    log = world.cluster.topics["orders"].logs[0]
    log.append(*(MemoryRecord({"n": n, "to": to}) for n, to in enumerate(("errors", "de", "de_errors", "fr"))))

    world.run(frazil__route__field="to", **TO_TABLE)

    assert sorted(each.name for each in world.catalog.tables) == ["ORDERS", "ORDERS_DE", "ORDERS_FR"]
    rejected = (offset for found in world.catalog.files.rejects.values() for _, offset, _ in found)
    assert sorted(rejected) == [0, 2]


def test_a_table_that_becomes_an_error_table_while_it_is_opened_stays_one(world: World) -> None:
    errors = world.catalog.create(ERRORS, COLUMNS, {})
    connector = world.connector(topics="orders_errors")

    def append() -> None:
        errors.set_property(mark("SHOP", "uuid"), "commit")

    with call_at("during_open", append, 1), pytest.raises(TableOfRejects):
        connector.cycle()

    assert errors.rows() == []


@pytest.mark.parametrize("there", [True, False])
def test_validate_names_what_leads_to_an_error_table(world: World, there: bool) -> None:
    if there:
        with_error_table(world)

    found = obstacles(settings(**BOTH, **TO_TABLE), world.catalog)

    assert [type(each) for each in found] == [TableOfRejects]
