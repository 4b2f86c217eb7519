"""Accepted records come to the output stream in the order of their partition key, unless the user gives that up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.memory.streams import StreamWorld

from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.faults import Fault
from frazil.model import OutputRecord, SourcePartition, TableName
from frazil.sources.kinesis.source import KinesisSource, open_source

SHARD = SourcePartition("orders", "shardId-000000000000")
TABLE = TableName(("public",), "ORDERS")


@pytest.fixture
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        found.provide("accepted", 1)
        yield found


def opened(local: LocalKinesis, order: str) -> KinesisSource:
    keys = {"frazil__output__stream": "accepted", "frazil__output__order": order}
    settings = StreamWorld(local, "orders").settings(**keys)
    return open_source(settings, settings.source)


def in_stream(local: LocalKinesis) -> list[bytes]:
    client = local.client()
    asked = {"StreamName": "accepted", "ShardId": SHARD.partition, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = client.get_shard_iterator(**asked)["ShardIterator"]
    return [each["Data"] for each in client.get_records(ShardIterator=iterator)["Records"]]


@pytest.mark.parametrize(
    ("order", "key", "wanted"),
    [("key", b"k", [b"0", b"1", b"2"]), ("none", b"k", [b"1", b"2", b"0"]), ("key", None, [b"1", b"2", b"0"])],
)
def test_what_the_stream_refuses_lets_later_records_pass_only_where_order_does_not_count(
    local: LocalKinesis, order: str, key: bytes | None, wanted: list[bytes]
) -> None:
    source = opened(local, order)
    output = source.output()
    assert output is not None
    error = "ProvisionedThroughputExceededException"
    local.faults.add(Fault(error, operations=("PutRecords",), stream="accepted", each_record=True, times=1))

    output.send((OutputRecord(SHARD, str(n), key, b"%d" % n) for n in range(3)), "shop", TABLE)

    assert in_stream(local) == wanted
    source.close()
