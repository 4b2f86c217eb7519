"""`frazil channels import`, from the leases of another application to the rows of the connector that takes over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import structlog
from moto import mock_aws
from pyspark.sql import SparkSession
from tests.dev.kinesis.support import make, records, settled, shard_id
from tests.support.aggregated import aggregated

from frazil import Connector
from frazil.cli import main
from frazil.dev.kinesis import LocalKinesis
from frazil.testing.topics import wait_until

LOW, HIGH = "0", str(2**128 - 1)
"""Hash keys of the first and of the last shard."""


@pytest.fixture
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as server:
        yield server


def test_a_connector_goes_on_where_the_kcl_was_from_its_first_start_on(
    spark: SparkSession, lake: Path, local: LocalKinesis, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinesis = make(local, "taken", shards=2)
    put(kinesis, range(10), LOW)
    put(kinesis, range(100, 110), HIGH)
    kinesis.split_shard(StreamName="taken", ShardToSplit=shard_id(0), NewStartingHashKey=str(2**126))
    settled(kinesis, "taken")
    put(kinesis, range(10, 20), LOW)
    read = records(kinesis, 2, name="taken")
    users = [json.dumps({"n": number}).encode() for number in range(200, 204)]
    within = kinesis.put_record(
        StreamName="taken", Data=aggregated(*users, key="b"), PartitionKey="b", ExplicitHashKey=HIGH
    )["SequenceNumber"]
    put(kinesis, range(204, 206), HIGH)
    file = tmp_path / "taken.json"
    file.write_text(json.dumps(configuration(local, lake)))

    with mock_aws():
        leases(
            {"leaseKey": shard_id(0), "checkpoint": "SHARD_END"},
            {"leaseKey": shard_id(1), "checkpoint": within, "checkpointSubSequenceNumber": 1},
            {"leaseKey": shard_id(2), "checkpoint": read[3]["SequenceNumber"], "checkpointSubSequenceNumber": 0},
        )
        planned = type_in("channels", "import", "--connector", str(file), "--from-kcl", "kcl-app")
        shown = capsys.readouterr().out
        done = type_in("channels", "import", "--connector", str(file), "--from-kcl", "kcl-app", "--yes")
        said = capsys.readouterr().out
        again = type_in("channels", "import", "--connector", str(file), "--from-kcl", "kcl-app", "--format", "json")
        told = json.loads(capsys.readouterr().out)

    assert (planned, done, again) == (0, 0, 0)
    assert "this was a dry run" in shown
    assert "Done. Start the connector" in said
    assert [(each["shard"], each["offset_token_before"]) for each in told] == [
        (shard_id(0), "SHARD_END"),
        (shard_id(1), f"{within}:1"),
        (shard_id(2), read[3]["SequenceNumber"]),
        (shard_id(3), "TRIM_HORIZON"),
    ]
    behind = [*range(14, 20), *range(202, 206)]
    assert landed(spark, lake, local, {*behind}) == behind


def landed(spark: SparkSession, lake: Path, local: LocalKinesis, expected: set[int]) -> list[int]:
    """The numbers in the table once a connector has brought all that is expected, in order."""

    def found() -> list[int]:
        spark.catalog.clearCache()
        return sorted(row["n"] for row in spark.sql("SELECT n FROM frazil.public.TAKEN").collect())

    connector = Connector.from_properties(configuration(local, lake), spark)
    connector.start()
    try:
        wait_until(lambda: "n" in spark.table("frazil.public.TAKEN").columns and expected <= {*found()}, "the rows")
    finally:
        connector.stop()
    return found()


def configuration(local: LocalKinesis, lake: Path) -> dict[str, str]:
    return {
        "AWS Kinesis Application Name": "taken-app",
        "AWS Kinesis Stream Name": "taken",
        "AWS Kinesis Region": local.region,
        "AWS Access Key ID": "testing",
        "AWS Secret Access Key": "testing",
        "Endpoint Override URL": local.endpoint,
        "frazil.home": str(lake),
        "frazil.commit.interval.ms": "100",
    }


def leases(*rows: dict[str, Any]) -> None:
    table = boto3.resource("dynamodb", region_name="us-east-1").create_table(
        TableName="kcl-app",
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for row in rows:
        table.put_item(Item={"leaseOwner": "worker-1", "leaseCounter": 7, **row})


def put(kinesis: Any, numbers: range, hash_key: str) -> None:
    for number in numbers:
        data = json.dumps({"n": number}).encode()
        kinesis.put_record(StreamName="taken", Data=data, PartitionKey="k", ExplicitHashKey=hash_key)


def type_in(*arguments: str) -> int:
    """Run a command in this process; its exit code."""
    try:
        return main([*arguments])
    finally:
        structlog.reset_defaults()  # it logs to the standard error of the moment
