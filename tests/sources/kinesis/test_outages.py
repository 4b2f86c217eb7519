"""A shard that gives no answer keeps no other waiting, however they are read; a service that gives none is an outage."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict
from tests.dev.kinesis.support import shard_id
from tests.memory.streams import StreamStaging, StreamWorld

from frazil.cycle import Ingestion
from frazil.cycle.destinations import destinations
from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.faults import Fault
from frazil.errors import StreamUnavailable
from frazil.model import Buffer, SourcePartition
from frazil.sources import kinds
from frazil.sources.base import Held
from frazil.tables.rules.tokens import read

LOWEST, HIGHEST = "0", str(2**128 - 1)
"""Hash keys in the first and in the second of two shards."""

POLLED, SENT = "SHARED_THROUGHPUT", "ENHANCED_FAN_OUT"
READING = {POLLED: "GetRecords", SENT: "SubscribeToShard"}

_names = itertools.count(1)


@pytest.fixture(scope="module")
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        yield found


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EventDict]]:
    """What the log says; and nothing is waited for that a test need not wait for."""
    monkeypatch.setattr("frazil.sources.kinesis.pace._GAP", 0.01)
    monkeypatch.setattr("frazil.sources.kinesis.pace._MARGIN", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.watch._TROUBLED", 0.05)
    monkeypatch.setattr("frazil.dev.kinesis.subscriptions.NOT_AGAIN_WITHIN", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.shard.AGAIN", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.shard._MARGIN", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.shard._SETTLING", 0.05)
    with capture_logs() as found:
        yield found


@pytest.fixture
def world(local: LocalKinesis, said: list[EventDict]) -> Iterator[StreamWorld]:
    """A stream of two shards."""
    del said
    found = StreamWorld(local, f"troubled{next(_names)}")
    local.provide(found.stream, 2)
    yield found
    local.faults.clear()


@pytest.fixture(params=["one task", "a task each"])
def _tasks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "a task each":
        monkeypatch.setattr("frazil.cycle.planning.SMALL_TASK", 1)


def opened(world: StreamWorld, consumer: str = POLLED, buffer: Buffer | None = None, **client: str) -> Ingestion:
    settings = world.settings(frazil__kinesis__consumer__type=consumer)
    options = {"read_window_ms": "200", "fan_out_window_ms": "400", **client}
    staging = StreamStaging(world.catalog.files)
    source = world.source(settings, **options)
    connector = Ingestion(settings, world.catalog, source, staging, buffer, destinations)
    connector.discover()
    return connector


def put(world: StreamWorld, *numbers: int, at: str) -> None:
    for number in numbers:
        world.local.client().put_record(
            StreamName=world.stream, Data=b'{"number":%d}' % number, PartitionKey="k", ExplicitHashKey=at
        )


def numbers(world: StreamWorld) -> list[object]:
    return [value["number"] for value in world.values()]


def several(connector: Ingestion) -> None:
    for _ in range(50):
        connector.cycle()


def until_landed(connector: Ingestion, world: StreamWorld, *wanted: int) -> None:
    """Run cycles until these are the rows, in this order."""
    deadline = time.monotonic() + 60
    while numbers(world) != [*wanted]:
        assert time.monotonic() < deadline, numbers(world)
        connector.cycle()


def until_told(connector: Ingestion, world: StreamWorld) -> Held:
    """Run cycles until it is told of the first shard why it gives nothing."""
    partition = SourcePartition(world.stream, shard_id(0))
    deadline = time.monotonic() + 60
    while partition not in connector.held:
        assert time.monotonic() < deadline
        connector.cycle()
    assert connector.held.keys() == {partition}
    return connector.held[partition]


@pytest.mark.usefixtures("_tasks")
@pytest.mark.parametrize("consumer", [POLLED, SENT])
@pytest.mark.parametrize("trouble", ["fail", "reset"])
def test_a_shard_with_a_backlog_that_gives_no_answer_keeps_no_other_waiting_and_loses_nothing(
    world: StreamWorld, consumer: str, trouble: str
) -> None:
    put(world, 1, 2, 3, at=LOWEST)
    connector = opened(world, consumer)
    getattr(world.local.faults, trouble)(READING[consumer], stream=world.stream, shard=shard_id(0))

    landed = []
    for number in (11, 12, 13):
        put(world, number, at=HIGHEST)
        landed.append(number)
        until_landed(connector, world, *landed)
    world.local.faults.clear()
    put(world, 4, at=LOWEST)

    until_landed(connector, world, 11, 12, 13, 1, 2, 3, 4)


@pytest.mark.parametrize("consumer", [POLLED, SENT])
def test_a_shard_that_gives_no_answer_is_told_with_the_reason_until_it_gives_one(
    world: StreamWorld, consumer: str, said: list[EventDict]
) -> None:
    put(world, 1, at=LOWEST)
    connector = opened(world, consumer)
    world.local.faults.fail(READING[consumer], stream=world.stream, shard=shard_id(0))

    told = until_told(connector, world)
    for _ in range(5):
        connector.cycle()
    world.local.faults.clear()
    until_landed(connector, world, 1)
    connector.cycle()

    assert told.passes
    assert told.reason.startswith("InternalFailure")
    assert connector.held == {}
    events = [each["event"] for each in said if each.get("shard") == f"{world.stream}-{shard_id(0)}"]
    assert events == [
        "a shard gives no answer: it is tried again until it does, and others go on",
        "a shard gives answers again",
    ]


def test_a_shard_that_gives_no_answer_is_read_less_and_less_often_and_commits_nothing(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.watch._TROUBLED", 0.5)
    put(world, 1, at=LOWEST)
    connector = opened(world)
    world.local.faults.fail("GetRecords", stream=world.stream, shard=shard_id(0))
    connector.cycle()
    snapshots = len(world.table.state.snapshots)
    partition = SourcePartition(world.stream, shard_id(0))

    rests = [0.0]
    deadline = time.monotonic() + 60
    while len(rests) < 4 and time.monotonic() < deadline:
        connector.cycle()
        rest = connector.resting.get(partition)
        if rest is not None and rest.seconds > rests[-1]:
            rests.append(rest.seconds)

    assert len(rests) == 4
    assert len(world.table.state.snapshots) == snapshots


def test_a_shard_that_gives_no_answer_is_tried_at_least_every_fifteen_seconds(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.watch._TROUBLED", 1e6)
    put(world, 1, at=LOWEST)
    connector = opened(world)
    world.local.faults.fail("GetRecords", stream=world.stream, shard=shard_id(0))
    connector.cycle()
    connector.cycle()

    assert 0 < connector.resting[SourcePartition(world.stream, shard_id(0))].seconds <= 15


@pytest.mark.usefixtures("_tasks")
@pytest.mark.parametrize("consumer", [POLLED, SENT])
def test_a_service_that_gives_no_answer_at_all_is_an_outage_until_it_gives_one(
    world: StreamWorld, consumer: str
) -> None:
    put(world, 1, at=LOWEST)
    put(world, 2, at=HIGHEST)
    connector = opened(world, consumer)
    world.local.faults.fail(*READING.values(), stream=world.stream)
    with pytest.raises(StreamUnavailable, match="InternalFailure"):
        several(connector)
    for _ in range(3):
        connector.recall()
        with pytest.raises(StreamUnavailable, match="InternalFailure"):
            connector.cycle()
    assert numbers(world) == []

    world.local.faults.clear()
    deadline = time.monotonic() + 60
    while len(numbers(world)) < 2 and time.monotonic() < deadline:
        connector.cycle()

    assert sorted(numbers(world), key=str) == [1, 2]


def test_a_quiet_shard_that_stays_silent_does_not_keep_one_from_being_read_that_was_silent_too(
    world: StreamWorld,
) -> None:
    connector = opened(world)
    world.catch_up(connector)
    world.local.faults.fail("GetRecords", stream=world.stream, shard=shard_id(0))
    other = world.local.faults.fail("GetRecords", stream=world.stream, shard=shard_id(1))
    for _ in range(5):
        with pytest.raises(StreamUnavailable):
            several(connector)
        connector.recall()
    world.local.faults.remove(other.number)
    put(world, 1, at=HIGHEST)

    until_landed(connector, world, 1)


@pytest.mark.parametrize("error", ["InternalFailure", "KMSAccessDeniedException"])
def test_sizes_of_records_that_cannot_be_had_keep_no_other_shard_waiting(world: StreamWorld, error: str) -> None:
    put(world, 1, at=LOWEST)
    put(world, 2, at=HIGHEST)
    connector = opened(world, buffer=Buffer(0.0, 10**6, 10**9))
    world.local.faults.kms(error, "GetRecords", stream=world.stream, shard=shard_id(0))

    until_landed(connector, world, 2)


def test_a_stream_that_cannot_be_described_now_and_then_is_no_outage(world: StreamWorld) -> None:
    put(world, 1, at=LOWEST)
    connector = opened(world)
    connector.cycle()
    world.local.faults.fail("DescribeStreamSummary", stream=world.stream)
    put(world, 2, at=LOWEST)

    until_landed(connector, world, 1, 2)


def test_where_reading_goes_on_is_what_landed(world: StreamWorld) -> None:
    put(world, 1, at=LOWEST)
    connector = opened(world)
    until_landed(connector, world, 1)
    put(world, 2, at=LOWEST)
    world.local.faults.fail("GetRecords", stream=world.stream, shard=shard_id(0))
    put(world, 11, at=HIGHEST)
    until_landed(connector, world, 1, 11)
    tokens = read(world.table.state, world.stream, "SHOP")
    world.local.faults.clear()

    until_landed(opened(world), world, 1, 11, 2)

    assert tokens is not None
    assert [channel.inserted for _, channel in sorted(tokens.channels())] == [1, 1]


def test_a_service_is_reachable_if_it_answers_even_with_a_refusal(local: LocalKinesis) -> None:
    client = {"region": "eu-central-1", "endpoint": local.endpoint, "access_key_id": "a", "secret_access_key": "s"}

    kinds.require_reachable("kinesis", client, 5.0)
    for refusal in ("AccessDeniedException", "LimitExceededException"):
        with local.faults.during(Fault(refusal, operations=("ListStreams",))):
            kinds.require_reachable("kinesis", client, 5.0)
    with (
        local.faults.during(Fault("ServiceUnavailable", operations=("ListStreams",))),
        pytest.raises(StreamUnavailable, match="list streams"),
    ):
        kinds.require_reachable("kinesis", client, 5.0)

    with pytest.raises(StreamUnavailable, match="list streams"):
        kinds.require_reachable("kinesis", {**client, "endpoint": "http://127.0.0.1:1"}, 5.0)
