"""Read tables of checkpoints from DynamoDB."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import BotoCoreError, ClientError

from frazil.errors import CheckpointTableMissing, CheckpointTableRefused, NoCheckpoints
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.checkpoints import Checkpoint, Keeper, Row, of_kcl, of_openflow
from frazil.sources.kinesis.client import connect

_PATIENCE: Final = 10.0
"""Seconds for which a table is scanned again where that fails and the error passes."""

_GAP: Final = 0.5
"""Seconds between two tries."""

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
    rows = _scanned(client, table)
    found = list(of_kcl(rows) if keeper == "kcl" else of_openflow(rows))
    if not found:
        whose = "the KCL's leases" if keeper == "kcl" else "Openflow's checkpoints"
        raise NoCheckpoints(table, f"has none of {whose} among its {len(rows)} rows", _REMEDY)
    return found


def _scanned(client: Mapping[str, str], table: str) -> list[Row]:
    """All rows of a table. An error that passes has the whole table scanned again, for a while."""
    region = client.get("region", "")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return list(_rows(connect(client, "dynamodb"), table))
        except (ClientError, BotoCoreError) as error:
            if faults.code(error) == faults.GONE:
                raise CheckpointTableMissing(table, region) from error
            if not faults.passes(error) or time.monotonic() >= deadline:
                raise CheckpointTableRefused(table, region, faults.cause(error)) from error
        time.sleep(_GAP)


def _rows(client: Any, table: str) -> Iterator[Row]:
    for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from map(_plain, page["Items"])


def _plain(item: Mapping[str, Any]) -> Row:
    reader = TypeDeserializer()
    return {name: reader.deserialize(value) for name, value in item.items()}
