"""Tables of checkpoints are read from DynamoDB, whole, and what is wrong with them has a name."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws
from moto.core import set_initial_no_auth_action_count

from frazil.errors import CheckpointTableMissing, CheckpointTableRefused, NoCheckpoints
from frazil.sources.kinesis.checkpoint_tables import read

CLIENT = {"region": "eu-central-1", "access_key_id": "testing", "secret_access_key": "testing"}


@pytest.fixture(autouse=True)
def aws() -> Iterator[None]:
    with mock_aws():
        yield


def leases(count: int) -> None:
    table = boto3.resource("dynamodb", region_name="eu-central-1").create_table(
        TableName="orders-app",
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with table.batch_writer() as writer:
        for number in range(count):
            row = {"leaseKey": f"shardId-{number:012}", "checkpoint": str(number), "checkpointSubSequenceNumber": 0}
            writer.put_item(Item={**row, "parentShardId": {"shardId-000000000000"}, "filler": "x" * 4000})


def test_all_leases_of_a_table_larger_than_a_page_are_read() -> None:
    leases(600)

    found = read(CLIENT, "orders-app", "kcl")

    assert sorted(int(each.place) for each in found) == list(range(600))
    assert {each.sub for each in found} == {0}


def test_a_table_that_is_not_there_is_told() -> None:
    with pytest.raises(CheckpointTableMissing, match=r"no table 'orders-app' in DynamoDB in eu-central-1"):
        read(CLIENT, "orders-app", "kcl")


def test_a_table_of_another_keeper_is_told() -> None:
    leases(2)

    with pytest.raises(NoCheckpoints, match="none of Openflow's checkpoints among its 2 rows"):
        read(CLIENT, "orders-app", "openflow")


@set_initial_no_auth_action_count(0)
def test_whoever_may_not_read_it_is_told_which_right_that_takes() -> None:
    with pytest.raises(CheckpointTableRefused, match=r"(?s)InvalidClientTokenId.* right dynamodb:Scan"):
        read(CLIENT, "orders-app", "kcl")


def test_a_request_that_cannot_be_made_says_why() -> None:
    with pytest.raises(CheckpointTableRefused, match="Parameter validation failed"):
        read(CLIENT, "", "kcl")
