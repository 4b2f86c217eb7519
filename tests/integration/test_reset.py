"""`frazil channels reset`: where channels go on, who may say so, and what is written down."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.commands import Desk
from tests.integration.conftest import Connect
from tests.support.channels import at
from tests.support.sending import numbers, send
from tests.support.waiting import caught_up, tokens, until_state

from frazil import Connector
from frazil.connector.amending import who
from frazil.connector.resetting import Where
from frazil.dev.kafka import KafkaBroker
from frazil.errors import Fenced, OwnerRuns, ResetRefused, TokensUncertain
from frazil.testing.records import produce
from frazil.testing.topics import delete_records, wait_until

RECALL_EVERY = "frazil.cycle.protocol._RECALL_EVERY"


@pytest.fixture
def desk(spark: SparkSession, lake: Path, connect: Connect, tmp_path: Path) -> Desk:
    return Desk(spark, lake, connect, tmp_path)


@pytest.fixture
def landed(desk: Desk, make_topic, broker: KafkaBroker, request: pytest.FixtureRequest) -> Connector:
    """A connector, named after the test, that has landed two partitions and is stopped."""
    topic = make_topic(partitions=2)
    for partition in (0, 1):
        send(broker, topic, range(10), partition=partition)
    connector = desk.run(topic, f"c-{topic}")
    caught_up(connector)
    connector.stop()
    return connector


def test_a_channel_goes_on_where_it_is_told_and_the_snapshot_says_who_said_so(
    desk: Desk, landed: Connector, rows, spark: SparkSession
):
    (topic,) = landed.settings.source.topics
    channel = f"{landed.settings.key}_{topic}_1"

    (planned,) = desk.reset(channel, Where(offset=7), dry=True)
    assert [(move.before, move.after, move.again) for move in planned.moves] == [(at(10), at(7), 3)]
    assert audits(spark, topic) == []

    desk.reset(channel, Where(offset=7), reason="a test")
    again = desk.run(topic, landed.settings.name)
    caught_up(again)

    assert numbers(rows(topic), 0) == list(range(10))
    assert numbers(rows(topic), 1) == [*range(7), 7, 7, 8, 8, 9, 9]
    (audit,) = audits(spark, topic)
    assert (audit["command"], audit["by"], audit["to"], audit["reason"]) == (
        "frazil channels reset",
        who(),
        "offset 7",
        "a test",
    )
    assert audit["tokens"] == {f"{topic}-1": {"from": "9", "to": "6"}}


def test_a_table_that_cannot_be_read_does_not_stand_in_the_way_of_the_others(
    desk: Desk, landed: Connector, lake: Path, spark: SparkSession, tmp_path: Path
):
    (topic,) = landed.settings.source.topics
    spark.sql("CREATE TABLE frazil.public.UNREADABLE (n BIGINT) USING iceberg")
    metadata = lake / "warehouse" / "public" / "UNREADABLE" / "metadata"
    metadata.rename(tmp_path / "elsewhere")

    (done,) = desk.reset(landed.settings.name, Where(offset=7), topic=topic)

    (tmp_path / "elsewhere").rename(metadata)
    spark.sql("DROP TABLE frazil.public.UNREADABLE")
    assert [(move.before, move.after) for move in done.moves] == [(at(10), at(7)), (at(10), at(7))]


def test_all_channels_of_a_connector_skip_what_there_is(desk: Desk, landed: Connector, rows, broker: KafkaBroker):
    (topic,) = landed.settings.source.topics
    send(broker, topic, range(10, 15))

    desk.reset(landed.settings.name, Where(place="latest"))
    send(broker, topic, range(15, 16))
    again = desk.run(topic, landed.settings.name)
    caught_up(again)

    assert tokens(again) == {0: "15", 1: "9"}
    assert numbers(rows(topic), 0) == [*range(10), 15]


def test_a_moment_is_the_first_record_at_or_after_it_or_the_end(desk: Desk, make_topic, broker: KafkaBroker):
    topic = make_topic(partitions=2)
    moment = int(time.time() * 1000) - 60_000
    for n in range(4):
        produce(broker.bootstrap_servers, topic, [f'{{"n": {n}}}'], timestamp=moment + n * 1000)
    connector = desk.run(topic, "at-a-time")
    caught_up(connector)
    connector.stop()

    (done,) = desk.reset("at-a-time", Where(moment=moment + 1500))

    assert [move.after for move in done.moves] == [at(2), at(0)]
    (late,) = desk.reset("at-a-time", Where(moment=moment + 50_000), dry=True)
    assert [move.after for move in late.moves] == [at(4), at(0)]


def test_a_connector_that_runs_is_left_alone_unless_it_is_to_be_fenced(
    desk: Desk, topic, monkeypatch: pytest.MonkeyPatch, broker: KafkaBroker
):
    monkeypatch.setattr(RECALL_EVERY, 0.2)
    send(broker, topic, range(10))
    running = desk.run(topic, "runs")
    caught_up(running)

    with pytest.raises(OwnerRuns, match="--even-if-owned"):
        desk.reset("runs", Where(place="earliest"), dry=True)
    desk.reset("runs", Where(place="earliest"), force=True)
    until_state(running, "FENCED")

    assert isinstance(running.error, Fenced)
    assert f"{who()} with frazil channels reset" in str(running.error)


@pytest.mark.long
def test_resets_while_a_connector_commits_lose_nothing_and_land_nothing_twice_that_they_do_not_ask_for(
    desk: Desk, topic, rows, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, broker: KafkaBroker
):
    monkeypatch.setattr(RECALL_EVERY, 0.2)
    stop = threading.Event()
    sent: list[int] = []

    def produce_on() -> None:
        while not stop.wait(0.02):
            send(broker, topic, [len(sent)])
            sent.append(len(sent))

    running = desk.run(topic, "raced")
    caught_up(running)
    producing = threading.Thread(target=produce_on)
    producing.start()
    try:
        for place in ("latest", "earliest", "latest", "latest", "earliest"):
            desk.reset("raced", Where(place=place), force=True)
            until_state(running, "FENCED")
            running = desk.run(topic, "raced")
            began = len(sent)
            wait_until(lambda: len(sent) > began + 20, "records behind the reset")  # noqa: B023 (waited for at once)
    finally:
        stop.set()
        producing.join()
    caught_up(running)

    expected, start = Counter[int](), 0
    for audit in audits(spark, topic):
        ((token,),) = [audit["tokens"].values()]
        expected.update(range(start, int(token["from"]) + 1))
        start = int(token["to"]) + 1
    expected.update(range(start, len(sent)))
    assert Counter(numbers(rows(topic), 0)) == expected


def test_offsets_that_a_partition_does_not_have_are_refused(desk: Desk, landed: Connector, broker: KafkaBroker):
    (topic,) = landed.settings.source.topics
    delete_records(broker.bootstrap_servers, topic, 0, 4)

    for offset in (3, 11):
        with pytest.raises(ResetRefused, match=rf"{topic}-0 cannot go on at offset {offset}: .* from 4 up to 10"):
            desk.reset(f"{landed.settings.key}_{topic}_0", Where(offset=offset))
    with pytest.raises(ResetRefused, match="nobody"):
        desk.reset("nobody", Where(offset=5))


def test_a_table_rolled_back_past_its_tokens_goes_on_where_it_is_told(
    desk: Desk, topic, rows, spark: SparkSession, broker: KafkaBroker
):
    table = f"public.{topic.upper()}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(f"CREATE TABLE frazil.{table} (n BIGINT, RECORD_METADATA STRUCT<partition: INT, offset: BIGINT>)")
    spark.sql(f"INSERT INTO frazil.{table} (n) VALUES (-1)")
    (before,) = spark.sql(f"SELECT snapshot_id FROM frazil.{table}.refs WHERE name = 'main'").collect()
    send(broker, topic, range(5))
    connector = desk.run(topic, "rolled-back")
    caught_up(connector)
    connector.stop()
    spark.sql(f"CALL frazil.system.rollback_to_snapshot('{table}', {before[0]})")
    failing = desk.run(topic, "rolled-back")
    until_state(failing, "FAILED")
    assert failing.wait(60)  # its end is written down by then
    assert isinstance(failing.error, TokensUncertain)

    desk.reset("rolled-back", Where(place="earliest"))
    caught_up(desk.run(topic, "rolled-back"))

    assert sorted(row["n"] for row in rows(topic)) == [-1, *range(5)]


def test_the_command_as_a_user_types_it(
    desk: Desk, landed: Connector, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (topic,) = landed.settings.source.topics
    key = landed.settings.key
    monkeypatch.setattr("frazil.cli.reset.open_catalog", desk.opened)
    capsys.readouterr()

    planned = desk.type("channels", "reset", f"{key}_{topic}_1", "--to-offset", "8", "--dry-run")
    shown = capsys.readouterr().out
    done = desk.type("channels", "reset", landed.settings.name, "--to-earliest", "--format", "json")
    told = json.loads(capsys.readouterr().out)
    unknown = desk.type("channels", "reset", "nobody", "--to-latest")

    assert (planned, done, unknown) == (0, 0, 1)
    assert "2 offsets are read again" in shown
    assert "this was a dry run" in shown
    assert told[1] == {
        "connector": key,
        "channel": f"{key}_{topic}_1",
        "topic": topic,
        "partition": 1,
        "table": f"public.{topic.upper()}",
        "offset_token_before": "9",
        "offset_token": "-1",
        "other_topic": False,
        "offsets_again": 10,
        "offsets_skipped": 0,
    }
    assert "[reset_refused]" in capsys.readouterr().err


def audits(spark: SparkSession, topic: str) -> list[dict]:
    """What the snapshots of a topic's table say of resets."""
    texts = spark.sql(
        f"SELECT summary['frazil.reset'] AS text FROM frazil.public.{topic.upper()}.snapshots ORDER BY committed_at"
    ).collect()
    return [json.loads(each.text) for each in texts if each.text]
