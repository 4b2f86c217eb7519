"""Read tables of checkpoints from DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import BotoCoreError, ClientError

from frazil.errors import CheckpointTableMissing, CheckpointTableRefused, NoCheckpoints
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.checkpoints import Checkpoint, Keeper, Row, of_kcl, of_openflow
from frazil.sources.kinesis.client import connect

_REMEDY = "Check whose table it is, and give --from-kcl or --from-openflow accordingly."


def read(client: Mapping[str, str], table: str, keeper: Keeper) -> list[Checkpoint]:
    """All checkpoints in a table.

    Args:
        client: what clients of AWS's are configured with.
        table: the table's name.
        keeper: whose it is.

    Raises:
        CheckpointTableMissing: there is no such table.
        CheckpointTableRefused: it cannot be read.
        NoCheckpoints: it has none of that keeper's.
        CheckpointUnreadable: one of them has a form that is not known.
    """
    rows = list(_rows(client, table))
    found = list(of_kcl(rows) if keeper == "kcl" else of_openflow(rows))
    if not found:
        whose = "the KCL's leases" if keeper == "kcl" else "Openflow's checkpoints"
        raise NoCheckpoints(table, f"has none of {whose} among its {len(rows)} rows", _REMEDY)
    return found


def _rows(client: Mapping[str, str], table: str) -> Iterator[Row]:
    region = client.get("region", "")
    try:
        pages = connect(client, "dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        for page in pages:
            yield from map(_plain, page["Items"])
    except ClientError as error:
        code = error.response["Error"].get("Code", "")
        if code == "ResourceNotFoundException":
            raise CheckpointTableMissing(table, region) from error
        raise CheckpointTableRefused(table, region, faults.cause(error)) from error
    except BotoCoreError as error:
        raise CheckpointTableRefused(table, region, faults.cause(error)) from error


def _plain(item: Mapping[str, Any]) -> Row:
    reader = TypeDeserializer()
    return {name: reader.deserialize(value) for name, value in item.items()}
