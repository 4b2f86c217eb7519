"""Connectors on a local stream, and who puts records into it and divides its shards meanwhile."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from pyspark.sql import SparkSession
from tests.dev.kinesis.support import settled
from tests.support.connectors import JSON
from tests.support.processes import write_properties

from frazil import Connector
from frazil.connector.registry import Registry
from frazil.dev.kinesis import LocalKinesis
from frazil.testing import iceberg
from frazil.testing.stream_oracle import StreamReport, verify_stream
from frazil.testing.topics import wait_until

KEYS = [f"customer {number}" for number in range(20)]
"""Partition keys in shards all over a stream."""

LOWEST, HIGHEST = "0", str(2**128 - 1)
"""Hash keys in the first and in the last shard of a stream."""

Follow = Callable[..., Connector]


def reading(kinesis: LocalKinesis, stream: str, home: Path, **more: str) -> dict[str, str]:
    """The keys of a connector that reads a stream of JSON, and looks often; those in `more` win."""
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
        "frazil.commit.interval.ms": "100",
        "frazil.home": str(home),
        **JSON,
        **more,
    }


@contextmanager
def following(spark: SparkSession, home: Path, kinesis: LocalKinesis, directory: Path) -> Iterator[Follow]:
    """Start connectors that commands know of: `follow(stream, **keys)`; all are stopped at the end."""
    started: list[Connector] = []
    numbers = itertools.count()

    def follow(stream: str, **more: str) -> Connector:
        keys = reading(kinesis, stream, home, **more)
        file = write_properties(directory / f"connector{next(numbers)}.properties", **keys)
        connector = Connector.from_properties(keys, spark)
        connector.on_state(Registry(home).recorder(connector.settings, file, None))
        started.append(connector)
        connector.start()
        return connector

    try:
        yield follow
    finally:
        for connector in started:
            connector.stop()


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


def judged(home: Path, stream: str, sent: Counter[str], table: str | None = None) -> StreamReport:
    """The oracle's verdict on a stream's table in the embedded catalog of a home."""
    metadata = iceberg.current_metadata(home / "catalog.db", "public", (table or stream).upper())
    return verify_stream(metadata, stream, sent)


class Producer:
    """Puts records without pause, from a thread of its own, and counts those that were acknowledged."""

    def __init__(self, kinesis: LocalKinesis, stream: str) -> None:
        self.sent: Counter[str] = Counter()
        self._client = kinesis.client()
        self._stream = stream
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Put no more; what went wrong is raised."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        assert self._failure is None, self._failure

    def more(self) -> None:
        """Wait until each key has had another record."""
        before = dict(self.sent)
        wait_until(lambda: all(self.sent[key] > before.get(key, 0) for key in KEYS), "records of each key", 30)

    def _run(self) -> None:
        try:
            for key in itertools.cycle(KEYS):
                if self._stopping.wait(0.005):
                    return
                value = orjson.dumps({"key": key, "number": self.sent[key], "text": "x" * 100})
                self._client.put_record(StreamName=self._stream, Data=value, PartitionKey=key)
                self.sent[key] += 1
        except Exception as error:  # noqa: BLE001 (the test raises it)
            self._failure = error


class Shards:
    """The open shards of a stream."""

    def __init__(self, kinesis: LocalKinesis, stream: str) -> None:
        self._client = kinesis.client()
        self._stream = stream

    def split(self) -> None:
        """Split the one with the most hash keys."""
        shard = max(self._open(), key=lambda each: _high(each) - _low(each))
        middle = str((_low(shard) + _high(shard)) // 2)
        self._client.split_shard(StreamName=self._stream, ShardToSplit=shard["ShardId"], NewStartingHashKey=middle)
        settled(self._client, self._stream)

    def merge(self) -> None:
        """Merge the first two."""
        one, other = sorted(self._open(), key=_low)[:2]
        self._client.merge_shards(
            StreamName=self._stream, ShardToMerge=one["ShardId"], AdjacentShardToMerge=other["ShardId"]
        )
        settled(self._client, self._stream)

    def _open(self) -> list[dict[str, Any]]:
        shards = self._client.list_shards(StreamName=self._stream)["Shards"]
        return [each for each in shards if "EndingSequenceNumber" not in each["SequenceNumberRange"]]


def _low(shard: dict[str, Any]) -> int:
    return int(shard["HashKeyRange"]["StartingHashKey"])


def _high(shard: dict[str, Any]) -> int:
    return int(shard["HashKeyRange"]["EndingHashKey"])
