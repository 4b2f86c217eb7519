"""Streams of Kinesis land in Iceberg's tables, with where each record came from."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession
from tests.support.aggregated import aggregated
from tests.support.processes import frazil
from tests.support.streams import HIGHEST, LOWEST, put, records_of
from tests.support.waiting import caught_up

from frazil import Connector
from frazil.connector.registry import Registry
from frazil.connector.rejected.desk import Asked, RejectDesk
from frazil.connector.rejected.replaying import Replayer
from frazil.dev.kinesis.faults import Fault
from frazil.dev.kinesis.server import LocalKinesis
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing import iceberg
from frazil.testing.stream_oracle import StreamReport, verify_stream
from frazil.testing.topics import wait_until

SHARDS = ["shardId-000000000000", "shardId-000000000001"]
USER = "alice"
"""A partition key whose own hash key is in the first."""


@pytest.fixture
def follow(kinesis: LocalKinesis, follow_stream: Callable[..., Connector]) -> Callable[..., Connector]:
    """Start a connector on a stream; all are stopped at the end."""
    return partial(follow_stream, kinesis)


def rows_of(spark: SparkSession, table: str, order: str = "n") -> list[dict[str, Any]]:
    found = spark.sql(f"SELECT * FROM frazil.public.{table.upper()} ORDER BY {order}").collect()
    return [row.asDict(recursive=True) for row in found]


def until_there(spark: SparkSession, table: str, count: int) -> None:
    """Wait until a table is there and has so many rows."""

    def there() -> bool:
        name = f"frazil.public.{table.upper()}"
        return spark.catalog.tableExists(name) and spark.table(name).count() >= count

    wait_until(there, f"{count} rows in {table}")


def sharded(sequence: str, sub: int = 0) -> str:
    return sequence + f"{sub:020d}"


def test_rows_tell_their_stream_shard_and_sequence_number_to_every_reader(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], spark: SparkSession, lake: Path
) -> None:
    before = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=1)
    plain = put(kinesis, stream, '{"n": 1}', key="\N{SNOWMAN}")
    packed = put(kinesis, stream, aggregated(b'{"n": 2}', b'{"n": 3}', key=USER), at=LOWEST)
    other = put(kinesis, stream, '{"n": 4, "kinesisMetadata": "not this"}', at=HIGHEST)

    caught_up(follow(stream))

    metadata = iceberg.current_metadata(lake / "catalog.db", "public", stream.upper())
    found = StaticTable.from_metadata(str(metadata)).scan().to_arrow().sort_by("n")
    assert found.column_names == ["kinesisMetadata", "n"]
    told = found.column("kinesisMetadata").to_pylist()
    places = [(SHARDS[0], plain, 0, "\N{SNOWMAN}"), (SHARDS[0], packed, 0, USER), (SHARDS[0], packed, 1, USER)]
    places.append((SHARDS[1], other, 0, "k"))
    for one, (shard, sequence, sub, key) in zip(told, places, strict=True):
        arrival = one.pop("approximateArrival")
        assert before < arrival < dt.datetime.now(dt.UTC)
        assert one == {
            "stream": stream,
            "shardId": shard,
            "partitionKey": key,
            "sequenceNumber": sequence,
            "subSequenceNumber": sub,
            "shardedSequenceNumber": sharded(sequence, sub),
        }
    by_spark = [(row["n"], row["kinesisMetadata"]["shardedSequenceNumber"]) for row in rows_of(spark, stream)]
    assert by_spark == [(1, sharded(plain)), (2, sharded(packed)), (3, sharded(packed, 1)), (4, sharded(other))]


def test_rows_of_a_shard_are_in_order_of_arrival_within_a_file_and_from_file_to_file_of_a_commit(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], lake: Path
) -> None:
    """As others read them: DuckDB, file by file, and pyiceberg, which has the files of a commit in the same order."""
    client, count = kinesis.client(), 80
    for start in range(0, count, 10):
        values = [json.dumps({"n": number, "text": "x" * (1 << 19)}).encode() for number in range(start, start + 10)]
        placed = {"PartitionKey": "k", "ExplicitHashKey": LOWEST}
        client.put_records(StreamName=stream, Records=[{"Data": value, **placed} for value in values])
    several = {"max.records": "10", "read.rate": str(1 << 30), "read.window.ms": "20000"}

    caught_up(follow(stream, **{f"frazil.kinesis.{name}": value for name, value in several.items()}))

    metadata = iceberg.current_metadata(lake / "catalog.db", "public", stream.upper())
    by_commit: dict[int, list[Path]] = {}
    for file in iceberg.data_files(iceberg.read_metadata(metadata)):
        by_commit.setdefault(file.sequence, []).append(file.path)
    paths = [path for _, of_commit in sorted(by_commit.items()) for path in sorted(of_commit)]
    with duckdb.connect() as database:
        query = "SELECT n FROM read_parquet(?, file_row_number = true) ORDER BY file_row_number"
        found = [n for path in paths for (n,) in database.execute(query, [str(path)]).fetchall()]
    assert found == [*range(count)]
    assert max(map(len, by_commit.values())) > 1, "nothing was seen of several files"
    listed = [
        iceberg.local(task.file.file_path) for task in StaticTable.from_metadata(str(metadata)).scan().plan_files()
    ]
    for of_commit in by_commit.values():
        assert [path for path in listed if path in of_commit] == sorted(of_commit)


def test_each_keys_records_are_there_once_and_in_order_across_a_split(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], lake: Path
) -> None:
    sent = dict.fromkeys(("alice", "bob", "carol", "dave"), 0)

    def more(rounds: int) -> None:
        for _ in range(rounds):
            for key in sent:
                value = json.dumps({"key": key, "number": sent[key]}).encode()
                kinesis.client().put_record(StreamName=stream, Data=value, PartitionKey=key)
                sent[key] += 1

    more(10)
    connector = follow(stream)
    caught_up(connector)
    middle = str(2**126)
    kinesis.client().split_shard(StreamName=stream, ShardToSplit=SHARDS[0], NewStartingHashKey=middle)
    client = kinesis.client()
    wait_until(
        lambda: (
            client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamStatus"] == "ACTIVE"
        ),
        "the stream to be active again",
    )
    more(10)

    def judged() -> StreamReport:
        return verify_stream(iceberg.current_metadata(lake / "catalog.db", "public", stream.upper()), stream, sent)

    wait_until(lambda: judged().rows >= sum(sent.values()), "all records to be there")
    assert judged().clean, judged()


def test_new_keys_become_columns_called_as_the_first_record_of_a_shard_calls_them(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], spark: SparkSession
) -> None:
    put(kinesis, stream, '{"n": 1}')
    connector = follow(stream)
    caught_up(connector)

    put(kinesis, stream, '{"n": 2, "zinc": 1}')
    put(kinesis, stream, '{"n": 3, "ZINC": 2, "argon": "x"}')
    until_there(spark, stream, 3)

    found = rows_of(spark, stream)
    assert [*found[0]] == ["kinesisMetadata", "n", "argon", "zinc"]
    assert [(row["n"], row["argon"], row["zinc"]) for row in found] == [(1, None, None), (2, None, 1), (3, "x", 2)]


def test_rejected_records_are_in_the_error_table_and_channels_are_told_by_shard(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], spark: SparkSession, lake: Path
) -> None:
    put(kinesis, stream, '{"n": 1}')
    connector = follow(stream, **{"errors.tolerance": "all", "frazil.errors.table": "true"})
    caught_up(connector)
    packed = put(kinesis, stream, aggregated(b'{"n": 2}', b'{"n": "x"}', key=USER))
    broken = put(kinesis, stream, b"\xff{", at=HIGHEST)

    until_there(spark, f"{stream}_errors", 2)
    assert [row["n"] for row in rows_of(spark, stream)] == [1, 2]
    first, second = rows_of(spark, f"{stream}_errors", order="partition")
    assert (first["topic"], first["partition"], first["offset"]) == (stream, SHARDS[0], f"{packed}:1")
    assert (bytes(first["key"]), bytes(first["value"]), first["code"]) == (USER.encode(), b'{"n": "x"}', "5030")
    assert (second["partition"], second["offset"], bytes(second["value"])) == (SHARDS[1], broken, b"\xff{")

    name = connector.settings.name
    listed = json.loads(frazil("channels", "--home", lake, "--format", "json").stdout)
    channels = {each["partition"]: each for each in listed if each["topic"] == stream}
    assert {shard: each["offset_token"] for shard, each in channels.items()} == {SHARDS[0]: packed, SHARDS[1]: broken}
    assert [(each["rows_inserted"], each["rows_error"]) for each in channels.values()] == [(2, 1), (0, 1)]
    groups = json.loads(frazil("dlq", "list", "--table", stream, "--home", lake, "--format", "json").stdout)
    assert [(each["connector"], each["partition"], each["first_offset"]) for each in groups] == [
        (name, SHARDS[0], f"{packed}:1"),
        (name, SHARDS[1], broken),
    ]
    shown = frazil("dlq", "show", "--table", stream, "--home", lake)
    assert f"{stream}-{SHARDS[1]}, offset {broken}" in shown.stdout


def test_rejected_records_go_to_their_stream_as_they_came_though_it_takes_none_at_first(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], spark: SparkSession
) -> None:
    letters = f"{stream}_letters"
    kinesis.provide(letters)
    refusing = Fault("InternalFailure", operations=("PutRecords",), stream=letters, times=3)
    put(kinesis, stream, '{"n": 1}')
    settings = {"errors.tolerance": "all", "errors.deadletterqueue.stream.name": letters}
    caught_up(follow(stream, **settings, **{"frazil.errors.table": "true"}))

    with kinesis.faults.during(refusing):
        put(kinesis, stream, aggregated(b'{"n": 2}', b'{"n": "x"}', key=USER))
        put(kinesis, stream, b"\xff{", key="\N{SNOWMAN}", at=HIGHEST)
        wait_until(lambda: len(records_of(kinesis, letters)) == 2, "both rejected records")

    assert refusing.happened == 3
    assert sorted(records_of(kinesis, letters)) == [(USER, b'{"n": "x"}'), ("\N{SNOWMAN}", b"\xff{")]
    assert [row["n"] for row in rows_of(spark, stream)] == [1, 2]
    why = {bytes(row["value"]): row["code"] for row in rows_of(spark, f"{stream}_errors", order="partition")}
    assert why == {b'{"n": "x"}': "5030", b"\xff{": "5015"}


def test_rejected_records_are_replayed_through_a_pipe_that_knows_streams(
    kinesis: LocalKinesis, stream: str, follow: Callable[..., Connector], spark: SparkSession, lake: Path
) -> None:
    put(kinesis, stream, '{"n": 1}')
    connector = follow(stream, **{"errors.tolerance": "all", "frazil.errors.table": "true"})
    caught_up(connector)
    packed = put(kinesis, stream, aggregated(*[b'{"n": "2x"}'] * 11, key=USER))
    until_there(spark, f"{stream}_errors", 11)
    catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)

    with Engine(catalog, lambda: spark) as engine:
        engine.answer(
            f"CREATE PIPE {stream} AS COPY INTO {stream} FROM (SELECT $1:kinesisMetadata AS kinesisMetadata, "
            "$1:kinesisMetadata.subSequenceNumber AS n FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING'))) "
            "MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"
        )
        desk = RejectDesk(catalog, engine, Registry(lake), connector.settings)
        offsets = [each.row["offset"] for each in desk.records(Asked(stream), 100)]
        outcomes = [*Replayer(desk).replay(Asked(stream))]
        put(kinesis, stream, '{"n": "anything"}', at=HIGHEST)
        until_there(spark, stream, 13)

    assert offsets == [f"{packed}:{sub}" for sub in range(11)]
    assert outcomes[-1].replayed == 11
    found = rows_of(spark, stream, "n, kinesisMetadata.shardId, kinesisMetadata.subSequenceNumber")
    told = [(row["n"], row["kinesisMetadata"]["shardId"], row["kinesisMetadata"]["subSequenceNumber"]) for row in found]
    assert told == [
        (0, SHARDS[0], 0),
        (0, SHARDS[1], 0),
        (1, SHARDS[0], 0),
        (1, SHARDS[0], 1),
        *((sub, SHARDS[0], sub) for sub in range(2, 11)),
    ]
    assert len({row["kinesisMetadata"]["approximateArrival"] for row in found[4:]}) == 1
