"""A connector whose streams send it their records, from the first one over a split and a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.dev.kinesis.support import make, settled, shard_id

from frazil import Connector
from frazil.dev.kinesis import LocalKinesis
from frazil.testing.topics import wait_until

HIGHEST = 2**128 - 1


@pytest.fixture
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as server:
        yield server


def test_every_record_lands_once_over_a_split_new_columns_and_a_restart(
    spark: SparkSession, lake: Path, local: LocalKinesis
) -> None:
    kinesis = make(local, "sent")
    put(kinesis, range(20))
    connector = Connector.from_properties(configuration(local, lake), spark)
    connector.start()
    try:
        wait_until(lambda: len(landed(spark)) == 20, "the first rows")
        kinesis.split_shard(StreamName="sent", ShardToSplit=shard_id(0), NewStartingHashKey=str(2**127))
        settled(kinesis, "sent")
        put(kinesis, range(20, 40), new="a column")
        wait_until(lambda: {*landed(spark)} >= {*range(40)}, "the rows after the split")
        assert connector.wait_until_caught_up(60)
        channels = {each.partition: each.offset_token for each in connector.status()}
    finally:
        connector.stop()
    put(kinesis, range(40, 50))
    again = Connector.from_properties(configuration(local, lake), spark)
    again.start()
    try:
        wait_until(lambda: {*landed(spark)} >= {*range(50)}, "the rows after a restart at once")
    finally:
        again.stop()

    assert landed(spark) == [*range(50)]
    assert spark.table("frazil.public.SENT").where("new = 'a column'").count() == 20
    assert channels[shard_id(0)] == "SHARD_END"
    assert set(channels) == {shard_id(number) for number in range(3)}


def test_a_stream_that_takes_no_more_consumers_is_held_and_another_one_lands(
    spark: SparkSession, lake: Path, local: LocalKinesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.consumers._REFUSED", 0.5)
    make(local, "full")
    put(make(local, "beside"), range(20), stream="beside")
    local.faults.kms("LimitExceededException", "RegisterStreamConsumer", stream="full")
    streams = {"frazil.kinesis.streams": "full,beside"}
    connector = Connector.from_properties({**configuration(local, lake), "name": "full-app", **streams}, spark)
    connector.start()
    try:
        wait_until(lambda: len(landed(spark, "BESIDE")) == 20, "the other stream's rows")
        told = {each.topic: (str(each.state), each.reason or "") for each in connector.status()}
        assert str(connector.state) == "RUNNING"
        local.faults.clear()
        put(local.client(), range(20), stream="full")
        wait_until(lambda: len(landed(spark, "FULL")) == 20, "the rows of the stream that was full")
    finally:
        connector.stop()

    assert told["beside"] == ("RUNNING", "")
    assert told["full"][0] == "HELD"
    assert "cannot be registered" in told["full"][1]


def configuration(local: LocalKinesis, lake: Path) -> dict[str, str]:
    return {
        "name": "sent-app",
        "connector.class": "frazil.KinesisConnector",
        "frazil.kinesis.streams": "sent",
        "frazil.kinesis.region": local.region,
        "frazil.kinesis.endpoint": local.endpoint,
        "frazil.kinesis.access.key.id": "testing",
        "frazil.kinesis.secret.access.key": "testing",
        "frazil.kinesis.consumer.type": "ENHANCED_FAN_OUT",
        "frazil.kinesis.discovery.interval.ms": "1000",
        "frazil.home": str(lake),
    }


def landed(spark: SparkSession, table: str = "SENT") -> list[int]:
    """The numbers in the table, in order."""
    name = f"frazil.public.{table}"
    spark.catalog.clearCache()
    if not spark.catalog.tableExists(name) or "n" not in spark.table(name).columns:
        return []
    return sorted(row["n"] for row in spark.sql(f"SELECT n FROM {name}").collect())


def put(kinesis: Any, numbers: range, stream: str = "sent", **more: str) -> None:
    """Put numbers into the stream, their hash keys spread over all that there are."""
    for number in numbers:
        data = json.dumps({"n": number, **more}).encode()
        key = str(HIGHEST // len(numbers) * (number - numbers.start))
        kinesis.put_record(StreamName=stream, Data=data, PartitionKey="k", ExplicitHashKey=key)
