"""What `frazil explain` says of pipes under connectors, and that it writes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.changing import Stream
from tests.integration.commands import Desk
from tests.integration.test_pipes import copy_of
from tests.support.waiting import caught_up

from frazil.connector.explaining import Explainer
from frazil.connector.registry import Registry
from frazil.dev.kafka import KafkaBroker
from frazil.errors import ExplainRefused
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog


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
