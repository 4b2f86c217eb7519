"""Error tables: what was rejected is there once, with its bytes, whatever ends the process."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import Running, frazil, write_properties
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.faults import Point
from frazil.testing.records import produce, read
from frazil.testing.topics import create_topic, wait_until

ASIDE = {"errors.tolerance": "all", "frazil.errors.table": "true"}


def errors_of(spark: SparkSession, topic: str) -> list[dict[str, Any]]:
    found = spark.sql(f"SELECT * FROM frazil.public.{topic.upper()}_ERRORS ORDER BY partition, offset").collect()
    return [row.asDict(recursive=True) for row in found]


def test_rejected_records_are_in_the_error_table_with_all_that_they_were(
    connect, topic, rows, spark: SparkSession, broker: KafkaBroker
):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'])
    connector = connect(topic, **ASIDE)
    caught_up(connector)
    produce(
        broker.bootstrap_servers,
        topic,
        [b'{"n": "x"}', b"\xff{", '{"n": 2}'],
        keys=[b"k", None, None],
        headers=[("h", b"1"), ("h", None)],
        timestamp=1_700_000_000_123,
    )

    caught_up(connector)

    assert sorted(row["n"] for row in rows(topic)) == [1, 2]
    wait_until(lambda: spark.catalog.tableExists(f"frazil.public.{topic.upper()}_ERRORS"), "the error table")
    wait_until(lambda: len(errors_of(spark, topic)) == 2, "both rejected records")
    first, second = errors_of(spark, topic)
    assert {name: first[name] for name in ("connector", "topic", "partition", "offset", "stage", "code", "column")} == {
        "connector": connector.settings.name, "topic": topic, "partition": 0, "offset": 1,
        "stage": "project", "code": "5030", "column": "n",
    }  # fmt: skip
    assert (bytes(first["key"]), bytes(first["value"])) == (b"k", b'{"n": "x"}')
    assert [(each["name"], each["value"]) for each in first["headers"]] == [("h", bytearray(b"1")), ("h", None)]
    assert (first["timestamp"].timestamp(), first["rejected_at"] > first["timestamp"]) == (1_700_000_000.123, True)
    assert (second["offset"], bytes(second["value"]), second["stage"], second["code"]) == (
        2,
        b"\xff{",
        "convert",
        "5015",
    )
    assert first["commit"] == second["commit"]


def test_an_error_table_that_is_partitioned_later_takes_what_is_rejected_then(
    connect, topic, spark: SparkSession, broker: KafkaBroker
):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}', "no"])
    connector = connect(topic, **ASIDE)
    caught_up(connector)
    errors = f"frazil.public.{topic.upper()}_ERRORS"
    wait_until(lambda: spark.catalog.tableExists(errors), "the error table")
    spark.sql(f"ALTER TABLE {errors} ADD PARTITION FIELD days(rejected_at)")
    spark.sql(f"ALTER TABLE {errors} WRITE ORDERED BY offset DESC")

    produce(broker.bootstrap_servers, topic, ["no more", "nor this"])
    caught_up(connector)

    wait_until(lambda: len(errors_of(spark, topic)) == 3, "all rejected records")
    found = spark.sql(
        f"SELECT offset FROM {errors} WHERE rejected_at > TIMESTAMP '2020-01-01' ORDER BY offset"
    ).collect()
    assert [row["offset"] for row in found] == [1, 2, 3]
    # The two that came later may have been rejected in one commit or in two.
    specs = spark.sql(f"SELECT offset, _spec_id FROM {errors} ORDER BY offset").collect()
    assert [row["_spec_id"] > 0 for row in specs] == [False, True, True]


def test_rejected_records_go_to_the_dead_letter_topic_as_they_came(connect, topic, broker: KafkaBroker):
    dead, at = topic + "_dead", time.time_ns() // 1_000_000 - 5000
    aside = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'])
    connector = connect(topic, **aside)
    caught_up(connector)
    for values in ([b'{"n": "x"}', '{"n": 2}'], [b"\xff"]):
        keys = [b"k"] * len(values)
        own = [("h", b"1"), ("__connect.errors.topic", b"payments")]
        produce(broker.bootstrap_servers, topic, values, keys=keys, headers=own, timestamp=at)
        caught_up(connector)

    wait_until(lambda: len(read(broker.bootstrap_servers, dead)) == 2, "both rejected records")
    first, second = read(broker.bootstrap_servers, dead)

    assert (first.value(), first.key(), first.timestamp()[1]) == (b'{"n": "x"}', b"k", at)
    assert second.value() == b"\xff"
    plain, forged, *context = first.headers()
    assert (plain, forged) == (("h", b"1"), ("__frazil.own.__connect.errors.topic", b"payments"))
    assert len({name for name, _ in context}) == len(context)
    told = {name.removeprefix("__connect.errors."): value.decode() for name, value in context}
    assert {key: told[key] for key in ("topic", "partition", "offset", "connector.name", "stage")} == {
        "topic": topic, "partition": "0", "offset": "1", "connector.name": connector.settings.name, "stage": "TASK_PUT",
    }  # fmt: skip
    assert told["exception.message"].startswith("n: ")
    assert dict(second.headers())["__connect.errors.stage"] == b"VALUE_CONVERTER"


def test_a_dead_letter_topic_that_cannot_be_made_costs_nothing_but_the_delivery(
    connect, topic, rows, broker: KafkaBroker
):
    dead = topic + "_dead"
    aside = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dead}  # three brokers are to have it
    produce(broker.bootstrap_servers, topic, ['{"n": 1}', "no", '{"n": 2}'])

    connector = connect(topic, **aside)
    caught_up(connector)

    assert sorted(row["n"] for row in rows(topic)) == [1, 2]
    connector.stop()
    create_topic(broker.bootstrap_servers, dead, 1)
    caught_up(connect(topic, **aside))
    wait_until(
        lambda: [each.value() for each in read(broker.bootstrap_servers, dead)] == [b"no"], "the rejected record"
    )


@pytest.mark.slow
def test_a_kill_around_the_delivery_leaves_each_reject_in_the_table_once_and_in_the_topic(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    topic = create_topic(broker.bootstrap_servers, f"rejected_{uuid4().hex[:8]}", 2)
    home = tmp_path / "home"
    file = write_properties(
        tmp_path / "rejected.properties",
        name="rejected",
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        errors__tolerance="all",
        errors__deadletterqueue__topic__name=f"{topic}_dead",
        errors__deadletterqueue__topic__replication__factor="1",
        frazil__errors__table="true",
        frazil__home=str(home),
    )
    produce(broker.bootstrap_servers, topic, ['{"n": 0}'])
    assert frazil("run", "--until-caught-up", file).returncode == 0
    points: list[Point] = ["after_swap", "before_delivery", "after_append", "after_delivery", "before_swap"]
    for number, point in enumerate(points):
        for partition in range(2):
            values = [f'{{"n": "bad {number} {partition}"}}', f'{{"n": {number}}}']
            produce(broker.bootstrap_servers, topic, values, partition=partition)
        log = tmp_path / f"{point}.log"
        hit = ["--hit", "2"] if point == "before_swap" else []  # the first swap is the open
        command = [sys.executable, "-m", "frazil.testing.run", "--crash-at", point, *hit, "--", "run", str(file)]
        assert Running(command, log).ended(180) == -9, log.read_text()

    assert frazil("run", "--until-caught-up", file).returncode == 0

    asked = f"SELECT count(*), count(DISTINCT topic, partition, offset) FROM {topic}_errors"
    told = frazil("sql", asked, "--format", "csv", "--home", home)
    assert told.stdout.split()[-1] == f"{2 * len(points)},{2 * len(points)}", told.stderr
    bad = {f'{{"n": "bad {number} {partition}"}}' for number in range(len(points)) for partition in range(2)}
    assert {each.value().decode() for each in read(broker.bootstrap_servers, f"{topic}_dead")} == bad
    rows = frazil("sql", f"SELECT count(*) FROM {topic}", "--format", "csv", "--home", home)
    assert rows.stdout.split()[-1] == str(1 + 2 * len(points))
