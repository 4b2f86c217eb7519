"""Quiet shards are looked at as seldom as was asked for, and one that gives no answer is no outage of the others."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.dev.kinesis.support import settled, shard_id
from tests.memory.streams import StreamStaging, StreamWorld

from frazil.cycle import Ingestion
from frazil.cycle.destinations import destinations
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import StreamUnavailable

LOWEST, HIGHEST = "0", str(2**128 - 1)
"""Hash keys in the first and in the second of two shards."""

_names = itertools.count(1)


@pytest.fixture(scope="module")
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        yield found


@pytest.fixture
def world(local: LocalKinesis, monkeypatch: pytest.MonkeyPatch) -> Iterator[StreamWorld]:
    """A stream of two shards."""
    monkeypatch.setattr("frazil.sources.kinesis.pace._GAP", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.pace._MARGIN", 0.0)
    found = StreamWorld(local, f"probed{next(_names)}")
    local.provide(found.stream, 2)
    with capture_logs():
        yield found
    local.faults.clear()


def following(world: StreamWorld, poll: float = 0.0) -> Ingestion:
    """A connector that has caught up, and looks at quiet shards every `poll` seconds."""
    settings = world.settings()
    source = world.source(settings, poll_interval_ms=str(round(poll * 1000)))
    connector = Ingestion(settings, world.catalog, source, StreamStaging(world.catalog.files), None, destinations)
    connector.discover()
    world.catch_up(connector)
    return connector


def put(world: StreamWorld, number: int, at: str) -> None:
    world.local.client().put_record(
        StreamName=world.stream, Data=b'{"number":%d}' % number, PartitionKey="k", ExplicitHashKey=at
    )


def numbers(world: StreamWorld) -> list[object]:
    return [value["number"] for value in world.values()]


@pytest.mark.parametrize("fault", ["throttle", "fail"])
def test_a_quiet_shard_that_is_throttled_or_fails_is_asked_no_more_often_than_otherwise(
    world: StreamWorld, fault: str
) -> None:
    connector = following(world, poll=0.3)
    met = getattr(world.local.faults, fault)("GetRecords", stream=world.stream, shard=shard_id(0))
    began = time.monotonic()
    while not met.happened:
        connector.cycle()

    for _ in range(40):
        connector.cycle()

    assert met.happened <= 1 + (time.monotonic() - began) / 0.3


@pytest.mark.parametrize("trouble", ["failure", "reset"])
def test_a_quiet_shard_that_gives_no_answer_keeps_no_other_waiting(world: StreamWorld, trouble: str) -> None:
    connector = following(world)
    breaking = world.local.faults.fail if trouble == "failure" else world.local.faults.reset
    breaking("GetRecords", stream=world.stream, shard=shard_id(0))

    for number in range(1, 6):
        put(world, number, at=HIGHEST)
        for _ in range(3):
            connector.cycle()
    put(world, 6, at=LOWEST)
    world.local.faults.clear()
    world.catch_up(connector)

    assert numbers(world) == [1, 2, 3, 4, 5, 6]


def test_quiet_shards_none_of_which_answers_are_an_outage_until_one_does(world: StreamWorld) -> None:
    connector = following(world, poll=0.05)
    world.local.faults.fail("GetRecords", stream=world.stream)

    failures = 0
    deadline = time.monotonic() + 20
    while failures < 3 and time.monotonic() < deadline:
        try:
            connector.cycle()
        except StreamUnavailable:
            failures += 1
            with pytest.raises(StreamUnavailable):
                connector.cycle()
    world.local.faults.clear()
    put(world, 1, at=LOWEST)
    world.catch_up(connector)

    assert failures == 3
    assert numbers(world) == [1]


def test_the_end_of_a_quiet_shard_is_seen_while_another_gives_no_answer(world: StreamWorld) -> None:
    connector = following(world)
    world.local.faults.fail("GetRecords", stream=world.stream, shard=shard_id(0))
    client = world.local.client()
    client.split_shard(StreamName=world.stream, ShardToSplit=shard_id(1), NewStartingHashKey=str(3 * 2**126))
    settled(client, world.stream)
    put(world, 1, at=HIGHEST)

    for _ in range(10):
        connector.cycle()

    assert numbers(world) == [1]


def test_records_of_a_quiet_shard_that_gives_no_answer_land_when_it_does_and_keep_no_other_waiting(
    world: StreamWorld,
) -> None:
    connector = following(world)
    put(world, 1, at=LOWEST)
    world.local.faults.fail("GetRecords", stream=world.stream, shard=shard_id(0))

    put(world, 2, at=HIGHEST)
    for _ in range(10):
        connector.cycle()
    alone = numbers(world)
    world.local.faults.clear()
    world.catch_up(connector)

    assert alone == [2]
    assert numbers(world) == [2, 1]
