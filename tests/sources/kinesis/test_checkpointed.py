"""The records that checkpoints are at, as far as their stream still has them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.dev.kinesis.support import HOUR, Clock, iterator, make, put, refuses
from tests.support.aggregated import aggregated

from frazil.dev.kinesis import LocalKinesis
from frazil.errors import StreamRefused
from frazil.model import SourcePartition
from frazil.sources.kinesis.checkpointed import CheckpointedRecord, look_up

SHARD = SourcePartition("orders", "shardId-000000000000")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def local(clock: Clock) -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False, clock=clock) as server:
        yield server


def client(local: LocalKinesis) -> dict[str, str]:
    keys = {"access_key_id": "testing", "secret_access_key": "testing"}
    return {"region": local.region, "endpoint": local.endpoint, **keys}


def test_a_record_that_is_there_says_when_it_arrived(local: LocalKinesis, clock: Clock) -> None:
    kinesis = make(local)
    first = clock.now
    (earlier,) = put(kinesis, b"a")
    clock.forward(60)
    (later,) = put(kinesis, b"b")

    assert look_up(client(local), {SHARD: int(earlier)}) == {SHARD: CheckpointedRecord(int(first * 1000), None)}
    assert look_up(client(local), {SHARD: int(later)}) == {SHARD: CheckpointedRecord(int(first * 1000) + 60_000, None)}


def test_an_aggregated_record_says_how_many_user_records_it_has(local: LocalKinesis, clock: Clock) -> None:
    (number,) = put(make(local), aggregated(b"a", b"b", b"c"))

    assert look_up(client(local), {SHARD: int(number)}) == {SHARD: CheckpointedRecord(int(clock.now * 1000), 3)}


def test_records_that_retention_has_deleted_are_absent_whether_others_followed_or_not(
    local: LocalKinesis, clock: Clock
) -> None:
    kinesis = make(local, shards=1)
    (gone,) = put(kinesis, b"a")
    clock.forward(25 * HOUR)

    assert look_up(client(local), {SHARD: int(gone)}) == {}
    put(kinesis, b"b")
    assert look_up(client(local), {SHARD: int(gone)}) == {}


def test_a_shard_that_others_have_read_too_often_is_asked_again() -> None:
    with LocalKinesis() as limited:
        kinesis = make(limited)
        (number,) = put(kinesis, b"a")
        place = iterator(kinesis)
        with refuses("ProvisionedThroughputExceededException"):
            for _ in range(10):
                kinesis.get_records(ShardIterator=place)

        assert look_up(client(limited), {SHARD: int(number)}).keys() == {SHARD}


def test_a_stream_that_refuses_is_told(local: LocalKinesis) -> None:
    with pytest.raises(StreamRefused, match="refused to read orders-x y: ValidationException"):
        look_up(client(local), {SourcePartition("orders", "x y"): 1})
