"""Waves of new keys on a table that holds rows: each record lands once, with all its values, older rows have none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from tests.integration.conftest import Connect
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import Running, frazil, write_properties
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.faults import Point
from frazil.tables.jvm.session import EMBEDDED
from frazil.testing import iceberg
from frazil.testing.crash import call_at
from frazil.testing.oracle import verify
from frazil.testing.topics import create_topic

pytestmark = pytest.mark.slow

PARTITIONS = 3
RECORDS = 200
"""Records of one wave in one partition."""

KILLED_AT: list[Point] = ["before_evolve", "after_evolve", "before_swap"]
"""Where the process that first meets a wave is killed."""


AT_ONCE = 20
"""Records of a partition that are sent together."""


def send(broker: KafkaBroker, topic: str, wave: int) -> None:
    """Produce records that have keys of their own wave and of all before, a few of each partition in turn."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True, "linger.ms": 1})
    for number in range(RECORDS):
        value = json.dumps(
            {"wave": wave, "number": number, **{f"key_{each}": number + 0.5 for each in range(wave + 1)}}
        )
        for partition in range(PARTITIONS):
            producer.produce(topic, value, partition=partition)
        if number % AT_ONCE == 0:
            producer.flush()
    assert producer.flush(60) == 0


def expected(waves: int) -> list[dict[str, int]]:
    """Rows of each wave, and how many of them have each key."""
    total = RECORDS * PARTITIONS
    return [
        {"wave": wave, "found": total, **{f"found_{key}": total if key <= wave else 0 for key in range(waves)}}
        for wave in range(waves)
    ]


def counts(waves: int, table: str) -> str:
    found = ", ".join(f"count(key_{key}) AS found_{key}" for key in range(waves))
    return f"SELECT wave, count(*) AS found, {found} FROM {table} GROUP BY wave ORDER BY wave"


def test_waves_of_new_keys_land_exactly_once_whatever_kills_the_process(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = create_topic(broker.bootstrap_servers, f"waves_{uuid4().hex[:8]}", PARTITIONS)
    home = tmp_path / "home"
    file = write_properties(
        tmp_path / "waves.properties",
        name="waves",
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        frazil__commit__interval__ms="200",
        frazil__home=str(home),
    )
    send(broker, topic, 0)
    assert frazil("run", "--until-caught-up", file).returncode == 0

    for wave, point in enumerate(KILLED_AT, 1):
        log = tmp_path / f"wave-{wave}.log"
        command = [sys.executable, "-m", "frazil.testing.run", "--crash-at", point]
        hit = ["--hit", "2"] if point == "before_swap" else []  # the first swap is the open
        running = Running([*command, *hit, "--", "run", str(file)], log)
        running.until_it_says("opened a table")
        send(broker, topic, wave)
        assert running.ended(180) == -9, log.read_text()
    last = frazil("run", "--until-caught-up", file)

    assert last.returncode == 0, last.stderr
    waves = len(KILLED_AT) + 1
    told = frazil("sql", counts(waves, topic), "--format", "json", "--home", home)
    assert json.loads(told.stdout.lower()) == expected(waves), told.stderr
    metadata = iceberg.current_metadata(home / "catalog.db", "public", topic.upper())
    assert verify(metadata, "WAVES", topic, values=False).clean
    # That of the new table, that of its first records, and one for each wave.
    assert len(json.loads(Path(metadata).read_text())["schemas"]) == 2 + len(KILLED_AT)


def by_wave(spark: SparkSession, waves: int, topic: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in spark.sql(counts(waves, f"{EMBEDDED}.public.{topic.upper()}")).collect()]


@pytest.mark.parametrize(
    "statement",
    [
        "ADD COLUMN key_1 DOUBLE",
        "ADD COLUMN key_1 DOUBLE, other STRING",
        "ADD COLUMN other BIGINT",
        "RENAME COLUMN number TO n",
    ],
)
def test_a_column_that_spark_adds_at_that_moment_is_no_error(
    connect: Connect, spark: SparkSession, broker: KafkaBroker, make_topic: Any, statement: str
) -> None:
    topic = make_topic(PARTITIONS)
    send(broker, topic, 0)
    connector = connect(topic)
    caught_up(connector)
    table = f"{EMBEDDED}.public.{topic.upper()}"

    verb, _, columns = statement.partition(" COLUMN ")
    written = f"ALTER TABLE {table} {verb} COLUMN{'S (' + columns + ')' if verb == 'ADD' else ' ' + columns}"
    with call_at("before_evolve", lambda: spark.sql(written), 1):
        send(broker, topic, 1)
        caught_up(connector)
    send(broker, topic, 2)
    caught_up(connector)

    assert by_wave(spark, 3, topic) == expected(3)


def test_two_connectors_that_change_one_table_at_once_land_all_of_both(
    connect: Connect, spark: SparkSession, broker: KafkaBroker, make_topic: Any
) -> None:
    one, other = make_topic(PARTITIONS), make_topic(PARTITIONS)
    together = {"snowflake.topic2table.map": f"{one}:{one},{other}:{one}"}
    connectors = [connect(one, **together), connect(other, **together)]
    for wave in range(3):
        for topic in (one, other):
            send(broker, topic, wave)
    for connector in connectors:
        caught_up(connector)

    twice = [{key: 2 * value if key != "wave" else value for key, value in each.items()} for each in expected(3)]
    assert by_wave(spark, 3, one) == twice
