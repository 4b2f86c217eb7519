"""What `frazil explain` says of pipes under connectors, and that it writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from tests.dev.kinesis.support import make, settled, shard_id
from tests.integration.changing import Stream
from tests.integration.commands import Desk
from tests.integration.test_pipes import copy_of
from tests.support.processes import write_properties
from tests.support.waiting import caught_up

from frazil import Connector
from frazil.connector.explaining import Explainer
from frazil.connector.registry import Registry
from frazil.dev.kafka import KafkaBroker
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import ExplainRefused, StreamUnavailable
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing.aggregation import aggregate


@pytest.fixture
def catalog(spark: SparkSession, lake: Path) -> Catalog:
    return Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)


@pytest.fixture
def stream(spark: SparkSession, broker: KafkaBroker, lake: Path, topic: str, catalog: Catalog) -> Stream:
    """A table with a pipe that is of its name."""
    stream = Stream(spark, broker, lake, topic)
    stream.create()
    with Engine(catalog, lambda: spark) as engine:
        statement = copy_of(stream, "UPPER($1:payload::STRING)").replace("'))", "')) WHERE $1:seq <> 3", 1)
        engine.answer(statement)
    return stream


def test_the_last_records_of_a_topic_are_shown_as_they_landed(
    connect, stream: Stream, catalog: Catalog, lake: Path, spark: SparkSession, tmp_path: Path
):
    stream.connector = Desk(spark, lake, connect, tmp_path).run(stream.topic, f"to_{stream.topic}")
    stream.send()
    caught_up(stream.connector)
    before = stream.snapshot()

    found = Explainer(catalog, Registry(lake)).of_last_records(stream.topic, 3)

    assert (found.pipe, found.condition) == (stream.topic.upper(), "$1:seq <> 3")
    assert [(each.offset, each.fate) for each in found.trials] == [(2, "row"), (3, "left out"), (4, "row")]
    landed = spark.sql(f"SELECT seq, payload FROM {stream.table} WHERE seq IN (2, 4) ORDER BY seq").collect()
    rows = [each.row for each in found.trials if each.row]
    assert [(row["seq"], json.loads(row["payload"])) for row in rows] == [
        (str(each["seq"]), each["payload"]) for each in landed
    ]
    assert stream.snapshot() == before


def test_a_file_tells_what_becomes_of_its_lines_without_any_connector(
    stream: Stream, catalog: Catalog, lake: Path, tmp_path: Path
):
    sample = tmp_path / "sample.jsonl"
    sample.write_text('{"seq": 1, "payload": "a", "relaxed": 1}\n{"seq": 2}\n{"seq": 3}\n[]\n')

    found = Explainer(catalog, Registry(lake)).of_file(f"public.{stream.topic.upper()}", sample)

    assert [each.fate for each in found.trials] == ["row", "reject", "left out", "reject"]
    assert found.trials[0].row is not None
    assert found.trials[0].row["payload"] == '"A"'
    assert [each.takes for each in found.columns if each.name in ("payload", "nested")] == [
        "UPPER($1:payload::STRING)",
        None,
    ]


def test_records_of_a_topic_that_no_connector_reads_are_not_known(stream: Stream, catalog: Catalog, lake: Path):
    with pytest.raises(ExplainRefused, match="--sample"):
        Explainer(catalog, Registry(lake)).of_last_records(stream.topic, 3)


@pytest.fixture
def followed(
    spark: SparkSession, lake: Path, catalog: Catalog, tmp_path: Path
) -> Iterator[tuple[LocalKinesis, Connector, str]]:
    """A stream of two shards of which one was split, and a connector that the home knows of, with all in its table."""
    del catalog
    name = f"e_{uuid4().hex[:8]}"
    with LocalKinesis(quotas=False) as local:
        client = make(local, name, shards=2)
        put(client, name, 0, *range(3))
        client.split_shard(StreamName=name, ShardToSplit=shard_id(0), NewStartingHashKey=str(2**126))
        settled(client, name)
        put(client, name, 0, *range(3, 10))
        put(client, name, 2**128 - 1, 20)
        client.put_record(
            StreamName=name,
            Data=aggregate([("k", 2**127, b'{"n": 21}'), ("k", 2**127, b"[]")]),
            PartitionKey="k",
            ExplicitHashKey=str(2**127),
        )
        configuration = {
            "name": f"to_{name}",
            "connector.class": "frazil.KinesisConnector",
            "frazil.kinesis.streams": name,
            "frazil.kinesis.region": local.region,
            "frazil.kinesis.endpoint": local.endpoint,
            "frazil.kinesis.access.key.id": "local",
            "frazil.kinesis.secret.access.key": "local",
            "frazil.home": str(lake),
            "errors.tolerance": "all",
        }
        connector = Connector.from_properties(configuration, spark)
        file = write_properties(tmp_path / f"{name}.properties", **configuration)
        connector.on_state(Registry(lake).recorder(connector.settings, file, None))
        connector.start()
        try:
            caught_up(connector)
            yield local, connector, name
        finally:
            connector.stop()


def put(client, stream: str, at: int, *numbers: int) -> None:
    for number in numbers:
        client.put_record(StreamName=stream, Data=b'{"n": %d}' % number, PartitionKey="k", ExplicitHashKey=str(at))


def test_the_last_records_of_a_stream_are_shown_as_they_landed(
    followed, catalog: Catalog, lake: Path, spark: SparkSession
) -> None:
    _, _, name = followed

    found = Explainer(catalog, Registry(lake)).of_last_records(name, 2)

    told = {(each.partition, each.value): each.fate for each in found.trials}
    assert told == {
        (shard_id(0), '{"n": 1}'): "row",
        (shard_id(0), '{"n": 2}'): "row",
        (shard_id(1), '{"n": 21}'): "row",
        (shard_id(1), "[]"): "reject",
        (shard_id(2), '{"n": 8}'): "row",
        (shard_id(2), '{"n": 9}'): "row",
    }
    landed = spark.sql(
        f"SELECT n, kinesisMetadata FROM frazil.public.{name.upper()} WHERE n IN (1, 2, 21, 8, 9)"
    ).collect()
    expected = {row["n"]: json.dumps(row["kinesisMetadata"].asDict(), default=str, sort_keys=True) for row in landed}
    rows = [each.row for each in found.trials if each.row]
    assert {int(row["n"]) for row in rows} == set(expected)
    for row in rows:
        metadata = json.loads(row["kinesisMetadata"])
        assert metadata["sequenceNumber"] in expected[int(row["n"])]
        assert metadata["shardId"] in expected[int(row["n"])]


def test_the_last_records_of_a_stream_are_printed(
    followed, lake: Path, catalog: Catalog, spark, connect, tmp_path, monkeypatch, capsys
) -> None:
    _, _, name = followed
    desk = Desk(spark, lake, connect, tmp_path)
    monkeypatch.setattr("frazil.cli.pipes.open_catalog", desk.opened)

    assert desk.type("explain", name, "--records", "1", "--format", "json") == 0

    found = json.loads(capsys.readouterr().out)
    offsets = {each["partition"]: each["offset"] for each in found["trials"]}
    assert offsets.keys() == {shard_id(0), shard_id(1), shard_id(2)}
    assert offsets[shard_id(1)].endswith(":1")
    assert desk.type("explain", name) == 0
    assert shard_id(2) in capsys.readouterr().out


def test_lines_of_a_file_are_tried_as_records_of_a_stream(
    followed, catalog: Catalog, lake: Path, tmp_path: Path
) -> None:
    _, _, name = followed
    sample = tmp_path / "sample.jsonl"
    sample.write_text('{"n": 1}\n[]\n')

    found = Explainer(catalog, Registry(lake)).of_file(name, sample)

    assert [each.fate for each in found.trials] == ["row", "reject"]


def test_a_stream_that_does_not_answer_is_said_to_explain(followed, catalog: Catalog, lake: Path) -> None:
    local, connector, name = followed
    connector.stop()
    local.faults.fail("GetRecords", stream=name)

    with pytest.raises(StreamUnavailable, match="InternalFailure"):
        Explainer(catalog, Registry(lake)).of_last_records(name, 2)
