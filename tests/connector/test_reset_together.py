"""Which tables of one stream cannot be reset without the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from frazil.connector.reset_together import require_one_time_for_a_shard
from frazil.connector.token_scan import ConnectorTokens
from frazil.cycle.resets import Move
from frazil.errors import ResetRefused
from frazil.model import SourcePartition, TableName
from frazil.sources.kinesis.positions import BEGINNING, KinesisPosition, after, at_time
from frazil.tables.iceberg.table import Table
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, TopicTokens

SHARD = SourcePartition("orders", "shardId-000000000000")


def holding(table: str, token: str = "9", connector: str = "SHOP", stream: str = "orders") -> ConnectorTokens:
    channel = Channel(token, closed=token == "SHARD_END")
    topics = {stream: TopicTokens("aws", "1", {SHARD.partition: channel})}
    named = cast("Table", SimpleNamespace(name=TableName(("public",), table)))
    return ConnectorTokens(named, connector, Tokens("shop", "c", "o", 1, topics=topics, source="kinesis"), ())


def reset(*others: ConnectorTokens, to: KinesisPosition, along: tuple[str, ...] = ()) -> None:
    """Reset the shard for the table of France, and for those named in `along`."""
    own = holding("ORDERS_FR")
    tables = {f"public.{each}" for each in ("ORDERS_FR", *along)}
    require_one_time_for_a_shard(own, [Move(SHARD, after(9), to)], [own, *others], tables)


def test_a_table_that_shares_a_shard_does_not_go_on_at_a_time_alone() -> None:
    with pytest.raises(ResetRefused, match=r"public\.ORDERS_FR and public\.ORDERS_DE both read orders-shardId-0+, and"):
        reset(holding("ORDERS_DE"), to=at_time(5))

    reset(holding("ORDERS_DE"), to=at_time(5), along=("ORDERS_DE",))


def test_a_place_that_can_be_compared_is_a_tables_own() -> None:
    reset(holding("ORDERS_DE"), to=BEGINNING)


@pytest.mark.parametrize(
    "other",
    [
        holding("ORDERS_DE", connector="OTHER"),
        holding("ORDERS_DE", token="SHARD_END"),
        holding("RETURNS", stream="returns"),
    ],
)
def test_who_does_not_read_the_shard_for_the_connector_does_not_matter(other: ConnectorTokens) -> None:
    reset(other, to=at_time(5))
