"""Where channels start whose table lost them, or never had them."""

from __future__ import annotations

import pytest
from tests.cycle.memory import TABLE, World, orders, settings, token
from tests.support.channels import at

from frazil.cycle.routes import covered_by_all
from frazil.errors import Fenced, NoStartingOffset, TableMissing, TableRenewed, TableReplaced, TokensMissing
from frazil.model import Column, Primitive
from frazil.sources.base import Acknowledgement
from frazil.sources.kafka.initial_offsets import GroupOffset
from frazil.sources.kafka.offset_metadata import OffsetMetadata

MISSING, REPLACED = "frazil__on__table__missing", "frazil__on__table__replaced"
COLUMNS = (Column(1, "id", Primitive("long")),)


@pytest.fixture
def world() -> World:
    """A topic of which ten records have landed."""
    found = World()
    found.cluster.create_topic("orders")
    found.produce(10)
    found.run()
    return found


def test_what_is_published_says_which_commit_landed_it_in_which_table(world: World) -> None:
    found = world.run()
    (opened,) = found.tables.values()

    published = world.cluster.groups["connect-shop"][orders()]

    assert published.offset == 10
    mark = OffsetMetadata.read(published.metadata)
    assert mark is not None
    assert (mark.connector, mark.table) == ("SHOP", world.table.state.uuid)
    assert covered_by_all(found.tables, ["orders"]) == {
        orders(): Acknowledgement(at(10), opened.uuid, opened.tokens.commit)
    }

    world.produce(1)
    found.cycle()
    mark = OffsetMetadata("SHOP", opened.uuid, opened.tokens.commit)
    assert world.cluster.groups["connect-shop"][orders()] == GroupOffset(11, str(mark))


@pytest.mark.parametrize(
    "text", ["", "frazil", "frazil:2:SHOP:u:c", "frazil:1:SHOP:u", "frazil:1:SHOP:u:c:more", "2026-07-29"]
)
def test_what_others_write_beside_an_offset_is_no_mark(text: str) -> None:
    assert OffsetMetadata.read(text) is None


@pytest.mark.parametrize("metadata", ["", "some text", str(OffsetMetadata("ANOTHER", "u", "c"))])
def test_an_offset_that_somebody_else_published_is_where_a_migration_begins(metadata: str) -> None:
    world = World()
    world.cluster.create_topic("orders")
    world.produce(10)
    world.cluster.groups["connect-shop"] = {orders(): GroupOffset(7, metadata)}

    world.run()

    assert world.offsets() == [7, 8, 9]


def test_a_table_that_was_dropped_is_missed_and_nothing_is_made_in_its_place(world: World) -> None:
    landed = world.table.state.uuid
    world.catalog.drop(TABLE)

    for _ in range(2):
        with pytest.raises(TokensMissing) as missed:
            world.run()

    for told in (
        "public.ORDERS does not exist",
        "connect-shop",
        "offset 10 of orders-0",
        landed,
        "frazil.on.table.missing",
    ):
        assert told in missed.value.message
    assert world.catalog.tables == {}


def test_in_place_of_a_dropped_table_a_new_one_goes_on_after_it_where_that_is_wanted(world: World) -> None:
    world.catalog.drop(TABLE)
    world.produce(3)

    world.run(**{MISSING: "continue"})
    world.run()

    assert world.offsets() == [10, 11, 12]


def test_in_place_of_a_dropped_table_a_new_one_gets_all_there_is_where_that_is_wanted(world: World) -> None:
    world.catalog.drop(TABLE)
    world.cluster.log(orders()).retain(4)

    world.run(**{MISSING: "earliest", "consumer__override__auto__offset__reset": "none"})

    assert world.offsets() == [4, 5, 6, 7, 8, 9]


def test_an_opening_that_died_after_it_made_the_table_does_not_change_what_is_missing(world: World) -> None:
    world.catalog.drop(TABLE)
    world.catalog.open(TABLE, {}, settings().conversion)

    world.run(**{MISSING: "continue"})

    assert token(world.run()) == "9"


def test_partitions_that_came_while_the_table_was_gone_start_at_their_beginning(world: World) -> None:
    world.catalog.drop(TABLE)
    world.cluster.add_partitions("orders", 2)
    world.produce(2, partition=1)

    world.run(**{MISSING: "continue", "consumer__override__auto__offset__reset": "latest"})

    assert (world.offsets(0), world.offsets(1)) == ([], [0, 1])


