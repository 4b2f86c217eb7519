"""Logs that were truncated below their tokens, and have grown again or not."""

from __future__ import annotations

import pytest
from tests.cycle.memory import Clock, World, orders, settings, token
from tests.memory import MemoryLog, MemoryRecord, ingestion

from frazil.cycle import Ingestion
from frazil.errors import LogTruncated, RecordsReplaced, StageFailed
from frazil.model import Buffer
from frazil.tables.rules.tokens import Tokens, mirrored

SKIP = {"frazil__on__data__loss": "skip"}


@pytest.fixture
def world() -> World:
    """A topic of which fifteen records have landed."""
    found = World()
    found.cluster.create_topic("orders")
    found.produce(15)
    return found


def log(world: World) -> MemoryLog:
    return world.cluster.log(orders())


def landed(world: World) -> list[tuple[int, int]]:
    """Offset and leader epoch of the record of each row."""
    return sorted((row.offset, row.leader_epoch) for row in world.table.rows())


def tokens(world: World) -> Tokens:
    found = mirrored(world.table.state, "ORDERS", "SHOP")
    assert found is not None
    return found


def truncate(world: World, at: int, grown: int) -> None:
    """Lose the end of the log, and get other records there."""
    log(world).truncate(at)
    world.produce(grown)


def recovered(running: Ingestion) -> None:
    """Run the cycle that reads what replaced others, as a connector does after a transient error."""
    with pytest.raises(RecordsReplaced):
        running.cycle()
    running.recall()
    running.cycle()


@pytest.mark.parametrize("grown", [0, 2, 5, 8])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_log_that_was_truncated_stops_the_connector_however_far_it_has_grown_again(
    world: World, grown: int, restarted: bool
):
    running = world.run()
    truncate(world, 10, grown)
    failing = world.connector() if restarted else running

    with pytest.raises(
        LogTruncated, match=r"orders-0 was truncated at offset 10 .* its offset token is 14"
    ) as truncated:
        failing.cycle()

    assert truncated.value.parts == 10
    assert (token(failing), landed(world)) == ("14", [(offset, 0) for offset in range(15)])


@pytest.mark.parametrize("grown", [0, 2, 5, 8])
@pytest.mark.parametrize("restarted", [False, True])
def test_what_a_truncated_log_holds_now_is_read_and_the_rows_of_what_it_held_stay(
    world: World, grown: int, restarted: bool
):
    running = world.run(**SKIP)
    truncate(world, 10, grown)

    recovered(world.connector(**SKIP) if restarted else running)

    assert landed(world) == sorted([(n, 0) for n in range(15)] + [(n, 1) for n in range(10, 10 + grown)])


def test_replaced_offsets_are_in_the_tokens_before_anything_else_is_read(world: World):
    running = world.run(**SKIP)
    truncate(world, 10, 8)

    with pytest.raises(RecordsReplaced, match="the records 10 to 14 of orders-0"):
        running.cycle()

    channel = tokens(world).channel(orders())
    assert (channel.token, channel.lost, channel.inserted, channel.leader_epoch) == ("9", 5, 15, 0)
    error = tokens(world).last_error
    assert error is not None
    assert (error["code"], error["offset"]) == ("log_truncated", 10)
    assert "the records 10 to 14 of orders-0 were truncated" in str(error["reason"])


def test_all_partitions_that_were_truncated_go_back_at_once(world: World):
    world.cluster.add_partitions("orders", 3)
    for partition in (1, 2):
        world.produce(15, partition)
    running = world.run(**SKIP)
    for partition, at in ((0, 10), (2, 3)):
        world.cluster.log(orders(partition)).truncate(at)
        world.produce(20, partition)

    with pytest.raises(RecordsReplaced, match="10 to 14 of orders-0, the records 3 to 14 of orders-2"):
        running.cycle()

    assert [token(running, partition) for partition in range(3)] == ["9", "14", "2"]


def test_a_log_that_is_truncated_twice_is_read_from_the_lower_of_the_two_places(world: World):
    running = world.run(**SKIP)
    truncate(world, 10, 2)
    with pytest.raises(RecordsReplaced):
        running.cycle()
    truncate(world, 6, 9)

    running.recall()
    recovered(running)

    assert landed(world) == sorted([(n, 0) for n in range(15)] + [(n, 2) for n in range(6, 15)])


def test_elections_that_lose_nothing_are_no_truncation(world: World):
    for grown in (0, 3, 0, 0, 4):
        running = world.run()
        log(world).elect()
        world.produce(grown)
        running.cycle()

    assert [offset for offset, _ in landed(world)] == list(range(22))


def test_an_election_among_offsets_without_records_is_no_truncation(world: World):
    log(world).elect()
    log(world).append(None, None)
    running = world.run()
    log(world).elect()

    running.cycle()
    world.produce(1)
    running.cycle()

    assert [offset for offset, _ in landed(world)] == [*range(15), 17]


def test_a_quiet_channel_is_looked_at_once_for_each_leader(world: World):
    asked: list[str] = []
    running = world.run()
    log(world).elect()
    world.cluster.on_request = asked.append

    for _ in range(3):
        running.cycle()

    assert asked.count("divergences") == 1


def test_without_leader_epochs_a_log_that_has_grown_again_is_read_from_the_token(world: World):
    world.cluster.knows_epochs = False
    running = world.run()
    truncate(world, 10, 8)

    running.cycle()

    assert [offset for offset, _ in landed(world)] == list(range(18))


def test_a_truncation_of_which_the_log_has_forgotten_where_stops_the_connector_also_where_losses_are_skipped(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(7):
        log(world).elect()
    world.produce(1)
    clock = Clock()
    monkeypatch.setattr("frazil.sources.kafka.leader_epochs.time", clock)
    running = world.run(**SKIP)
    log(world).epochs = {0: 0}  # as in a cluster whose metadata was lost
    running.cycle()
    clock.now += 61

    with pytest.raises(LogTruncated, match="has another log than the one that was read"):
        running.cycle()


def test_a_log_that_is_truncated_while_its_pieces_are_read_is_planned_again(world: World):
    running = world.run(**SKIP)
    log(world).append(*(MemoryRecord({"id": n}, 20_000_000) for n in range(20)))
    running.cycle()  # the size of records is known by now
    log(world).append(*(MemoryRecord({"id": n}, 20_000_000) for n in range(20)))
    requests = iter(["truncated", "not again"])

    def truncated_between_pieces(request: str) -> None:
        if request == "read" and next(requests, None) == "not again":
            truncate(world, 40, 30)

    world.cluster.on_request = truncated_between_pieces
    with pytest.raises(StageFailed):
        running.cycle()
    running.recall()
    while token(running) != "69":
        running.cycle()

    assert landed(world) == [*((n, 0) for n in range(40)), *((n, 1) for n in range(40, 70))]


def test_a_partition_that_waits_for_its_buffer_is_looked_at_when_it_is_read(world: World):
    buffered = ingestion(settings(**SKIP), world.cluster, world.catalog, Buffer(records=5))
    buffered.cycle()
    truncate(world, 10, 7)
    buffered.cycle()
    world.produce(5)

    recovered(buffered)

    assert landed(world) == sorted([(n, 0) for n in range(15)] + [(n, 1) for n in range(10, 22)])
