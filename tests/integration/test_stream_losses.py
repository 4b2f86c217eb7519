"""Streams that are made again, and records and shards that are gone before they were read: what is said, and the ways on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from structlog.testing import capture_logs
from tests.dev.kinesis.support import shard_id
from tests.support.clocks import Ahead
from tests.support.processes import frazil
from tests.support.streams import HIGHEST, LOWEST, Follow, Shards, following
from tests.support.waiting import caught_up, until_state

from frazil.dev.kinesis import LocalKinesis
from frazil.testing.topics import wait_until

HOUR = 3600.0


@pytest.fixture(scope="module")
def clock() -> Ahead:
    return Ahead()


@pytest.fixture(scope="module")
def kinesis(clock: Ahead) -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False, clock=clock) as running:
        yield running


@pytest.fixture
def stream(kinesis: LocalKinesis) -> str:
    """A stream of one shard."""
    name = f"l_{uuid4().hex[:8]}"
    kinesis.provide(name)
    return name


@pytest.fixture
def follow(spark: SparkSession, lake: Path, kinesis: LocalKinesis, tmp_path: Path) -> Iterator[Follow]:
    with following(spark, lake, kinesis, tmp_path) as start:
        yield start


def put(kinesis: LocalKinesis, stream: str, *numbers: int, at: str = LOWEST) -> None:
    for number in numbers:
        kinesis.client().put_record(StreamName=stream, Data=b'{"n": %d}' % number, PartitionKey="k", ExplicitHashKey=at)


def numbers(spark: SparkSession, stream: str) -> list[int]:
    return [row["n"] for row in spark.sql(f"SELECT n FROM frazil.public.{stream.upper()} ORDER BY n").collect()]


def test_a_stream_made_again_is_refused_until_a_reset_has_it_read_from_its_first_record(
    kinesis: LocalKinesis, stream: str, follow: Follow, spark: SparkSession, lake: Path
) -> None:
    """What is known of the stream stands for a minute: that it is another one is seen once its records are staged."""
    put(kinesis, stream, 1, 2)
    connector = follow(stream, **{"frazil.kinesis.discovery.interval.ms": "60000"})
    caught_up(connector)

    kinesis.client().delete_stream(StreamName=stream)
    wait_until(lambda: stream not in kinesis.client().list_streams()["StreamNames"], "the stream to be gone")
    kinesis.provide(stream, 2)
    put(kinesis, stream, 3)
    until_state(connector, "FAILED")

    assert connector.error.code == "topic_replaced"
    assert "bootstrap.servers" not in connector.error.message
    way_on = f"`frazil channels reset` with --topic {stream} --to-earliest"
    assert way_on in connector.error.message
    assert numbers(spark, stream) == [1, 2]
    name = connector.settings.name
    done = frazil("channels", "reset", name, "--topic", stream, "--to-earliest", "--home", lake)
    assert done.returncode == 0, done.stderr
    connector.start()
    caught_up(connector)
    assert numbers(spark, stream) == [1, 2, 3]
    assert {each.partition for each in connector.status()} == {shard_id(0), shard_id(1)}


def test_what_was_not_read_in_time_is_said_and_passed_over_when_losses_are_to_be_skipped(
    kinesis: LocalKinesis, stream: str, follow: Follow, spark: SparkSession, clock: Ahead
) -> None:
    """A shard whose records retention has deleted, and one that is gone before its end."""
    Shards(kinesis, stream).split()
    put(kinesis, stream, 1)
    put(kinesis, stream, 2, at=HIGHEST)
    connector = follow(stream)
    caught_up(connector)
    connector.stop()
    put(kinesis, stream, 3)
    put(kinesis, stream, 4, at=HIGHEST)
    Shards(kinesis, stream).split()
    clock.ahead += 25 * HOUR
    put(kinesis, stream, 5)
    put(kinesis, stream, 6, at=HIGHEST)
    passed, gone = f"{stream}-{shard_id(1)}", f"{stream}-{shard_id(2)}"

    connector.start()
    until_state(connector, "FAILED")

    assert connector.error.code == "records_expired"
    for said in (gone, passed, "frazil.on.data.loss=skip", "`frazil channels reset` --to-earliest"):
        assert said in connector.error.message
    assert numbers(spark, stream) == [1, 2]
    with capture_logs() as lines:
        skipping = follow(stream, **{"frazil.on.data.loss": "skip"})
        caught_up(skipping)
    assert numbers(spark, stream) == [1, 2, 5, 6]
    lost = [line for line in lines if line["event"] == "records may be lost: retention has passed them"]
    assert {line["partition"] for line in lost} >= {gone, passed}
    channels = {each.partition: each.last_error for each in skipping.status()}
    assert channels.keys() == {shard_id(1), shard_id(3), shard_id(4)}, "the shard that is gone counts as read"
    (said,) = [error for error in channels.values() if error]
    assert said.startswith("[records_expired] ")
    assert "as it may be with 3 more" in said


def test_a_shard_that_is_gone_before_its_end_is_a_loss_and_a_reset_goes_on_with_those_that_came_of_it(
    kinesis: LocalKinesis, stream: str, follow: Follow, spark: SparkSession, lake: Path, clock: Ahead
) -> None:
    put(kinesis, stream, 1)
    connector = follow(stream)
    caught_up(connector)
    connector.stop()
    put(kinesis, stream, 2)
    Shards(kinesis, stream).split()
    clock.ahead += 25 * HOUR
    put(kinesis, stream, 3)
    listed = kinesis.client().list_shards(StreamName=stream)["Shards"]
    assert [each["ShardId"] for each in listed] == [shard_id(1), shard_id(2)]

    connector.start()
    until_state(connector, "FAILED")

    assert connector.error.code == "records_expired"
    assert f"{stream}-{shard_id(0)} was read up to" in connector.error.message
    assert "it is gone from its source" in connector.error.message
    done = frazil("channels", "reset", connector.settings.name, "--to-earliest", "--home", lake)
    assert done.returncode == 0, done.stderr
    connector.start()
    caught_up(connector)
    put(kinesis, stream, 4)
    caught_up(connector)
    assert numbers(spark, stream) == [1, 3, 4]
