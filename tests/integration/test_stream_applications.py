"""Several applications on one stream at once: each has all of it, and its own place, though they share what shards give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from tests.support.processes import frazil
from tests.support.streams import Follow, Producer, Shards, following, judged
from tests.support.waiting import caught_up

from frazil.dev.kinesis import LocalKinesis
from frazil.testing import iceberg
from frazil.testing.topics import wait_until


@pytest.fixture
def kinesis() -> Iterator[LocalKinesis]:
    """A stream that gives each shard five answers a second, to all who ask together."""
    with LocalKinesis() as running:
        yield running


@pytest.fixture
def follow(spark: SparkSession, lake: Path, kinesis: LocalKinesis, tmp_path: Path) -> Iterator[Follow]:
    with following(spark, lake, kinesis, tmp_path) as start:
        yield start


def test_two_applications_at_once_have_each_record_once_and_tokens_of_their_own(
    kinesis: LocalKinesis, follow: Follow, lake: Path
) -> None:
    stream, table = f"a_{uuid4().hex[:8]}", f"b_{uuid4().hex[:8]}"
    kinesis.provide(stream, 2)
    producer, shards = Producer(kinesis, stream), Shards(kinesis, stream)
    producer.start()
    producer.more()

    one = follow(stream, **{"frazil.kinesis.application.name": "one's"})
    other = follow(stream, **{"name": "other", "snowflake.topic2table.map": f"{stream}:{table}"})
    for change in (shards.split, shards.merge):
        wait_until(lambda: one.status() and other.status(), "both to read")
        producer.more()
        change()
    producer.more()
    producer.stop()
    caught_up(one)
    caught_up(other)

    reports = [judged(lake, stream, producer.sent, where) for where in (stream, table)]
    assert [report.rows for report in reports] == [producer.sent.total()] * 2
    assert all(report.clean for report in reports), reports
    for where, key in ((stream, one.settings.key), (table, other.settings.key)):
        metadata = iceberg.read_metadata(iceberg.current_metadata(lake / "catalog.db", "public", where.upper()))
        tokens = [each for each in metadata["properties"] if each.startswith("frazil.tokens.")]
        assert tokens == [f"frazil.tokens.{key}"]
    listed = json.loads(frazil("channels", "--home", lake, "--format", "json").stdout)
    channels = [each for each in listed if each["topic"] == stream]
    ours = {(each["connector"], each["application"], each["table"]) for each in channels}
    assert ours == {
        (one.settings.key, "one's", f"public.{stream.upper()}"),
        ("OTHER", "other", f"public.{table.upper()}"),
    }
    assert len(channels) == 2 * len({each["partition"] for each in channels})
