"""Tables that are dropped, replaced or copied behind the connector's back, and what a person may say to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.commands import Desk
from tests.integration.conftest import Connect
from tests.support.sending import numbers, send
from tests.support.waiting import caught_up, until_state

from frazil.connector.adopting import AdoptedTable
from frazil.dev.kafka import KafkaBroker
from frazil.errors import OwnerRuns, ResetRefused, TableReplaced, TokensMissing
from frazil.testing.topics import wait_until

RECALL_EVERY = "frazil.cycle.protocol._RECALL_EVERY"
"""How long an idle connector takes to look at its tables: nobody here waits for half a minute."""

MISSING, REPLACED = "frazil.on.table.missing", "frazil.on.table.replaced"


@pytest.fixture
def desk(spark: SparkSession, lake: Path, connect: Connect, tmp_path: Path) -> Desk:
    return Desk(spark, lake, connect, tmp_path)


def test_a_table_dropped_while_nothing_runs_is_missed_until_it_is_said_where_a_new_one_begins(
    connect, topic, rows, spark: SparkSession, broker: KafkaBroker
):
    send(broker, topic, range(10))
    first = connect(topic, name="dropped")
    caught_up(first)
    first.stop()
    spark.sql(f"DROP TABLE {table(topic)}")

    failing = connect(topic, name="dropped")
    until_state(failing, "FAILED")
    assert isinstance(failing.error, TokensMissing)
    assert f"stands at offset 10 of {topic}-0" in str(failing.error)
    assert not spark.catalog.tableExists(table(topic))

    send(broker, topic, range(10, 12))
    going_on = connect(topic, name="dropped", **{MISSING: "continue"})
    caught_up(going_on)
    assert numbers(rows(topic)) == [10, 11]
    going_on.stop()
    spark.sql(f"DROP TABLE {table(topic)}")
    caught_up(connect(topic, name="dropped", **{MISSING: "earliest"}))
    assert numbers(rows(topic)) == list(range(12))


def test_a_table_dropped_while_the_connector_is_idle_is_made_again_where_that_is_wanted(
    connect, topic, rows, monkeypatch: pytest.MonkeyPatch, spark: SparkSession, broker: KafkaBroker
):
    monkeypatch.setattr(RECALL_EVERY, 0.2)
    send(broker, topic, range(10))
    connector = connect(topic, **{MISSING: "earliest"})
    caught_up(connector)

    spark.sql(f"DROP TABLE {table(topic)}")
    wait_until(lambda: spark.catalog.tableExists(table(topic)), "the table to be made again")
    send(broker, topic, range(10, 12))
    wait_until(lambda: connector.status() and connector.status()[0].offset_token == "11", "all to land again")

    assert str(connector.state) == "RUNNING"
    assert numbers(rows(topic)) == list(range(12))


@pytest.mark.parametrize("statement", ["CREATE OR REPLACE TABLE {} (n BIGINT, RECORD_METADATA STRUCT<partition: INT, offset: BIGINT>) USING iceberg", "CREATE OR REPLACE TABLE {} USING iceberg AS SELECT CAST(-1 AS BIGINT) AS n"])  # fmt: skip
def test_a_table_replaced_in_place_while_it_is_written_stops_the_connector_until_it_is_said_what_it_is_to_hold(
    connect, topic, spark: SparkSession, broker: KafkaBroker, statement: str
):
    send(broker, topic, range(10))
    connector = connect(topic, name=f"replaced-{topic}")
    caught_up(connector)
    connector.pause()
    until_state(connector, "PAUSED")

    spark.sql(statement.format(table(topic)))
    before = spark.table(table(topic)).count()
    send(broker, topic, range(10, 12))
    connector.resume()
    until_state(connector, "FAILED")
    assert isinstance(connector.error, TableReplaced)
    assert spark.table(table(topic)).count() == before

    again = connect(topic, name=f"replaced-{topic}", **{REPLACED: "continue"})
    caught_up(again)
    assert sorted(row.n for row in spark.table(table(topic)).select("n").collect() if row.n >= 0) == [10, 11]


def test_a_copy_takes_over_the_tokens_and_the_connector_goes_on_there(
    desk: Desk, topic, rows, spark: SparkSession, broker: KafkaBroker
):
    send(broker, topic, range(10))
    connector = desk.run(topic, "copied")
    caught_up(connector)
    copy = f"{topic}_copy".upper()

    spark.sql(f"CREATE TABLE {table(copy)} USING iceberg AS SELECT * FROM {table(topic)}")
    with pytest.raises(OwnerRuns):
        desk.adopter.adopt(copy, AdoptedTable(topic), None, dry=False, force=False)
    connector.stop()
    with pytest.raises(ResetRefused, match="has no tokens"):
        desk.adopter.adopt(copy, AdoptedTable(), None, dry=False, force=False)
    planned = desk.adopter.adopt(copy, AdoptedTable(topic), None, dry=True, force=False)
    adopted = desk.adopter.adopt(copy, AdoptedTable(topic), None, dry=False, force=False)
    assert planned.entries == adopted.entries == f'{topic}:"{copy}"'

    send(broker, topic, range(10, 12))
    again = desk.run(topic, "copied", **{"snowflake.topic2table.map": adopted.entries})
    caught_up(again)
    assert (numbers(rows(copy)), numbers(rows(topic))) == (list(range(12)), list(range(10)))
    again.stop()
    with pytest.raises(ResetRefused, match=rf"{copy} is ahead .*{topic}-0 is at 11"):
        desk.adopter.adopt(copy, AdoptedTable(topic), None, dry=False, force=False)


def test_adopting_as_a_user_types_it(
    desk: Desk,
    topic,
    spark: SparkSession,
    broker: KafkaBroker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    send(broker, topic, range(10))
    connector = desk.run(topic, "typed")
    caught_up(connector)
    connector.stop()
    copy = f"{topic}_copy".upper()
    spark.sql(f"CREATE TABLE {table(copy)} USING iceberg AS SELECT * FROM {table(topic)}")
    monkeypatch.setattr("frazil.cli.adopt.open_catalog", desk.opened)
    capsys.readouterr()

    command = ["channels", "adopt", copy, "--from", topic]
    planned = desk.type(*command, "--dry-run")
    shown = capsys.readouterr().out
    done = desk.type(*command, "--format", "json")
    told = json.loads(capsys.readouterr().out)

    assert (planned, done) == (0, 0)
    for line in (f"public.{copy} would take over the tokens of TYPED", f'snowflake.topic2table.map={topic}:"{copy}"'):
        assert line in shown
    assert (told["offset_tokens"], told["taken_from"]) == ({topic: ["9"]}, f"public.{topic.upper()}")
    (audit,) = spark.sql(
        f"SELECT summary['frazil.adopt'] AS t FROM {table(copy)}.snapshots ORDER BY 1 DESC LIMIT 1"
    ).collect()
    assert json.loads(audit.t)["source"] == f"public.{topic.upper()}"


def test_a_copy_of_a_table_that_went_on_takes_the_tokens_of_the_snapshot_that_was_copied(
    desk: Desk, topic, rows, spark: SparkSession, broker: KafkaBroker
):
    send(broker, topic, range(10))
    connector = desk.run(topic, "went-on")
    caught_up(connector)
    (copied,) = spark.sql(f"SELECT snapshot_id FROM {table(topic)}.refs WHERE name = 'main'").collect()
    copy = f"{topic}_copy".upper()
    spark.sql(f"CREATE TABLE {table(copy)} USING iceberg AS SELECT * FROM {table(topic)} VERSION AS OF {copied[0]}")
    send(broker, topic, range(10, 15))
    caught_up(connector)
    connector.stop()

    with pytest.raises(ResetRefused, match=r"after .* was made, and are not in it"):
        desk.adopter.adopt(copy, AdoptedTable(topic), None, dry=False, force=False)
    adopted = desk.adopter.adopt(copy, AdoptedTable(topic, copied[0]), "went-on", dry=False, force=False)
    caught_up(desk.run(topic, "went-on", **{"snowflake.topic2table.map": adopted.entries}))

    assert numbers(rows(copy)) == list(range(15))


def test_a_table_rewritten_in_place_by_its_own_rows_takes_its_tokens_back(
    desk: Desk, topic, rows, spark: SparkSession, broker: KafkaBroker
):
    send(broker, topic, range(10))
    connector = desk.run(topic, "rewritten")
    caught_up(connector)
    connector.stop()
    spark.sql(f"CREATE TABLE {table(topic)}_kept USING iceberg AS SELECT * FROM {table(topic)}")
    spark.sql(f"CREATE OR REPLACE TABLE {table(topic)} USING iceberg AS SELECT * FROM {table(topic)}_kept")

    adopted = desk.adopter.adopt(f"public.{topic.upper()}", AdoptedTable(), None, dry=False, force=False)
    send(broker, topic, range(10, 12))
    caught_up(desk.run(topic, "rewritten"))

    assert adopted.taken_from == "its own properties"
    assert numbers(rows(topic)) == list(range(12))


def table(topic: str) -> str:
    return f"frazil.public.{topic.upper()}"
