"""`frazil channels import` as a user types it, up to where AWS and a catalog are needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
import structlog
from moto import mock_aws
from tests.dev.kinesis.support import make, put, shard_id
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import write_properties

from frazil.cli import main
from frazil.cli.importing import which
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import InvalidConfiguration

KEY = {"streamName": "HASH", "shardId": "RANGE"}
"""Of Openflow's table."""


@pytest.fixture
def local() -> Iterator[LocalKinesis]:
    with mock_aws(), LocalKinesis(quotas=False) as server:
        yield server


@pytest.fixture
def connector(local: LocalKinesis, tmp_path: Path) -> Path:
    """The file of a connector whose home has no catalog yet."""
    return write_properties(
        tmp_path / "orders.properties",
        name="orders-app",
        connector__class="frazil.KinesisConnector",
        frazil__kinesis__streams="orders",
        frazil__kinesis__region=local.region,
        frazil__kinesis__endpoint=local.endpoint,
        frazil__home=str(tmp_path / "home"),
    )


def test_a_dry_run_shows_what_each_channel_would_get_and_makes_nothing(
    local: LocalKinesis, connector: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (number,) = put(make(local, shards=2), b"{}")
    table = boto3.resource("dynamodb", region_name=local.region).create_table(
        TableName="openflow-app",
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in KEY.items()],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in KEY],
        BillingMode="PAY_PER_REQUEST",
    )
    table.put_item(Item={"streamName": "orders", "shardId": shard_id(0), "sequenceNumber": number})
    table.put_item(Item={"streamName": "orders", "shardId": "__node__#1", "leaseExpiry": "1"})
    table.put_item(Item={"streamName": "returns", "shardId": shard_id(0), "sequenceNumber": number})

    as_table = type_in("--connector", str(connector), "--from-openflow", "openflow-app")
    shown = capsys.readouterr().out
    as_json = type_in("--connector", str(connector), "--from-openflow", "openflow-app", "--format", "json")
    told = json.loads(capsys.readouterr().out)

    assert (as_table, as_json) == (0, 0)
    assert "no checkpoint; all of it is read" in shown
    assert "Checkpoints of other streams, which are left alone: 1." in shown
    assert "Nothing was changed" in shown
    assert [(each["shard"], each["checkpoint"], each["offset_token"]) for each in told] == [
        (shard_id(0), number, number),
        (shard_id(1), None, "TRIM_HORIZON"),
    ]
    assert {(each["table"], each["offset_token_before"]) for each in told} == {("public.ORDERS", None)}
    assert not (tmp_path / "home").exists()


def test_a_table_that_is_not_there_is_told_by_its_error(connector: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = type_in("--connector", str(connector), "--from-kcl", "nobody")

    assert (code, "[checkpoint_table_missing]" in capsys.readouterr().err) == (1, True)


def test_a_table_is_the_kcls_or_openflows() -> None:
    assert which("a", None) == ("kcl", "a")
    assert which(None, "b") == ("openflow", "b")
    for both in ((None, None), ("a", "b")):
        with pytest.raises(InvalidConfiguration, match="exactly one of --from-kcl and --from-openflow"):
            which(*both)


def test_a_connector_for_kafka_has_no_checkpoints_to_take_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_properties(
        tmp_path / "c.properties", name="shop", topics="orders", bootstrap__servers="localhost:9092", **KAFKA_JSON
    )

    code = type_in("--connector", str(file), "--from-kcl", "shop")

    assert code == 2
    assert "Give the file of a frazil.KinesisConnector" in capsys.readouterr().err


def type_in(*arguments: str) -> int:
    """Run the command in this process; its exit code."""
    try:
        return main(["channels", "import", *arguments])
    finally:
        structlog.reset_defaults()  # it logs to the standard error of the moment
