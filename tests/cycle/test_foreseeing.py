from __future__ import annotations

from tests.cycle.memory import TABLE, World, settings

from frazil.cycle.foreseeing import obstacles
from frazil.errors import CatalogUnavailable, TableNotCreated, TableNotSupported
from frazil.model import TableName


def test_nothing_stops_a_connector_whose_tables_are_there_or_can_be_made():
    world = World()

    assert obstacles(settings(), world.catalog) == []
    assert world.catalog.tables == {}


def test_all_missing_tables_are_named_where_none_may_be_created():
    found = obstacles(
        settings(topics="orders,fruit,bread", snowflake__autocreate__table__type="none"), with_table(TABLE).catalog
    )

    assert [type(each) for each in found] == [TableNotCreated, TableNotCreated]
    assert "public.FRUIT" in str(found[0])
    assert "public.BREAD" in str(found[1])


def test_a_table_that_cannot_be_opened_hides_no_other():
    world = with_table(TABLE)
    refusals = {
        "ORDERS": TableNotSupported("public.ORDERS", "it is encrypted", "Use another one."),
        "FRUIT": CatalogUnavailable("load", "no"),
    }

    def refuse(_: str, name: TableName) -> None:
        raise refusals[name.name]

    world.catalog.on_table_request = refuse

    assert obstacles(settings(topics="orders,fruit"), world.catalog) == [*refusals.values()]


def with_table(name: TableName) -> World:
    world = World()
    world.catalog.create(name, [], {})
    return world
