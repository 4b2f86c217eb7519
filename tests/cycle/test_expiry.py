"""What retention may have taken unread, where only time can tell, and what is no loss."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import TABLE, Feeding, Trouble, World
from tests.memory import SEQUENCES, MemoryCluster, MemoryRecord
from tests.memory.sequences.positions import sequence

from frazil.errors import RecordsExpired
from frazil.model import SourcePartition, TableName
from frazil.sources.base import Rest
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import read

HOUR = 3_600_000
BEGAN = 1_700_000_000_000


@pytest.fixture
def world() -> World:
    """A stream of one shard with three records, that keeps them for a day."""
    made = World(MemoryCluster(SEQUENCES))
    made.cluster.create_topic("orders")
    made.cluster.moment, made.cluster.retention = BEGAN, 24 * HOUR
    write(made, shard(0), 3)
    return made


@pytest.fixture(autouse=True)
def logs() -> Iterator[list]:
    with capture_logs() as found:
        yield found


def shard(number: int) -> SourcePartition:
    return SourcePartition("orders", f"shard-{number:03d}")


def write(world: World, partition: SourcePartition, count: int) -> None:
    log = world.cluster.log(partition)
    log.append(*(MemoryRecord({"id": log.latest + n}) for n in range(count)))


def channel(world: World, partition: SourcePartition) -> Channel:
    found = read(world.table.state, str(TABLE), "SHOP")
    assert found
    return found.channel(partition)


def test_a_channel_that_was_not_read_for_as_long_as_records_are_kept_stops_the_connector(world: World) -> None:
    world.run()
    world.cluster.moment = BEGAN + 24 * HOUR + 1

    with pytest.raises(RecordsExpired) as stopped:
        world.run()

    assert "orders-shard-000 was read up to what had come by 2023-11-14T22:13:20+00:00" in stopped.value.message


def test_up_to_then_nothing_is_said(world: World) -> None:
    world.run()
    world.cluster.moment = BEGAN + 24 * HOUR
    write(world, shard(0), 1)

    world.run()

    assert channel(world, shard(0)).token == sequence(3)


def test_what_may_be_lost_is_passed_over_once_where_the_settings_say_so(world: World, logs: list) -> None:
    world.run()
    world.cluster.moment = BEGAN + 30 * HOUR
    write(world, shard(0), 1)

    connector = world.run(frazil__on__data__loss="skip")
    connector.cycle()

    assert channel(world, shard(0)).token == sequence(3)
    assert [each["partition"] for each in logs if "records may be lost" in each["event"]] == ["orders-shard-000"]
    found = read(world.table.state, str(TABLE), "SHOP")
    assert found
    assert found.last_error
    assert found.last_error["code"] == "records_expired"


def test_a_possible_loss_that_one_table_cannot_write_down_does_not_hold_up_the_other(world: World) -> None:
    first, second = (TableName(("public",), name) for name in "AB")
    world.routing = Feeding(first, second)
    world.run()
    world.cluster.moment = BEGAN + 30 * HOUR
    write(world, shard(0), 1)
    connector = world.connector(frazil__on__data__loss="skip")
    connector.discover()
    Trouble(world, first, "build")

    connector.cycle()

    assert connector.failing.keys() == {first}
    assert [len(world.catalog.tables[name].rows()) for name in (first, second)] == [3, 4]


def test_a_quiet_shard_is_no_false_alarm_while_the_connector_runs(world: World) -> None:
    connector = world.run()
    for hour in range(1, 60):
        world.cluster.moment = BEGAN + hour * HOUR
        connector.cycle()

    assert channel(world, shard(0)).read_through is not None
    write(world, shard(0), 1)
    world.run()

    assert channel(world, shard(0)).token == sequence(3)


def test_when_a_quiet_shard_was_read_is_committed_at_least_every_hour(world: World) -> None:
    connector = world.run()
    before = len(world.table.history)
    for minute in range(1, 150):
        world.cluster.moment = BEGAN + minute * 60_000
        connector.cycle()

    assert len(world.table.history) - before == 2
    assert channel(world, shard(0)).read_through == BEGAN + 120 * 60_000


def test_a_connector_that_ends_leaves_behind_by_when_quiet_shards_were_read(world: World) -> None:
    connector = world.run()
    for minute in range(1, 10):
        world.cluster.moment = BEGAN + minute * 60_000
        connector.cycle()

    connector.settle()

    assert channel(world, shard(0)).read_through == BEGAN + 9 * 60_000


def test_a_shard_that_vanished_before_its_end_stops_the_connector(world: World) -> None:
    connector = world.run()
    world.cluster.split(shard(0))
    world.cluster.vanish(shard(0))

    with pytest.raises(RecordsExpired, match="orders-shard-000"):
        connector.cycle()


def test_a_shard_that_vanished_counts_as_read_where_the_settings_say_so(world: World) -> None:
    connector = world.run(frazil__on__data__loss="skip")
    left, _ = world.cluster.split(shard(0))
    write(world, left, 2)
    world.cluster.vanish(shard(0))

    connector.cycle()
    connector.cycle()

    assert sorted(row.offset for row in world.table.rows() if row.partition == left) == [0, 1]


def test_a_child_that_was_never_read_is_judged_by_its_parent(world: World) -> None:
    connector = world.run()
    world.cluster.split(shard(0))
    connector.cycle()
    world.cluster.moment = BEGAN + 25 * HOUR

    with pytest.raises(RecordsExpired, match="orders-shard-001"):
        world.run()


def test_channels_of_shards_that_expired_are_forgotten_once_their_children_are_read(world: World) -> None:
    connector = world.run()
    left, right = world.cluster.split(shard(0))
    connector.cycle()
    assert channel(world, shard(0)).closed
    world.cluster.vanish(shard(0))
    write(world, left, 1)
    connector.cycle()
    assert channel(world, shard(0)).closed, "the other child was not read yet"
    write(world, right, 1)
    connector.cycle()
    write(world, right, 1)
    connector.cycle()

    assert channel(world, shard(0)) == Channel()
    assert channel(world, left).token == sequence(0)
    assert channel(world, right).token == sequence(1)


def test_a_backlog_that_is_there_when_a_shard_is_opened_does_not_expire_unread_and_unsaid(world: World) -> None:
    write(world, shard(0), 1)
    world.connector().discover()
    assert channel(world, shard(0)).read_through is None

    world.cluster.moment = BEGAN + 2 * HOUR

    with pytest.raises(RecordsExpired, match="orders-shard-000 was never read"):
        world.run()


def test_a_start_at_the_oldest_record_of_a_full_stream_is_no_loss_while_it_begins(world: World) -> None:
    world.connector().discover()
    world.cluster.moment = BEGAN + HOUR // 2

    world.run()

    assert channel(world, shard(0)).token == sequence(2)


def test_a_shard_of_a_stream_that_is_younger_than_its_retention_has_lost_nothing(world: World) -> None:
    world.cluster.created = BEGAN - HOUR
    world.connector().discover()
    world.cluster.moment = BEGAN + 20 * HOUR

    world.run()

    assert channel(world, shard(0)).token == sequence(2)


def test_what_is_passed_over_is_not_taken_for_read(world: World) -> None:
    world.run()
    world.cluster.moment = BEGAN + 30 * HOUR
    world.cluster.resting[shard(0)] = Rest(1000.0)
    write(world, shard(0), 1)
    world.run(frazil__on__data__loss="skip")
    assert channel(world, shard(0)).read_through == BEGAN
    assert channel(world, shard(0)).kept_since == BEGAN + 6 * HOUR

    world.cluster.moment = BEGAN + 32 * HOUR

    with pytest.raises(RecordsExpired, match="orders-shard-000"):
        world.run()


def test_a_shard_that_came_and_went_while_the_connector_stood_still_is_a_loss(world: World) -> None:
    connector = world.run()
    left, _ = world.cluster.split(shard(0))
    connector.cycle()
    write(world, left, 2)
    world.cluster.split(left)
    world.cluster.vanish(shard(0))
    world.cluster.vanish(left)

    with pytest.raises(RecordsExpired, match="orders-shard-001 was never read, and it is gone"):
        world.run()
    skipping = world.run(frazil__on__data__loss="skip")
    world.run()
    skipping.close()


def test_a_grandchild_that_was_never_read_is_judged_by_the_shards_before_it(world: World) -> None:
    connector = world.run()
    left, _ = world.cluster.split(shard(0))
    connector.cycle()
    world.cluster.split(left)
    world.cluster.moment = BEGAN + 25 * HOUR

    with pytest.raises(RecordsExpired, match=r"orders-shard-001 .*orders-shard-003"):
        world.run()


@pytest.mark.parametrize("days", [1, 7])
def test_a_retention_that_was_raised_does_not_hide_what_the_lower_one_deleted(world: World, days: int) -> None:
    world.run()
    world.cluster.moment, world.cluster.retention = BEGAN + 30 * HOUR, days * 24 * HOUR

    with pytest.raises(RecordsExpired, match="orders-shard-000"):
        world.run()


def test_a_retention_that_was_raised_in_time_holds_from_the_next_look_on(world: World) -> None:
    connector = world.run()
    world.cluster.moment, world.cluster.retention = BEGAN + 20 * HOUR, 7 * 24 * HOUR
    world.cluster.resting[shard(0)] = Rest(1000.0)
    write(world, shard(0), 1)
    connector.cycle()
    world.cluster.resting.clear()
    world.cluster.moment = BEGAN + 100 * HOUR

    world.run()

    assert channel(world, shard(0)).token == sequence(3)


def test_a_retention_that_was_lowered_is_kept_at_once(world: World) -> None:
    world.cluster.retention = 7 * 24 * HOUR
    connector = world.run()
    world.cluster.retention = 24 * HOUR
    connector.cycle()
    world.cluster.moment, world.cluster.retention = BEGAN + 30 * HOUR, 7 * 24 * HOUR

    with pytest.raises(RecordsExpired, match="orders-shard-000"):
        world.run()
