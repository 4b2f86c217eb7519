"""Records that cannot become rows: what still lands, what is set aside, what is logged, and what it costs."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from structlog.testing import capture_logs
from tests.support.channels import offsets
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import FRAZIL, Running, peak_of_workers, write_properties
from tests.support.waiting import caught_up, tokens, until_state

from frazil.cycle.planning import SPLIT, spread
from frazil.dev.kafka import KafkaBroker
from frazil.errors import InvalidRecord, UnfitValue
from frazil.model import Range, SourcePartition
from frazil.tables.outbox import undelivered
from frazil.testing import iceberg
from frazil.testing.records import produce
from frazil.testing.topics import create_topic, wait_until

LARGE = 400_000
"""Bytes of a record of which few make a range that is split over tasks."""

MANY = 400_000
"""Records that are all rejected; two chunks of them."""

MOST = 900 * 1024 * 1024
"""Bytes a Python worker may take."""

MakeNumbers = Callable[..., str]


@pytest.fixture
def numbers(make_topic: Callable[..., str], spark: SparkSession) -> MakeNumbers:
    """Make a topic and its table, whose only column is a BIGINT: `numbers(partitions=2)` gives the name."""

    def make(partitions: int = 1) -> str:
        topic = make_topic(partitions=partitions)
        spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
        spark.sql(
            f"CREATE TABLE frazil.public.{topic.upper()} (n BIGINT NOT NULL, "
            "RECORD_METADATA STRUCT<partition: INT, offset: BIGINT>) USING iceberg"
        )
        return topic

    return make


def test_without_tolerance_all_but_what_follows_the_bad_record_lands_and_tolerance_goes_on_after_it(
    connect, numbers: MakeNumbers, rows, broker: KafkaBroker
):
    servers, bad, good = broker.bootstrap_servers, numbers(partitions=2), numbers(partitions=2)
    produce(servers, bad, ['{"n": 1}', '{"n": 2}', '{"n": "three"}', '{"n": 4}'], partition=0)
    produce(servers, bad, ['{"n": 10}', '{"n": 11}'], partition=1)
    produce(servers, good, ['{"n": 20}'], partition=0)
    produce(servers, good, ['{"n": 30}', '{"n": 31}'], partition=1)

    connector, reports = connect(f"{bad},{good}", name="picky", begin=False), []
    connector.on_cycle(reports.append)
    connector.start()
    until_state(connector, "FAILED")

    assert isinstance(connector.error, UnfitValue)
    for expected in ("[5030]", f"topic {bad}", "partition 0", "offset 2", "column n", "a text", """'{"n": "three"}'"""):
        assert expected in str(connector.error)
    assert [row["n"] for row in rows(bad)] == [1, 2, 10, 11]
    assert [row["n"] for row in rows(good)] == [20, 30, 31]
    assert sum(report.rows for report in reports) == 7

    tolerant = connect(f"{bad},{good}", name="picky", **{"errors.tolerance": "all"})
    caught_up(tolerant)

    assert [row["n"] for row in rows(bad)] == [1, 2, 4, 10, 11]
    assert [row["n"] for row in rows(good)] == [20, 30, 31]
    (first, *others) = sorted(tolerant.status(), key=lambda status: -status.rows_error)
    assert (first.topic, first.partition, first.rows_error, first.offset_token) == (bad, 0, 1, "3")
    assert [status.rows_error for status in others] == [0, 0, 0]


def test_without_tolerance_a_record_that_is_no_object_fails_as_5015(
    connect, numbers: MakeNumbers, rows, broker: KafkaBroker
):
    topic = numbers()
    produce(broker.bootstrap_servers, topic, ["no json"])

    connector = connect(topic)
    until_state(connector, "FAILED")

    assert type(connector.error) is InvalidRecord
    assert "[5015]" in str(connector.error)
    assert "column" not in str(connector.error)
    assert rows(topic) == []
    assert tokens(connector) == {0: "-1"}


@pytest.mark.parametrize("at", [0, 10])
def test_a_bad_record_in_a_range_split_over_tasks_loses_and_doubles_nothing(
    connect, numbers: MakeNumbers, rows, at: int, broker: KafkaBroker
):
    """The later piece of the hot partition shares its task with good rows of another one."""
    servers, topic, wide = broker.bootstrap_servers, numbers(partitions=3), 5 * SPLIT // (2 * LARGE)
    connector = connect(topic)
    produce(servers, topic, [_large(0)], partition=1)  # so that the size of records is known
    caught_up(connector)
    connector.pause()
    until_state(connector, "PAUSED")
    produce(servers, topic, [_large(number) for number in range(1, 21)], partition=1)
    produce(servers, topic, [_large(number) for number in range(100, 120)], partition=2)
    hot = [_large(number) for number in range(1000, 1000 + wide)]
    produce(servers, topic, [*hot[:at], '{"n": "bad"}', *hot[at:]], partition=0)
    waiting = [_range(topic, 0, 0, wide + 1), _range(topic, 1, 1, 21), _range(topic, 2, 0, 20)]
    tasks = spread(waiting, {topic: float(LARGE)}, 2)
    assert [[each.partition.partition for each in task] for task in tasks] in ([[0, 1], [0, 2]], [[0, 2], [0, 1]])

    connector.resume()
    until_state(connector, "FAILED", seconds=120)

    good = [*range(21), *range(100, 120)]
    assert [row["n"] for row in rows(topic)] == [*range(1000, 1000 + at), *good]
    assert tokens(connector) == {0: str(at - 1), 1: "20", 2: "19"}

    caught_up(connect(topic, **{"errors.tolerance": "all"}), 120)
    assert [row["n"] for row in rows(topic)] == [*range(1000, 1000 + wide), *good]


def test_with_tolerance_rejects_are_counted_and_listed_commit_by_commit_with_their_codes(
    connect, numbers: MakeNumbers, rows, broker: KafkaBroker
):
    servers, topic = broker.bootstrap_servers, numbers(partitions=2)
    connector = connect(topic, **{"errors.tolerance": "all"})
    produce(servers, topic, ['{"n": 1}', '{"n": 1.5}', "[]", b"\xff", '{"m": 1}', '{"n": 2}'], partition=0)
    caught_up(connector)
    produce(servers, topic, ["{", '{"n": 3}'], partition=1)
    caught_up(connector)

    assert [row["n"] for row in rows(topic)] == [1, 2, 3]
    assert [status.rows_error for status in connector.status()] == [4, 1]
    assert [status.rows_parsed for status in connector.status()] == [6, 2]
    (opened,) = connector._ingestion.tables.values()
    newest, *older = undelivered(opened.table, opened.tokens.rejects)
    assert newest.previous == older[0].path
    files = [name.removeprefix("file:") for listed in (newest, *older) for name in listed.files]
    found = duckdb.execute(
        'SELECT partition, "offset", stage, code, "column" FROM read_parquet(?) ORDER BY ALL', [files]
    ).fetchall()
    assert found == [
        (0, 1, "project", "5030", "n"),
        (0, 2, "project", "5015", None),
        (0, 3, "convert", "5015", None),
        (0, 4, "project", "5030", "n"),
        (1, 0, "project", "5015", None),
    ]


@pytest.mark.parametrize("messages", ["false", "true"])
def test_a_reason_is_logged_once_and_shows_what_records_hold_only_if_asked(
    connect, numbers: MakeNumbers, messages: str, broker: KafkaBroker
):
    topic = numbers()
    settings = {"errors.tolerance": "all", "errors.log.enable": "true", "errors.log.include.messages": messages}
    with capture_logs() as logged:
        connector = connect(topic, **settings)
        for number in range(3):
            values = [f'{{"n": "secret {number} {row}"}}' for row in range(4)]
            produce(broker.bootstrap_servers, topic, [*values, f"secret {number}"])
            caught_up(connector)
        connector.stop()

    lines = [line for line in logged if line["event"] == "records were rejected"]
    assert sorted(line["code"] for line in lines) == ["5015", "5015", "5030", "5030"]
    assert sum(line["count"] for line in lines) == 15
    assert min(line["first"] for line in lines) == f"{topic}-0 at offset 0"
    assert ("secret" in json.dumps(logged)) == (messages == "true")


def test_a_log_of_rejects_is_not_kept_unless_asked_for(connect, numbers: MakeNumbers, broker: KafkaBroker):
    topic = numbers()
    produce(broker.bootstrap_servers, topic, ['{"n": "secret"}'])

    with capture_logs() as logged:
        connector = connect(topic, **{"errors.tolerance": "all"})
        caught_up(connector)
        connector.stop()

    assert "secret" not in json.dumps(logged)
    assert "rejected" not in json.dumps(logged)


@pytest.mark.long
def test_a_topic_of_which_every_record_is_rejected_is_read_in_bounded_memory(broker: KafkaBroker, tmp_path: Path):
    create_topic(broker.bootstrap_servers, "refuse")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 20, "compression.type": "lz4"})
    for number in range(MANY):
        wait_until(lambda number=number: _sent(producer, f"refuse {number}"), "the producer's queue")
    producer.flush()
    file = write_properties(
        tmp_path / "refuse.properties",
        name="refuse",
        topics="refuse",
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        errors__tolerance="all",
        errors__log__enable="true",
    )
    log = tmp_path / "log"
    running = Running([FRAZIL, "run", "--until-caught-up", "--home", str(tmp_path / "home"), str(file)], log)

    peak = peak_of_workers(running)

    assert running.ended(300) == 0, log.read_text()
    metadata = iceberg.read_metadata(iceberg.current_metadata(tmp_path / "home/catalog.db", "public", "REFUSE"))
    assert iceberg.data_files(metadata) == []
    found = duckdb.execute(
        'SELECT count(*), count(DISTINCT "offset") FROM read_parquet(?)', [_listed(metadata, "REFUSE")]
    ).fetchone()
    assert found == (MANY, MANY), log.read_text()
    assert 0 < log.read_text().count("records were rejected") < 10, log.read_text()
    assert 0 < peak < MOST


def _large(number: int) -> str:
    return json.dumps({"n": number, "fill": "x" * LARGE})


def _range(topic: str, partition: int, start: int, end: int) -> Range:
    return offsets(SourcePartition(topic, partition), start, end)


def _listed(metadata: dict[str, Any], connector: str) -> list[str]:
    """The reject files of all commits, as the tokens and the lists they lead to name them."""
    text = metadata["properties"][f"frazil.tokens.{connector}"]
    path, files = json.loads(zlib.decompress(base64.b64decode(text)))["rejects"], []
    while path:
        listed = json.loads(iceberg.local(path).read_text())
        files += [str(iceberg.local(file)) for file in listed["files"]]
        path = listed["previous"]
    return files


def _sent(producer: Producer, value: str) -> bool:
    try:
        producer.produce("refuse", value, partition=0)
    except BufferError:
        producer.poll(0.1)
        return False
    return True
