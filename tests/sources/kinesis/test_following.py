"""A stream followed by a connector, from a local stream to tables in memory: starts, ends, losses, and trouble."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import pytest
from structlog.testing import capture_logs
from tests.memory.streams import StreamWorld
from tests.support.clocks import Ahead

from frazil.cycle import Ingestion
from frazil.cycle.resets import after, moves
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import RecordsExpired, StreamRefused, StreamUnavailable, TopicReplaced
from frazil.model import Buffer, SourcePartition
from frazil.sources.base import Held
from frazil.sources.kinesis.initial_positions import InitialPosition
from frazil.sources.kinesis.positions import at
from frazil.sources.kinesis.pulling import Answer, Puller
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import read
from frazil.testing.topics import wait_until

HOUR = 3600.0
_names = itertools.count(1)


@pytest.fixture(scope="module")
def clock() -> Ahead:
    return Ahead()


@pytest.fixture(scope="module")
def local(clock: Ahead) -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False, clock=clock) as found:
        yield found


@pytest.fixture(autouse=True)
def _quiet(local: LocalKinesis, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("frazil.sources.kinesis.pace._GAP", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.pace._MARGIN", 0.0)
    with capture_logs():
        yield
    local.faults.clear()


@pytest.fixture
def world(local: LocalKinesis) -> StreamWorld:
    """A stream of one shard."""
    found = StreamWorld(local, f"orders{next(_names)}")
    local.provide(found.stream, 1)
    return found


def put(world: StreamWorld, *numbers: int, key: str = "k", hash_key: int | None = None) -> None:
    placed = {} if hash_key is None else {"ExplicitHashKey": str(hash_key)}
    for number in numbers:
        world.local.client("kinesis").put_record(
            StreamName=world.stream, Data=b'{"number":%d}' % number, PartitionKey=key, **placed
        )


def split(world: StreamWorld, shard: int = 0) -> None:
    client = world.local.client("kinesis")
    found = client.list_shards(StreamName=world.stream)["Shards"][shard]
    low, high = (int(found["HashKeyRange"][end]) for end in ("StartingHashKey", "EndingHashKey"))
    client.split_shard(
        StreamName=world.stream, ShardToSplit=found["ShardId"], NewStartingHashKey=str((low + high) // 2)
    )
    settle(world)


def settle(world: StreamWorld) -> None:
    client = world.local.client("kinesis")
    while client.describe_stream_summary(StreamName=world.stream)["StreamDescriptionSummary"]["StreamStatus"] != (
        "ACTIVE"
    ):
        pass


def shard(world: StreamWorld, number: int = 0) -> SourcePartition:
    return SourcePartition(world.stream, f"shardId-{number:012d}")


def channel(world: StreamWorld, number: int = 0) -> Channel:
    found = read(world.table.state, world.stream, "SHOP")
    assert found
    return found.channel(shard(world, number))


def numbers(world: StreamWorld) -> list[object]:
    return [value["number"] for value in world.values()]


def started(world: StreamWorld, **keys: str) -> Ingestion:
    connector = world.connector(**keys)
    connector.discover()
    return connector


def looked_at(connector: Ingestion, world: StreamWorld, moment: float) -> None:
    """Run cycles until the table says that the shard was read up to a time, in seconds since the epoch."""
    for _ in range(5_000):
        if (channel(world).read_through or 0) >= moment * 1000:
            return
        connector.cycle()
    raise AssertionError("nobody looked at the shard")


def made_again(world: StreamWorld) -> None:
    client = world.local.client("kinesis")
    client.delete_stream(StreamName=world.stream)
    while world.stream in client.list_streams()["StreamNames"]:
        pass
    world.local.provide(world.stream, 1)


def for_a_while(connector: Ingestion, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        connector.cycle()


def several(connector: Ingestion) -> None:
    for _ in range(3):
        connector.cycle()


def test_the_oldest_record_is_the_first_where_nothing_else_is_said(world: StreamWorld) -> None:
    put(world, 1, 2)

    world.catch_up(started(world))

    assert numbers(world) == [1, 2]


def test_latest_is_a_time_that_survives_a_crash_before_the_first_record(
    local: LocalKinesis, clock: Ahead, world: StreamWorld
) -> None:
    latest = StreamWorld(local, world.stream, InitialPosition("LATEST"))
    put(latest, 1)
    clock.ahead += 120
    started(latest)
    assert (channel(latest).token or "").startswith("AT_TIMESTAMP:")
    put(latest, 2)
    clock.ahead += 300

    latest.catch_up(started(latest))

    assert numbers(latest) == [2]


def test_latest_leaves_older_records_of_closed_shards_and_reads_their_children_from_then_on(
    local: LocalKinesis, clock: Ahead, world: StreamWorld
) -> None:
    latest = StreamWorld(local, world.stream, InitialPosition("LATEST"))
    put(latest, 1)
    split(latest)
    put(latest, 2)
    clock.ahead += 120
    connector = started(latest)
    put(latest, 3)
    split(latest, 1)
    put(latest, 4, hash_key=0)

    latest.catch_up(connector)

    assert numbers(latest) == [3, 4]
    assert (channel(latest).token, channel(latest).closed) == ("SHARD_END", True)


def test_latest_has_the_last_minute_of_a_shard_that_was_just_split(local: LocalKinesis, world: StreamWorld) -> None:
    latest = StreamWorld(local, world.stream, InitialPosition("LATEST"))
    put(latest, 1)
    split(latest)
    put(latest, 2)

    latest.catch_up(started(latest))

    assert numbers(latest) == [1, 2]


@pytest.mark.parametrize("generations", [1, 2])
def test_children_of_a_shard_that_is_to_begin_at_a_time_to_come_begin_then(
    local: LocalKinesis, clock: Ahead, world: StreamWorld, generations: int
) -> None:
    timed = StreamWorld(local, world.stream, InitialPosition("AT_TIMESTAMP", int(clock() * 1000) + 3_600_000))
    started(timed)
    put(timed, 1)
    for number in range(generations):
        split(timed, number)
        put(timed, 2 + number, hash_key=0)
    connector = started(timed)
    several(connector)
    assert numbers(timed) == []

    clock.ahead += HOUR + 1
    put(timed, 10, hash_key=0)
    put(timed, 11, hash_key=2**128 - 1)
    timed.catch_up(connector)

    assert sorted(map(str, numbers(timed))) == ["10", "11"]


def test_children_of_a_shard_with_records_since_the_time_begin_at_their_beginning(
    local: LocalKinesis, clock: Ahead, world: StreamWorld
) -> None:
    timed = StreamWorld(local, world.stream, InitialPosition("AT_TIMESTAMP", int(clock() * 1000)))
    clock.ahead += 2
    put(timed, 1)
    timed.catch_up(started(timed))
    assert channel(timed).next_start is None
    split(timed)
    put(timed, 2)

    timed.catch_up(started(timed))

    assert numbers(timed) == [1, 2]


def test_a_time_to_start_at_is_kept(local: LocalKinesis, clock: Ahead, world: StreamWorld) -> None:
    put(world, 1)
    clock.ahead += 60
    moment = int(clock() * 1000)
    put(world, 2)
    clock.ahead += 1  # answers have the second they are of
    timed = StreamWorld(local, world.stream, InitialPosition("AT_TIMESTAMP", moment))

    timed.catch_up(started(timed))

    assert numbers(timed) == [2]


def test_a_time_to_start_at_that_is_still_to_come_is_waited_for(
    local: LocalKinesis, clock: Ahead, world: StreamWorld
) -> None:
    timed = StreamWorld(local, world.stream, InitialPosition("AT_TIMESTAMP", int(clock() * 1000) + 3_600_000))
    connector = started(timed)
    put(world, 1)
    several(connector)
    assert numbers(timed) == []

    clock.ahead += HOUR + 1
    put(world, 2)
    timed.catch_up(connector)

    assert numbers(timed) == [2]


def test_grandchildren_that_are_closed_when_first_seen_are_read_in_order(world: StreamWorld) -> None:
    put(world, 1, hash_key=0)
    split(world)
    put(world, 2, hash_key=0)
    split(world, 1)
    put(world, 3, hash_key=0)
    split(world, 3)
    put(world, 4, hash_key=0)

    world.catch_up(started(world))

    assert numbers(world) == [1, 2, 3, 4]
    assert [channel(world, number).closed for number in range(7)] == [True, True, False, True, False, False, False]


def test_a_stream_made_again_is_another_one(world: StreamWorld) -> None:
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)
    made_again(world)
    put(world, 2)

    with pytest.raises(TopicReplaced, match=world.stream):
        several(connector)
    with pytest.raises(TopicReplaced, match=world.stream):
        started(world)
    assert numbers(world) == [1]


def test_a_stream_made_again_is_not_taken_for_the_old_one_while_the_account_is_asked_too_often(
    clock: Ahead, world: StreamWorld
) -> None:
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)
    clock.ahead += 60
    made_again(world)
    put(world, 2)
    world.local.faults.kms("LimitExceededException", "DescribeStreamSummary", stream=world.stream)

    with pytest.raises(StreamUnavailable, match="LimitExceededException"):
        for_a_while(connector)
    world.local.faults.clear()
    connector.recall()
    with pytest.raises(TopicReplaced, match=world.stream):
        several(connector)

    assert numbers(world) == [1]


def test_a_connector_that_stood_still_for_longer_than_the_stream_retains_says_so(
    clock: Ahead, world: StreamWorld
) -> None:
    put(world, 1)
    world.catch_up(started(world))
    put(world, 2)
    clock.ahead += 25 * HOUR
    put(world, 3)

    with pytest.raises(RecordsExpired, match=world.stream):
        started(world).cycle()
    skipping = started(world, frazil__on__data__loss="skip")
    world.catch_up(skipping)

    assert numbers(world) == [1, 3]


def test_days_without_a_record_are_no_loss_while_the_connector_runs(clock: Ahead, world: StreamWorld) -> None:
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)
    for _ in range(5):
        clock.ahead += 20 * HOUR
        looked_at(connector, world, clock() - HOUR)
    put(world, 2)

    world.catch_up(started(world))

    assert numbers(world) == [1, 2]


def test_days_without_a_record_are_no_loss_for_one_that_runs_now_and_then(clock: Ahead, world: StreamWorld) -> None:
    put(world, 1)
    world.catch_up(started(world))
    for _ in range(5):
        clock.ahead += 20 * HOUR
        connector = started(world)
        world.catch_up(connector)
        connector.settle()
        connector.close()
    put(world, 2)

    world.catch_up(started(world))

    assert numbers(world) == [1, 2]


@pytest.mark.parametrize("grows", [False, True], ids=["a second", "the age of the newest record"])
def test_a_quiet_shard_that_is_always_said_to_have_more_is_caught_up_with_and_no_loss_after_days(
    clock: Ahead, world: StreamWorld, monkeypatch: pytest.MonkeyPatch, grows: bool
) -> None:
    newest = clock()
    pull = Puller.pull

    def never_at_the_end(puller: Puller, iterator: str, arn: str | None) -> Answer:
        answer = pull(puller, iterator, arn)
        age = round((clock() - newest) * 1000) if grows else 0
        return replace(answer, behind=max(answer.behind, age, 1000))

    monkeypatch.setattr(Puller, "pull", never_at_the_end)
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)
    for _ in range(5):
        clock.ahead += 20 * HOUR
        looked_at(connector, world, clock() - HOUR)
    newest = clock()
    put(world, 2)

    world.catch_up(connector)
    world.catch_up(started(world))

    assert numbers(world) == [1, 2]


def test_a_shard_that_expired_unread_is_a_loss(clock: Ahead, world: StreamWorld) -> None:
    started(world)
    put(world, 1)
    split(world)
    clock.ahead += 30 * HOUR

    with pytest.raises(RecordsExpired):
        started(world).cycle()


def test_a_shard_that_cannot_be_read_waits_and_others_go_on(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.watch._HELD", 0.0)
    split(world)
    put(world, 1, hash_key=0)
    put(world, 2, hash_key=2**128 - 1)
    connector = started(world)
    world.local.faults.kms("KMSAccessDeniedException", "GetRecords", stream=world.stream, shard="shardId-000000000001")
    for _ in range(6):
        connector.cycle()

    assert numbers(world) == [2]
    assert connector.held == {shard(world, 1): Held("KMSAccessDeniedException")}

    world.local.faults.clear()
    world.catch_up(connector)
    assert numbers(world) == [2, 1]
    assert connector.held == {}


def test_the_newest_place_of_a_shard_is_after_all_that_came_before_it_was_asked_for(
    clock: Ahead, world: StreamWorld
) -> None:
    put(world, 1)
    clock.ahead += 2
    latest = world.source(world.settings()).latest([shard(world)])[shard(world)]
    put(world, 2)
    clock.ahead += 2  # answers have the second they are of

    begun = StreamWorld(world.local, world.stream, InitialPosition("AT_TIMESTAMP", latest.value))
    begun.catch_up(started(begun))

    assert numbers(begun) == [2]


def test_a_shard_of_which_no_sample_can_be_had_keeps_no_other_waiting(world: StreamWorld) -> None:
    split(world)
    put(world, 1, hash_key=0)
    put(world, 2, hash_key=2**128 - 1)
    connector = world.connector(buffer=Buffer(seconds=0.0, bytes=1_000_000))
    connector.discover()
    world.local.faults.kms("KMSAccessDeniedException", "GetRecords", stream=world.stream, shard="shardId-000000000001")
    several(connector)

    assert numbers(world) == [2]
    assert connector.held == {shard(world, 1): Held("KMSAccessDeniedException")}


def test_how_long_records_wait_behind_a_place_that_the_service_refuses_is_unknown(world: StreamWorld) -> None:
    put(world, 1)
    world.catch_up(started(world))
    start = at(str(channel(world).token))
    client = world.local.client("kinesis")
    client.delete_stream(StreamName=world.stream)
    client.get_waiter("stream_not_exists").wait(StreamName=world.stream, WaiterConfig={"Delay": 1})
    world.local.provide(world.stream, 1)

    assert world.source(world.settings()).oldest_timestamps({shard(world): start}) == {}


def test_a_quiet_shard_is_looked_at_and_not_staged(world: StreamWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)

    assert all(connector.cycle().idle for _ in range(10))
    put(world, 2)
    world.catch_up(connector)

    assert numbers(world) == [1, 2]


def test_a_service_that_is_down_is_an_outage_and_nothing_is_lost(world: StreamWorld) -> None:
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)
    world.local.faults.fail(stream=world.stream)

    with pytest.raises(StreamUnavailable):
        several(connector)
    world.local.faults.clear()
    put(world, 2)
    connector.recall()
    world.catch_up(connector)

    assert numbers(world) == [1, 2]


def test_rights_that_are_missing_stop_the_connector(world: StreamWorld) -> None:
    world.local.faults.kms("AccessDeniedException", "DescribeStreamSummary")

    with pytest.raises(StreamRefused, match="AccessDeniedException"):
        started(world)


def test_rights_that_are_taken_from_it_hold_the_shards_of_a_stream_and_nothing_else_stops(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("streams._REFUSED", "watch._HELD"):
        monkeypatch.setattr(f"frazil.sources.kinesis.{name}", 0.0)
    put(world, 1)
    connector = started(world, frazil__kinesis__discovery__interval__ms="100")
    world.catch_up(connector)
    put(world, 2)
    for operation in ("DescribeStreamSummary", "ListShards", "GetRecords", "GetShardIterator"):
        world.local.faults.kms("AccessDeniedException", operation, stream=world.stream)

    def held() -> bool:
        connector.cycle()
        return "AccessDeniedException" in str(connector.held.get(shard(world, 0)))

    wait_until(held, "the shard to be held")
    assert numbers(world) == [1]
    world.local.faults.clear()
    wait_until(lambda: bool(connector.cycle() and numbers(world) == [1, 2]), "the next record")
    assert connector.held == {}


def test_what_was_read_of_a_stream_that_nobody_may_look_at_waits_until_it_is_known_to_be_the_same(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)
    put(world, 2)
    for operation in ("DescribeStreamSummary", "ListShards"):
        world.local.faults.kms("AccessDeniedException", operation, stream=world.stream)
    monkeypatch.setattr("frazil.sources.kinesis.streams._STALE", 0.0)

    with pytest.raises(StreamUnavailable, match="AccessDeniedException"):
        several(connector)
    assert numbers(world) == [1]
    world.local.faults.clear()
    connector.recall()
    world.catch_up(connector)

    assert numbers(world) == [1, 2]


def test_a_goal_is_what_had_come_when_it_was_set(world: StreamWorld) -> None:
    connector = started(world)
    world.catch_up(connector)
    put(world, 1)
    goal = connector.goal(connector.discover())
    assert not connector.covers(goal)

    deadline = time.monotonic() + 20
    while not connector.covers(goal) and time.monotonic() < deadline:
        connector.cycle()

    assert connector.covers(goal)
    assert numbers(world) == [1]


def test_two_applications_read_one_stream_each_for_itself(local: LocalKinesis, world: StreamWorld) -> None:
    other = StreamWorld(local, world.stream)
    put(world, 1)
    connectors = [started(world), started(other, frazil__kinesis__application__name="second")]
    world.catch_up(connectors[0])
    put(world, 2)
    other.catch_up(connectors[1])
    world.catch_up(connectors[0])

    assert (numbers(world), numbers(other)) == ([1, 2], [1, 2])


def test_reports_say_whose_they_are_and_as_whom_it_reads(world: StreamWorld) -> None:
    put(world, 1)
    connector = started(world, frazil__kinesis__application__name="Second one")

    busy = connector.cycle()
    world.catch_up(connector)

    assert [(each.connector, each.application) for each in (busy, connector.cycle())] == [("shop", "Second one")] * 2


def test_an_account_that_is_asked_too_often_is_no_outage(world: StreamWorld) -> None:
    put(world, 1)
    connector = started(world)
    connector.cycle()
    world.local.faults.kms("LimitExceededException", "DescribeStreamSummary", stream=world.stream)
    put(world, 2)

    world.catch_up(connector)

    assert numbers(world) == [1, 2]


def test_what_was_read_of_a_stream_that_may_be_another_one_is_not_committed(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.streams._PATIENCE", 0.0)
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)
    made_again(world)
    put(world, 2)
    for operation in ("DescribeStreamSummary", "ListShards"):
        world.local.faults.kms("LimitExceededException", operation, stream=world.stream)

    with pytest.raises(StreamUnavailable, match="LimitExceededException"):
        for_a_while(connector)
    world.local.faults.clear()
    connector.recall()
    with pytest.raises(TopicReplaced, match=world.stream):
        several(connector)

    assert numbers(world) == [1]


def test_a_backlog_that_was_there_at_the_first_start_does_not_expire_unsaid(clock: Ahead, world: StreamWorld) -> None:
    put(world, 1)
    clock.ahead += 20 * HOUR
    put(world, 2)
    connector = world.connector(frazil__kinesis__max__records="1")
    connector.discover()
    assert channel(world).read_through is None
    connector.close()
    clock.ahead += 11 * HOUR

    with pytest.raises(RecordsExpired, match="was never read"):
        started(world).cycle()


def reset(world: StreamWorld, target: Literal["earliest"] | int) -> Channel:
    """The channel of the only shard after a reset to its earliest record, or to a time."""
    source = world.source(world.settings())
    facts, shards = source.facts([world.stream]), [shard(world)]
    known = read(world.table.state, world.stream, "SHOP")
    assert known
    targets = source.earliest(shards) if target == "earliest" else source.at_time(shards, target)
    return after(known, moves(known, targets, facts), facts, 0).channel(shard(world))


def test_a_reset_claims_nothing_that_was_not_read(clock: Ahead, world: StreamWorld) -> None:
    put(world, 1)
    world.catch_up(started(world))
    clock.ahead += 20 * HOUR
    moment = int((clock() - HOUR) * 1000)

    assert reset(world, "earliest").read_through is None
    assert reset(world, moment).read_through == moment


def retain(world: StreamWorld, hours: int) -> None:
    client = world.local.client("kinesis")
    now = client.describe_stream_summary(StreamName=world.stream)["StreamDescriptionSummary"]["RetentionPeriodHours"]
    change = client.increase_stream_retention_period if hours > now else client.decrease_stream_retention_period
    change(StreamName=world.stream, RetentionPeriodHours=hours)
    settle(world)


def trim(world: StreamWorld) -> None:
    """Have the stream delete what is past its retention, as it does every minute."""
    with world.local.engine.lock:
        world.local.engine.trim()


def lower_for_a_moment(world: StreamWorld) -> None:
    retain(world, 24)
    trim(world)
    retain(world, 168)


@pytest.mark.parametrize("newer", [(), (4,)], ids=["nothing is left", "a record is left"])
def test_a_retention_that_was_lower_while_the_connector_stood_still_is_noticed(
    clock: Ahead, world: StreamWorld, newer: tuple[int, ...]
) -> None:
    retain(world, 168)
    put(world, 1)
    world.catch_up(started(world))
    put(world, 2, 3)
    clock.ahead += 30 * HOUR
    put(world, *newer)
    lower_for_a_moment(world)

    with pytest.raises(RecordsExpired, match="its retention was lower meanwhile"):
        started(world).cycle()
    world.catch_up(started(world, frazil__on__data__loss="skip"))
    put(world, 5)
    world.catch_up(started(world))

    assert numbers(world) == [1, *newer, 5]


def test_the_last_record_of_a_quiet_shard_may_expire_in_its_time(clock: Ahead, world: StreamWorld) -> None:
    put(world, 1)
    connector = started(world)
    world.catch_up(connector)
    for _ in range(2):
        clock.ahead += 20 * HOUR
        looked_at(connector, world, clock() - HOUR)
    trim(world)
    put(world, 2)

    world.catch_up(started(world))

    assert numbers(world) == [1, 2]


def test_a_shard_that_cannot_be_read_says_nothing_of_its_last_record(
    clock: Ahead, world: StreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.watch._HELD", 0.0)
    put(world, 1)
    world.catch_up(started(world))
    world.local.faults.kms("KMSAccessDeniedException", "GetRecords", stream=world.stream)
    connector = started(world)
    several(connector)
    world.local.faults.clear()
    put(world, 2)

    world.catch_up(connector)

    assert numbers(world) == [1, 2]
