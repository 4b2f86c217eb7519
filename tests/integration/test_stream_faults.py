"""Whole connectors on a stream that throttles, fails, hangs up, hides its key and has the largest records there are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from tests.dev.kinesis.support import settled, shard_id
from tests.support.processes import frazil, write_properties
from tests.support.streams import HIGHEST, LOWEST, reading
from tests.support.waiting import caught_up

from frazil import Connector
from frazil.connector.registered import HeldPartition
from frazil.connector.registry import Registry
from frazil.dev.kinesis import LocalKinesis
from frazil.model import SourcePartition
from frazil.testing import iceberg
from frazil.testing.aggregation import aggregate
from frazil.testing.stream_oracle import StreamReport, verify_stream
from frazil.testing.topics import wait_until

MIB = 1 << 20
KEYS = ("alice", "bob", "carol", "dave", "erin")


@pytest.fixture(scope="module")
def kinesis() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as running:
        running.faults.chance.seed(16)
        yield running


@pytest.fixture(autouse=True)
def _mended(kinesis: LocalKinesis) -> Iterator[None]:
    yield
    kinesis.faults.clear()


@pytest.fixture
def stream() -> str:
    return f"f_{uuid4().hex[:8]}"


@pytest.fixture
def follow(spark: SparkSession, lake: Path, kinesis: LocalKinesis, stream: str) -> Iterator[Callable[..., Connector]]:
    """Start a connector on the stream; it is stopped at the end. One with a directory tells commands of its state."""
    started: list[Connector] = []

    def start(directory: Path | None = None) -> Connector:
        configuration = reading(kinesis, stream, lake)
        connector = Connector.from_properties(configuration, spark)
        if directory is not None:
            file = write_properties(directory / "connector.properties", **configuration)
            registry = Registry(lake)
            connector.on_state(registry.recorder(connector.settings, file, None, tuple, lambda: held_by(connector)))
        started.append(connector)
        connector.start()
        return connector

    yield start
    for connector in started:
        connector.stop()


def held_by(connector: Connector) -> tuple[HeldPartition, ...]:
    held = connector.held.items()
    return tuple(HeldPartition(each.topic, each.partition, why.reason, why.passes) for each, why in held)


class Numbered:
    """Puts records that the oracle knows: each key's are numbered; every third put is an aggregated record of three."""

    def __init__(self, kinesis: LocalKinesis, stream: str) -> None:
        self.sent: Counter[str] = Counter()
        self._client = kinesis.client()
        self._stream = stream

    def put(self, rounds: int) -> None:
        for number in range(rounds):
            for key in KEYS:
                values = [self._next(key) for _ in range(3 if number % 3 == 2 else 1)]
                data = values[0] if len(values) == 1 else aggregate([(key, None, each) for each in values])
                self._client.put_record(StreamName=self._stream, Data=data, PartitionKey=key)

    def _next(self, key: str) -> bytes:
        value = json.dumps({"key": key, "number": self.sent[key]}).encode()
        self.sent[key] += 1
        return value


def rows(spark: SparkSession, stream: str) -> list[dict[str, Any]]:
    name = f"frazil.public.{stream.upper()}"
    spark.catalog.clearCache()
    if not spark.catalog.tableExists(name) or "n" not in spark.table(name).columns:
        return []
    found = spark.sql(f"SELECT n, length(text) AS length, kinesisMetadata FROM {name} ORDER BY n").collect()
    return [row.asDict(recursive=True) for row in found]


def put(kinesis: LocalKinesis, stream: str, number: int, at: str) -> None:
    data = json.dumps({"n": number, "text": "x"}).encode()
    kinesis.client().put_record(StreamName=stream, Data=data, PartitionKey="k", ExplicitHashKey=at)


def test_a_storm_of_faults_over_a_split_and_a_merge_loses_nothing_and_keeps_each_key_in_order(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], lake: Path
) -> None:
    kinesis.provide(stream, 4)
    numbered = Numbered(kinesis, stream)
    numbered.put(6)
    connector = follow()
    caught_up(connector)
    reading = ("GetRecords", "GetShardIterator")
    storm = [
        kinesis.faults.throttle(*reading, stream=stream, fraction=0.3),
        kinesis.faults.kms("LimitExceededException", "ListShards", stream=stream, fraction=0.3),
        kinesis.faults.kms("KMSThrottlingException", "GetRecords", stream=stream, fraction=0.1),
        kinesis.faults.fail(*reading, stream=stream, fraction=0.2),
        kinesis.faults.reset(*reading, stream=stream, fraction=0.1),
        kinesis.faults.reset("GetRecords", stream=stream, fraction=0.1, after=True),
        kinesis.faults.expire(stream=stream, fraction=0.1),
        kinesis.faults.empty(stream=stream, fraction=0.2),
    ]

    numbered.put(6)
    client = kinesis.client()
    client.split_shard(StreamName=stream, ShardToSplit=shard_id(0), NewStartingHashKey=str(2**125))
    settled(client, stream)
    numbered.put(6)
    client.merge_shards(StreamName=stream, ShardToMerge=shard_id(1), AdjacentShardToMerge=shard_id(2))
    settled(client, stream)
    numbered.put(6)

    def judged() -> StreamReport:
        return verify_stream(
            iceberg.current_metadata(lake / "catalog.db", "public", stream.upper()), stream, numbered.sent
        )

    wait_until(lambda: judged().rows >= numbered.sent.total(), "all records to be there through the storm", 120)
    wait_until(lambda: all(fault.happened for fault in storm), "each fault to have happened")
    kinesis.faults.clear()
    caught_up(connector)
    assert judged().clean, judged()
    assert judged().rows == numbered.sent.total()
    assert connector.error is None


