"""Connectors on a local stream: their settings, what is put, and what is there."""

from __future__ import annotations

from pathlib import Path

from tests.support.connectors import JSON

from frazil.dev.kinesis import LocalKinesis

LOWEST, HIGHEST = "0", str(2**128 - 1)
"""Hash keys in the first and in the last shard of a stream."""


def settings_of(kinesis: LocalKinesis, stream: str, home: Path, **settings: str) -> dict[str, str]:
    """What a connector is configured with that lands a stream and sees new records soon."""
    return {
        "name": f"to_{stream}",
        "connector.class": "frazil.KinesisConnector",
        "frazil.kinesis.streams": stream,
        "frazil.kinesis.region": kinesis.region,
        "frazil.kinesis.endpoint": kinesis.endpoint,
        "frazil.kinesis.access.key.id": "local",
        "frazil.kinesis.secret.access.key": "local",
        "frazil.kinesis.poll.interval.ms": "200",
        "frazil.kinesis.discovery.interval.ms": "200",
        "frazil.home": str(home),
        "frazil.commit.interval.ms": "100",
        **JSON,
        **settings,
    }


def put(kinesis: LocalKinesis, stream: str, value: str | bytes, key: str = "k", at: str = LOWEST) -> str:
    """The sequence number of a record that is put into the shard of a hash key."""
    data = value.encode() if isinstance(value, str) else value
    done = kinesis.client().put_record(StreamName=stream, Data=data, PartitionKey=key, ExplicitHashKey=at)
    number: str = done["SequenceNumber"]
    return number


def records_of(kinesis: LocalKinesis, stream: str) -> list[tuple[str, bytes]]:
    """Partition keys and data of the records in a stream's first shard."""
    client = kinesis.client()
    asked = {"StreamName": stream, "ShardId": "shardId-000000000000", "ShardIteratorType": "TRIM_HORIZON"}
    iterator = client.get_shard_iterator(**asked)["ShardIterator"]
    found: list[tuple[str, bytes]] = []
    while (answer := client.get_records(ShardIterator=iterator))["Records"]:
        found += [(each["PartitionKey"], each["Data"]) for each in answer["Records"]]
        iterator = answer["NextShardIterator"]
    return found