def test_a_table_made_by_others_in_the_place_of_ours_is_a_replacement(world: World) -> None:
    world.catalog.create(TABLE, COLUMNS, {})

    with pytest.raises(TokensMissing, match=r"has no offset tokens of shop.*frazil\.on\.table\.replaced"):
        world.run(**{MISSING: "continue"})
    world.run(**{REPLACED: "continue"})
    assert world.offsets() == []

    world.catalog.create(TABLE, COLUMNS, {})
    world.run(**{REPLACED: "earliest"})
    assert world.offsets() == list(range(10))


def test_a_rollback_to_before_a_topic_was_opened_does_not_lose_its_records_in_silence(world: World) -> None:
    before = world.table.state.current_id
    world.cluster.create_topic("more")
    world.produce(5, topic="more")
    both = {"topics": "orders,more", "snowflake__topic2table__map": "orders:orders,more:orders"}
    world.run(**both)
    world.table.set_current(before or 0)

    with pytest.raises(TokensMissing, match="offset 5 of more-0"):
        world.run(**both)
    world.run(**both, **{REPLACED: "earliest"})

    assert world.offsets(topic="more") == list(range(5))
    assert world.offsets() == list(range(10))


@pytest.mark.parametrize(("choice", "expected"), [("continue", [10, 11, 12]), ("earliest", list(range(13)))])
def test_a_table_replaced_in_place_stops_unless_it_is_said_where_to_go_on(
    world: World, choice: str, expected: list[int]
) -> None:
    world.table.begin_anew(COLUMNS)
    world.produce(3)

    with pytest.raises(TableReplaced, match="replaced in place"):
        world.run()
    world.run(**{REPLACED: choice})

    assert world.offsets() == expected
    world.produce(1)
    world.run()
    assert world.offsets() == [*expected, 13]


def test_a_table_replaced_in_place_while_it_is_written_gets_no_row(world: World) -> None:
    running = world.run()
    world.table.begin_anew(COLUMNS)
    world.produce(3)

    with pytest.raises(TableReplaced):
        running.cycle()
    with pytest.raises(TableReplaced):
        running.recall()

    assert world.offsets() == []


@pytest.mark.parametrize(("choice", "expected"), [("continue", [10, 11, 12]), ("earliest", list(range(13)))])
def test_a_table_that_disappears_while_it_is_written_is_made_again_where_that_is_wanted(
    world: World, choice: str, expected: list[int]
) -> None:
    running = world.run(**{MISSING: choice})
    world.catalog.drop(TABLE)
    world.produce(3)

    with pytest.raises(TableRenewed, match=f"as {choice} says"):
        running.cycle()
    running.recall()
    running.cycle()

    assert world.offsets() == expected
    assert token(running) == "12"


def test_a_table_that_disappears_while_it_is_written_is_an_end_otherwise(world: World) -> None:
    running = world.run(**{REPLACED: "continue"})
    world.catalog.drop(TABLE)
    world.produce(3)

    with pytest.raises(TableMissing):
        running.cycle()
    with pytest.raises(TableMissing):
        running.recall()


@pytest.mark.parametrize(("choice", "expected"), [("continue", [10, 11, 12]), ("earliest", list(range(13)))])
def test_a_table_replaced_while_it_is_written_is_opened_again_where_that_is_wanted(
    world: World, choice: str, expected: list[int]
) -> None:
    running = world.run(**{REPLACED: choice})
    world.catalog.create(TABLE, COLUMNS, {})
    world.produce(3)

    with pytest.raises(TableRenewed):
        running.cycle()
    running.recall()
    running.cycle()

    assert world.offsets() == expected


def test_without_any_offset_none_forbids_to_choose() -> None:
    world = World()
    world.cluster.create_topic("orders", 2)

    with pytest.raises(NoStartingOffset, match="orders-0"):
        world.run(consumer__override__auto__offset__reset="none")


def test_the_newest_opener_wins_also_after_a_rollback_to_an_older_epoch(world: World) -> None:
    first = world.table.state.current_id
    older = world.run()
    world.table.set_current(first or 0)
    older.recall()

    newer = world.run()
    world.produce(1)

    with pytest.raises(Fenced):
        older.cycle()
    newer.cycle()
    assert world.offsets() == list(range(11))
