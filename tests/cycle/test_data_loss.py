from __future__ import annotations

import pytest
from tests.cycle.memory import World, orders

from frazil.cycle import Ingestion
from frazil.errors import DataLoss, LogTruncated, RecordsSkipped
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, mirrored

SKIP = {"frazil__on__data__loss": "skip"}


@pytest.fixture
def world() -> World:
    """Two partitions of which ten records each have landed, and of which later ones are gone or going."""
    found = World()
    found.cluster.create_topic("orders", 2)
    for partition in (0, 1):
        found.produce(10, partition)
    found.run()
    for partition, first in ((0, 15), (1, 12)):
        found.produce(10, partition)
        found.cluster.log(orders(partition)).retain(first)
    return found


def held(found: Ingestion) -> Tokens:
    (opened,) = found.tables.values()
    return opened.tokens


def test_all_that_is_lost_is_named_and_nothing_is_moved(world: World) -> None:
    failing = world.connector()

    with pytest.raises(DataLoss) as lost:
        failing.cycle()

    assert (lost.value.first, lost.value.last) == (10, 14)
    assert "the records 10 to 11 of orders-1" in lost.value.message
    assert [held(failing).channel(orders(n)).token for n in (0, 1)] == ["9", "9"]


def test_what_is_skipped_is_in_the_tokens_before_anything_else_is_read(world: World) -> None:
    skipping = world.connector(**SKIP)

    with pytest.raises(RecordsSkipped, match="the records 10 to 14 of orders-0, the records 10 to 11 of orders-1"):
        skipping.cycle()

    tokens = mirrored(world.table.state, "ORDERS", "SHOP")
    assert tokens is not None
    channels = [tokens.channel(orders(n)) for n in (0, 1)]
    assert [(each.token, each.lost, each.inserted) for each in channels] == [("14", 5, 10), ("11", 2, 10)]
    assert tokens.last_error is not None
    assert (tokens.last_error["code"], tokens.last_error["offset"]) == ("data_loss", 10)
    assert world.offsets(0) == list(range(10))


def test_the_connector_goes_on_after_what_it_skipped_and_keeps_count(world: World) -> None:
    skipping = world.connector(**SKIP)
    with pytest.raises(RecordsSkipped):
        skipping.cycle()

    skipping.recall()
    skipping.cycle()

    assert world.offsets(0) == [*range(10), *range(15, 20)]
    assert world.offsets(1) == [*range(10), *range(12, 20)]
    assert held(world.run()).channel(orders(0)) == Channel(
        "19", 0, 15, 15, 0, held(skipping).channel(orders(0)).time, 5
    )


def test_a_loss_is_remembered_also_where_nothing_comes_after_it(world: World) -> None:
    world.cluster.log(orders(0)).retain(20)
    world.cluster.log(orders(1)).retain(20)

    with pytest.raises(RecordsSkipped):
        world.connector(**SKIP).cycle()

    restarted = world.run()
    assert [held(restarted).channel(orders(n)).token for n in (0, 1)] == ["19", "19"]
    assert held(restarted).channel(orders(0)).lost == 10


def test_a_log_that_ends_before_its_token_is_not_skipped_where_no_leader_epochs_are_known(world: World) -> None:
    world.cluster.knows_epochs = False
    world.cluster.log(orders(0)).earliest = 0
    world.cluster.log(orders(0)).truncate(7)

    with pytest.raises(LogTruncated, match="ends at offset 7 but its offset token is 9"):
        world.connector(**SKIP).cycle()
