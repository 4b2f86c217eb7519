"""The columns of a new table, put together from what several tasks saw."""

from __future__ import annotations

import itertools

import pytest
from tests.cycle.memory import TABLE, World, orders
from tests.memory import MemoryRecord

from frazil.model import EVOLUTION, Column, Primitive

LONG = Primitive("long")
SPELLINGS = ["USERID", "userId", "UserId"]


@pytest.fixture
def world() -> World:
    found = World()
    found.cluster.create_topic("orders", 1)
    return found


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_column_is_spelled_as_in_the_lowest_partitions_first_record_that_lands(order: tuple[int, ...]) -> None:
    world = World()
    world.cluster.create_topic("orders", 3)
    keys = [SPELLINGS[number] for number in order]
    for partition, key in enumerate(keys):
        log = world.cluster.log(orders(partition))
        log.append(MemoryRecord(b"no JSON"), MemoryRecord({key: 1}), MemoryRecord({key.swapcase(): 2}))

    world.run(errors__tolerance="all")

    assert keys[0] in [column.name for column in world.table.state.columns()]
    assert sum(column.name.lower() == "userid" for column in world.table.state.columns()) == 1


def columns(world: World) -> list[str]:
    return [column.name for column in world.table.state.columns()][1:]


def produce(world: World, *values: dict[str, int]) -> None:
    world.cluster.log(orders()).append(*map(MemoryRecord, values))


def test_a_table_that_holds_rows_gets_the_columns_of_later_keys(world: World) -> None:
    produce(world, {"id": 1})
    connector = world.run()
    produce(world, {"id": 2, "colour": 7}, {"id": 3, "weight": 8})

    connector.cycle()

    assert columns(world) == ["id", "colour", "weight"]
    ids = {column.name: column.id for column in world.table.state.columns()}
    assert [row.values.get(ids["colour"]) for row in world.table.rows()] == [None, 7, None]


def test_one_cycle_gives_a_table_with_rows_no_more_columns_than_its_bound(world: World) -> None:
    produce(world, {f"first_{number}": 1 for number in range(5)})
    connector = world.run(frazil__columns__max__per__cycle="2", frazil__schema__contract="beyond=discard")
    keys = [f"key_{number}" for number in range(5)]

    produce(world, dict.fromkeys(keys, 1))
    connector.cycle()
    assert columns(world)[5:] == ["key_0", "key_1"]

    produce(world, dict.fromkeys(keys, 1))
    connector.cycle()
    assert columns(world)[7:] == ["key_2", "key_3"]


def test_a_table_never_gets_more_columns_than_its_bound(world: World) -> None:
    connector = world.run(frazil__columns__max="2", frazil__schema__contract="beyond=discard")
    for number in range(4):
        produce(world, {f"key_{number}": 1})
        connector.cycle()

    assert columns(world) == ["key_0", "key_1"]
    assert world.offsets() == [0, 1, 2, 3]
    assert connector.notices.dropped == {"public.ORDERS.key_2": 1, "public.ORDERS.key_3": 1}


@pytest.mark.parametrize(
    ("property_", "contract"), [("false", ""), ("true", "columns=discard"), ("true", "columns=freeze")]
)
def test_a_table_keeps_its_columns_if_it_says_so_or_the_contract(world: World, property_: str, contract: str) -> None:
    produce(world, {"id": 1})
    world.run()
    world.table.set_property(EVOLUTION, property_)
    produce(world, {"id": 2, "colour": 7})

    world.run(frazil__schema__contract=contract, errors__tolerance="all")

    assert columns(world) == ["id"]


@pytest.mark.parametrize(("says", "expected"), [(None, ["id"]), ("TRUE", ["id", "colour"]), ("false", ["id"])])
def test_a_table_of_somebody_elses_evolves_only_where_it_says_so(
    world: World, says: str | None, expected: list[str]
) -> None:
    properties = {} if says is None else {EVOLUTION: says}
    world.catalog.create(TABLE, [Column(1, "RECORD_METADATA", Primitive("variant")), Column(2, "id", LONG)], properties)
    produce(world, {"id": 2, "colour": 7})

    world.run(errors__tolerance="all")

    assert columns(world) == expected


def test_two_connectors_that_see_the_same_new_keys_at_once_make_their_columns_once(world: World) -> None:
    one, other = world.connector(), world.connector(name="market")
    one.cycle()
    other.cycle()
    produce(world, {"id": 1, "colour": 7})

    one.cycle()
    other.cycle()

    assert columns(world) == ["colour", "id"]
    assert world.offsets() == [0, 0]


def test_values_that_were_dropped_are_counted_by_key_in_the_tokens(world: World) -> None:
    world.catalog.create(TABLE, [Column(1, "RECORD_METADATA", Primitive("variant")), Column(2, "id", LONG)], {})
    produce(world, {"id": 1, "colour": 7}, {"id": 2, "weight": 8})
    connector = world.run()
    produce(world, {"id": 3, "colour": 9})

    connector.cycle()

    again = world.run()
    assert [dict(each.tokens.dropped) for each in again.tables.values()] == [{"colour": 2, "weight": 1}]


def test_counts_that_travel_with_commits_stay_few(world: World) -> None:
    world.catalog.create(TABLE, [Column(1, "RECORD_METADATA", Primitive("variant"))], {})
    produce(world, {f"key_{number:03}": 1 for number in range(150)})

    (opened,) = world.run().tables.values()

    assert len(opened.tokens.dropped) == 101
    assert opened.tokens.dropped["(other keys)"] == 50
