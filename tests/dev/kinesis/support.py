"""What tests do with a local stream again and again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from frazil.dev.kinesis import LocalKinesis
from frazil.testing.topics import wait_until

HOUR = 3600.0


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


def client(local: LocalKinesis) -> Any:
    """A client that does not try again: a test wants to see the first answer."""
    return local.client(retries={"total_max_attempts": 1})


def make(local: LocalKinesis, name: str = "orders", shards: int = 1, **options: Any) -> Any:
    """A stream that is ACTIVE, and a client."""
    kinesis = client(local)
    kinesis.create_stream(StreamName=name, ShardCount=shards, **options)
    settled(kinesis, name)
    return kinesis


def settled(kinesis: Any, name: str = "orders") -> None:
    """Wait until a stream is ACTIVE."""

    def active() -> bool:
        return bool(
            kinesis.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]["StreamStatus"] == "ACTIVE"
        )

    wait_until(active, f"{name} to be ACTIVE")


def shard_id(number: int) -> str:
    return f"shardId-{number:012}"


def iterator(kinesis: Any, shard: int = 0, kind: str = "TRIM_HORIZON", name: str = "orders", **more: Any) -> str:
    got = kinesis.get_shard_iterator(StreamName=name, ShardId=shard_id(shard), ShardIteratorType=kind, **more)
    return str(got["ShardIterator"])


def records(kinesis: Any, shard: int = 0, kind: str = "TRIM_HORIZON", name: str = "orders", **more: Any) -> list[Any]:
    """All there is of a shard from a place on."""
    return [
        record
        for answer in answers(kinesis, iterator(kinesis, shard, kind, name, **more))
        for record in answer["Records"]
    ]


def answers(kinesis: Any, following: str | None, **options: Any) -> Iterator[Any]:
    """Answers of GetRecords until the tip or the end of the shard."""
    while following is not None:
        answer = kinesis.get_records(ShardIterator=following, **options)
        yield answer
        following = answer.get("NextShardIterator") if answer["MillisBehindLatest"] else None


def data(found: list[Any]) -> list[bytes]:
    return [record["Data"] for record in found]


def put(kinesis: Any, *values: bytes, key: str = "key", name: str = "orders") -> list[str]:
    """Put records one after another; their sequence numbers."""
    return [kinesis.put_record(StreamName=name, Data=value, PartitionKey=key)["SequenceNumber"] for value in values]


def refuses(code: str) -> Any:
    """The block is answered with that error."""
    return pytest.raises(ClientError, match=rf"\({code}\)")


@contextmanager
def running(directory: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The command, the endpoint it gives, and what it says to do next."""
    command = [sys.executable, "-c", "from frazil.cli import main; exit(main())"]
    arguments = ["dev", "kinesis", "--port", "0", "--dir", str(directory), *options]
    process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        ready = process.stdout.readline()
        yield process, ready.split("ready at ")[1].split(";")[0], process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def client_at(endpoint: str) -> Any:
    return boto3.client(
        "kinesis", "us-east-1", endpoint_url=endpoint, aws_access_key_id="local", aws_secret_access_key="local"
    )
