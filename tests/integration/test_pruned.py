"""Tokens of topics that a real broker has deleted: dropped by a running connector, and by `frazil channels prune`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.commands import Desk
from tests.integration.conftest import Connect
from tests.support.sending import numbers, send
from tests.support.waiting import caught_up

from frazil import Connector
from frazil.connector.amending import who
from frazil.dev.kafka import KafkaBroker
from frazil.testing.topics import create_topic, delete_topic, wait_until


@pytest.fixture
def desk(spark: SparkSession, lake: Path, connect: Connect, tmp_path: Path) -> Desk:
    return Desk(spark, lake, connect, tmp_path)


def run_both(desk: Desk, staying: str, going: str, **settings: str) -> Connector:
    """Run a connector that lands two topics in the table of the first."""
    into = {"snowflake.topic2table.map": f"{staying}:{staying.upper()},{going}:{staying.upper()}"}
    connector = desk.run(f"{staying},{going}", f"c-{staying}", **into, **settings)
    caught_up(connector)
    return connector


def topics_of(connector: Connector) -> set[str]:
    return {status.topic for status in connector.status()}


def audits(spark: SparkSession, topic: str) -> list[dict]:
    """What the snapshots of a topic's table say of tokens that were dropped."""
    texts = spark.sql(f"SELECT summary['frazil.prune'] AS text FROM frazil.public.{topic.upper()}.snapshots").collect()
    return [json.loads(each.text) for each in texts if each.text]


def test_the_command_drops_what_is_gone(
    desk: Desk,
    make_topic,
    rows,
    spark: SparkSession,
    broker: KafkaBroker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr("frazil.cli.prune.open_catalog", desk.opened)
    staying, going = make_topic(), make_topic()
    send(broker, staying, [1, 2])
    send(broker, going, [11, 12, 13])
    connector = run_both(desk, staying, going)
    name = connector.settings.name

    running = desk.type("channels", "prune", name)
    connector.stop()
    capsys.readouterr()
    nothing = desk.type("channels", "prune", name)
    kept = capsys.readouterr().out
    delete_topic(broker.bootstrap_servers, going)
    planned = desk.type("channels", "prune", name, "--dry-run")
    shown = capsys.readouterr().out
    assert audits(spark, staying) == []
    done = desk.type("channels", "prune", name, "--reason", "a test", "--format", "json")
    told = json.loads(capsys.readouterr().out)
    unknown = desk.type("channels", "prune", "nobody")

    assert (running, nothing, planned, done, unknown) == (1, 0, 0, 0, 1)
    assert "There is nothing to drop" in kept
    assert "this was a dry run" in shown
    assert going in shown
    assert told == [
        {
            "connector": connector.settings.key,
            "channel": f"{connector.settings.key}_{going}_0",
            "topic": going,
            "partition": 0,
            "table": f"public.{staying.upper()}",
            "offset_token_before": "2",
        }
    ]
    (audit,) = audits(spark, staying)
    assert (audit["command"], audit["by"], audit["reason"]) == ("frazil channels prune", who(), "a test")
    assert {topic: known["tokens"] for topic, known in audit["topics"].items()} == {going: ["2"]}

    create_topic(broker.bootstrap_servers, going)
    send(broker, going, [21, 22])
    send(broker, staying, [3])
    run_both(desk, staying, going)
    assert numbers(rows(staying)) == [1, 2, 3, 11, 12, 13, 21, 22]


def test_a_running_connector_drops_them_by_itself_and_reads_a_topic_made_again_from_its_start(
    desk: Desk, make_topic, rows, spark: SparkSession, broker: KafkaBroker
):
    staying, going = make_topic(), make_topic()
    send(broker, staying, [1, 2])
    send(broker, going, [11, 12, 13])
    connector = run_both(desk, staying, going, **{"frazil.tokens.retention": "1s"})

    delete_topic(broker.bootstrap_servers, going)
    wait_until(lambda: topics_of(connector) == {staying}, "the tokens to be dropped")
    create_topic(broker.bootstrap_servers, going)
    send(broker, going, [21, 22])
    wait_until(lambda: topics_of(connector) == {staying, going}, "the topic to be opened")
    send(broker, staying, [3])
    caught_up(connector)

    assert numbers(rows(staying)) == [1, 2, 3, 11, 12, 13, 21, 22]
    (audit,) = audits(spark, staying)
    assert audit["command"] == "frazil.tokens.retention"
    assert list(audit["topics"]) == [going]
