"""Rejected records go to a stream with the bytes they were read with."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from frazil.dev.kinesis import LocalKinesis
from frazil.model import Reject, SourcePartition, TableName
from frazil.sources.kinesis.letters import NO_KEY, DeadLetterStream
from frazil.sources.kinesis.writing import Letter, StreamWriter

SHARD = SourcePartition("orders", "shardId-000000000000")
TABLE = TableName(("public",), "ORDERS")


@pytest.fixture(scope="module")
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        yield found


@pytest.fixture
def stream(local: LocalKinesis, request: pytest.FixtureRequest) -> str:
    name = re.sub("[^a-z0-9_]", "_", request.node.name)[:100]
    local.provide(name, 1)
    return name


def rejected(value: bytes | None, key: bytes | None = b"k", offset: str = "17") -> Reject:
    return Reject(SHARD, offset, 1, key, value, (), "project", "5015", "the value is not valid JSON")


def letters_in(local: LocalKinesis, stream: str) -> list[Letter]:
    client = local.client()
    iterator = client.get_shard_iterator(StreamName=stream, ShardId=SHARD.partition, ShardIteratorType="TRIM_HORIZON")
    records = client.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    return [Letter(each["PartitionKey"], each["Data"]) for each in records]


def test_records_are_there_with_their_own_bytes_and_keys(local: LocalKinesis, stream: str) -> None:
    letters = DeadLetterStream(StreamWriter(local.client(), local.endpoint, stream))

    letters.send([rejected(b"\xff{", "schlüssel".encode()), rejected(None), rejected(b"x", None)], "orders", TABLE)

    assert letters_in(local, stream) == [Letter("schlüssel", b"\xff{"), Letter("k", b""), Letter(NO_KEY, b"x")]


def test_a_record_too_large_for_the_stream_is_named_in_the_log_and_the_others_are_sent(
    local: LocalKinesis, stream: str
) -> None:
    letters = DeadLetterStream(StreamWriter(local.client(), local.endpoint, stream))
    fitting, larger = bytes((1 << 20) - 1), bytes(1 << 20)

    with capture_logs() as logs:
        letters.send([rejected(fitting), rejected(larger, offset="18:3"), rejected(b"x")], "to_orders", TABLE)

    assert letters_in(local, stream) == [Letter("k", fitting), Letter("k", b"x")]
    (line,) = logs
    assert (line["event"], line["connector"], line["table"], line["stream"]) == (
        "a rejected record is too large for the dead-letter stream",
        "to_orders",
        "public.ORDERS",
        stream,
    )
    assert line["record"] == "orders-shardId-000000000000, sequence number 18:3"
    assert (line["bytes"], line["largest"], line["reason"]) == ((1 << 20) + 1, 1 << 20, "5015")


@pytest.mark.parametrize("key", [b"", "\N{SNOWMAN}".encode() * 300])
def test_a_partition_key_that_no_stream_takes_holds_up_nothing(local: LocalKinesis, stream: str, key: bytes) -> None:
    DeadLetterStream(StreamWriter(local.client(), local.endpoint, stream)).send([rejected(b"x", key)], "orders", TABLE)

    assert letters_in(local, stream) == [Letter(key.decode()[:256] or NO_KEY, b"x")]