def test_a_shard_whose_key_is_hidden_is_held_to_all_who_look_while_others_go_on_and_goes_on_by_itself(
    kinesis: LocalKinesis,
    stream: str,
    follow: Callable[..., Connector],
    spark: SparkSession,
    lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.watch._HELD", 0.5)
    kinesis.provide(stream, 2)
    put(kinesis, stream, 1, LOWEST)
    connector = follow(tmp_path)
    caught_up(connector)
    kinesis.faults.kms("KMSAccessDeniedException", "GetRecords", stream=stream, shard=shard_id(0))

    put(kinesis, stream, 2, LOWEST)
    put(kinesis, stream, 3, HIGHEST)
    wait_until(lambda: [row["n"] for row in rows(spark, stream)] == [1, 3], "the other shard's record")

    def told() -> dict[str, tuple[str, str | None]]:
        return {str(each.partition): (str(each.state), each.reason) for each in connector.status()}

    held = ("HELD", "KMSAccessDeniedException")
    wait_until(lambda: told()[shard_id(0)] == held, "the shard to be held")
    assert told()[shard_id(1)][0] == "RUNNING"
    assert str(connector.state) == "RUNNING"

    def listed() -> dict[str, tuple[str, str | None]]:
        found = json.loads(frazil("channels", "--home", lake, "--format", "json").stdout)
        return {each["partition"]: (each["state"], each["reason"]) for each in found if each["topic"] == stream}

    wait_until(lambda: listed()[shard_id(0)] == held, "another process to see it", 30)
    kinesis.faults.clear()
    wait_until(lambda: [row["n"] for row in rows(spark, stream)] == [1, 2, 3], "the record that was held")
    wait_until(lambda: told()[shard_id(0)][0] == "RUNNING", "the shard to be read again")


def test_a_shard_that_gives_no_answer_is_told_to_all_who_look_while_others_go_on_and_lands_when_it_does(
    kinesis: LocalKinesis,
    stream: str,
    follow: Callable[..., Connector],
    spark: SparkSession,
    lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.watch._TROUBLED", 0.2)
    kinesis.provide(stream, 2)
    for number in (1, 2):
        put(kinesis, stream, number, LOWEST)
    kinesis.faults.fail("GetRecords", stream=stream, shard=shard_id(0))
    connector = follow(tmp_path)

    for number in (11, 12):
        put(kinesis, stream, number, HIGHEST)
        wait_until(lambda: number in [row["n"] for row in rows(spark, stream)], "the other shard's record")  # noqa: B023
    wait_until(lambda: connector.held.keys() == {SourcePartition(stream, shard_id(0))}, "the shard to be told of", 60)
    assert str(connector.state) == "RUNNING"
    assert {str(each.partition): str(each.state) for each in connector.status()} == {
        shard_id(0): "RETRYING",
        shard_id(1): "RUNNING",
    }

    def listed() -> tuple[str, str]:
        found = json.loads(frazil("channels", "--home", lake, "--format", "json").stdout)
        (mine,) = [each for each in found if each["topic"] == stream and each["partition"] == shard_id(0)]
        return mine["state"], mine["reason"] or ""

    wait_until(lambda: listed()[0] == "RETRYING", "another process to see it", 30)
    assert listed()[1].startswith("InternalFailure")
    snapshots = spark.table(f"frazil.public.{stream.upper()}.snapshots").count()
    assert snapshots <= 6, "trouble commits nothing"
    kinesis.faults.clear()
    wait_until(lambda: [row["n"] for row in rows(spark, stream)] == [1, 2, 11, 12], "the records that waited")
    wait_until(lambda: connector.held == {}, "the shard to be read again")


def test_a_service_that_gives_no_answer_at_all_is_waited_for_and_told_by_the_connector(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], spark: SparkSession
) -> None:
    kinesis.provide(stream, 2)
    connector = follow()
    caught_up(connector)
    kinesis.faults.fail(stream=stream)
    wait_until(lambda: str(connector.state) == "RETRYING", "the outage to be told", 60)
    assert "InternalFailure" in str(connector.error)
    kinesis.faults.clear()

    put(kinesis, stream, 1, LOWEST)
    put(kinesis, stream, 2, HIGHEST)

    wait_until(lambda: [row["n"] for row in rows(spark, stream)] == [1, 2], "the records after it", 90)
    wait_until(lambda: str(connector.state) == "RUNNING", "the connector to go on")


def test_records_of_ten_mebibytes_land_whole_and_those_without_a_key_have_none(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], spark: SparkSession
) -> None:
    client = kinesis.client()
    client.create_stream(
        StreamName=stream, StreamModeDetails={"StreamMode": "ON_DEMAND"}, RecordDistributionStrategy="AUTO"
    )
    settled(client, stream)
    arn = client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamARN"]
    client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=10 * 1024)
    settled(client, stream)
    around = len(json.dumps({"n": 1, "text": ""}))
    for number in (1, 2, 3):
        data = json.dumps({"n": number, "text": "x" * (10 * MIB - around)}).encode()
        assert len(data) == 10 * MIB
        client.put_records(StreamName=stream, Records=[{"Data": data}])
    client.put_records(StreamName=stream, Records=[{"Data": b'{"n": 4, "text": "small"}'}])

    caught_up(follow(), 120)

    found = rows(spark, stream)
    assert [(row["n"], row["length"]) for row in found] == [
        (1, 10 * MIB - around),
        (2, 10 * MIB - around),
        (3, 10 * MIB - around),
        (4, len("small")),
    ]
    assert [row["kinesisMetadata"]["partitionKey"] for row in found] == [None] * 4
