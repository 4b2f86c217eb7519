"""Who may commit: rivals, unknown outcomes, and what happens to the table behind the connector's back."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession
from tests.support.sending import clean_rows, send
from tests.support.waiting import caught_up, tokens, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.errors import CycleCancelled, DataLoss, Fenced, TableReplaced, TokensUncertain
from frazil.tables.iceberg.swap import JvmSwap
from frazil.tables.iceberg.table import Table
from frazil.testing.crash import halt_at
from frazil.testing.topics import delete_records, wait_until


def test_the_newest_opener_of_a_name_wins_and_the_other_stops_for_good(connect, topic, judge, broker: KafkaBroker):
    send(broker, topic, range(10))
    older = connect(topic, name="rival")
    caught_up(older)

    newer = connect(topic, name="rival")
    caught_up(newer)
    send(broker, topic, range(10, 20))
    caught_up(newer)
    until_state(older, "FENCED")

    assert isinstance(older.error, Fenced)
    assert f"pid {os.getpid()}" in str(older.error)
    assert clean_rows(judge(newer, topic)) == 20


def test_a_rival_that_commits_between_plan_and_swap_wins_and_nothing_comes_twice(
    connect, topic, judge, broker: KafkaBroker
):
    send(broker, topic, range(5))
    older = connect(topic, name="halted")
    caught_up(older)
    with halt_at("before_swap") as gate:
        send(broker, topic, range(5, 15))
        assert gate.reached.wait(60)
        newer = connect(topic, name="halted")
        caught_up(newer)
    until_state(older, "FENCED")

    assert clean_rows(judge(newer, topic)) == 15


def test_a_foreign_append_between_plan_and_swap_costs_only_another_attempt(
    connect, topic, spark: SparkSession, broker: KafkaBroker
):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    table = f"frazil.public.{topic.upper()}"
    with halt_at("before_swap") as gate:
        send(broker, topic, range(5, 15))
        assert gate.reached.wait(60)
        spark.sql(f"INSERT INTO {table} (seq) VALUES (-1)")
    caught_up(connector)

    assert str(connector.state) == "RUNNING"
    seqs = sorted(row.seq for row in spark.table(table).select("seq").collect())
    assert seqs == [-1, *range(15)]


def test_a_commit_whose_outcome_the_catalog_does_not_tell_is_found_and_not_repeated(
    connect, topic, judge, monkeypatch, spark: SparkSession, broker: KafkaBroker
):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    lost = _lose_the_next_answer(monkeypatch, spark)

    send(broker, topic, range(5, 15))
    caught_up(connector)

    assert lost == ["answer"]
    assert clean_rows(judge(connector, topic)) == 15


def test_a_rollback_to_a_snapshot_of_ours_rolls_the_tokens_back_and_the_records_are_read_again(
    connect, topic, judge, spark: SparkSession, broker: KafkaBroker
):
    send(broker, topic, range(10))
    connector = connect(topic)
    caught_up(connector)
    table = f"public.{topic.upper()}"
    first = current_snapshot(spark, table)
    send(broker, topic, range(10, 20))
    caught_up(connector)
    connector.stop()

    spark.sql(f"CALL frazil.system.rollback_to_snapshot('{table}', {first})")
    assert spark.table(f"frazil.{table}").count() == 10
    again = connect(topic, name=connector.settings.name)
    caught_up(again)

    assert clean_rows(judge(again, topic)) == 20


def test_a_rollback_past_the_tokens_stops_with_a_named_error(connect, topic, spark: SparkSession, broker: KafkaBroker):
    table = f"public.{topic.upper()}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(f"CREATE TABLE frazil.{table} (seq BIGINT, RECORD_METADATA STRUCT<offset: BIGINT>) USING iceberg")
    spark.sql(f"INSERT INTO frazil.{table} (seq) VALUES (-1)")
    before = current_snapshot(spark, table)
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    connector.stop()

    spark.sql(f"CALL frazil.system.rollback_to_snapshot('{table}', {before})")
    again = connect(topic, name=connector.settings.name)
    until_state(again, "FAILED")

    assert isinstance(again.error, TokensUncertain)


def test_compaction_and_expiry_by_others_leave_the_tokens_in_the_mirror(
    connect, topic, judge, spark: SparkSession, broker: KafkaBroker
):
    table = f"public.{topic.upper()}"
    connector = connect(topic)
    for first in (0, 10, 20):
        send(broker, topic, range(first, first + 10))
        caught_up(connector)
    connector.stop()

    spark.sql(f"CALL frazil.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
    spark.sql(f"CALL frazil.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2100-01-01 00:00:00')")
    assert spark.table(f"frazil.{table}.snapshots").count() == 1
    send(broker, topic, range(30, 40))
    again = connect(topic, name=connector.settings.name)
    caught_up(again)

    assert clean_rows(judge(again, topic)) == 40


def test_a_table_replaced_while_running_stops_the_connector(connect, topic, spark: SparkSession, broker: KafkaBroker):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    table = f"frazil.public.{topic.upper()}"

    spark.sql(f"DROP TABLE {table}")
    spark.sql(f"CREATE TABLE {table} (seq BIGINT) USING iceberg")
    send(broker, topic, range(5, 10))
    until_state(connector, "FAILED")

    assert isinstance(connector.error, TableReplaced)
    assert spark.table(table).count() == 0


def test_records_that_retention_deleted_are_named_and_skipped_only_when_asked(
    connect, topic, rows, broker: KafkaBroker
):
    send(broker, topic, range(10))
    connector = connect(topic, name="loses")
    caught_up(connector)
    connector.stop()
    send(broker, topic, range(10, 20))
    delete_records(broker.bootstrap_servers, topic, 0, 15)

    failing = connect(topic, name="loses")
    until_state(failing, "FAILED")
    assert isinstance(failing.error, DataLoss)
    assert (failing.error.first, failing.error.last) == (10, 14)
    failing.start()
    until_state(failing, "FAILED")
    assert isinstance(failing.error, DataLoss)

    skipping = connect(topic, name="loses", **{"frazil.on.data.loss": "skip"})
    caught_up(skipping)
    assert [row["seq"] for row in rows(topic)] == [*range(10), *range(15, 20)]


def test_cancelling_the_job_group_abandons_the_cycle_and_nothing_else(
    connect, topic, judge, spark: SparkSession, broker: KafkaBroker
):
    connector = connect(topic)
    until_state(connector, "RUNNING")
    met: list[object] = []
    connector.on_state(lambda state: met.append(connector.error) if str(state) == "RETRYING" else None)
    send(broker, topic, range(20_000))

    wait_until(lambda: spark.sparkContext.statusTracker().getActiveJobsIds(), "the cycle's job to run")
    spark.sparkContext.cancelJobGroup(f"frazil-{connector.settings.key}")
    caught_up(connector)

    assert clean_rows(judge(connector, topic)) == 20_000
    assert all(isinstance(error, CycleCancelled) for error in met)


def test_an_idle_topic_costs_no_spark_job(connect, topic, spark: SparkSession, broker: KafkaBroker):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    reports: list[bool] = []
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(f"frazil-{connector.settings.key}")
    connector.on_cycle(lambda report: reports.append(report.idle))

    wait_until(lambda: len(reports) >= 10, "ten idle cycles")

    assert all(reports)
    after = spark.sparkContext.statusTracker().getJobIdsForGroup(f"frazil-{connector.settings.key}")
    assert sorted(after) == sorted(jobs)


def test_a_paused_connector_reads_nothing_until_it_is_resumed(connect, topic, judge, broker: KafkaBroker):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    connector.pause()
    until_state(connector, "PAUSED")

    send(broker, topic, range(5, 10))
    assert not connector.wait_until_caught_up(1.0)
    assert tokens(connector) == {0: "4"}
    connector.resume()
    caught_up(connector)

    assert clean_rows(judge(connector, topic)) == 10


def test_a_stopped_connector_goes_on_where_it_ended(connect, topic, judge, broker: KafkaBroker):
    for first in (0, 10, 20):
        send(broker, topic, range(first, first + 10))
        connector = connect(topic, name="restarts")
        caught_up(connector)
        connector.stop()
        assert str(connector.state) == "STOPPED"
        assert tokens(connector) == {0: str(first + 9)}

    assert clean_rows(judge(connector, topic)) == 30


def current_snapshot(spark: SparkSession, table: str) -> int:
    rows = spark.sql(f"SELECT snapshot_id FROM frazil.{table}.refs WHERE name = 'main'").collect()
    return rows[0].snapshot_id


def _lose_the_next_answer(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> list[str]:
    """Let the next swap happen and then fail as a catalog does whose answer is lost."""
    lost: list[str] = []
    begin = Table.begin

    class Operations:
        def __init__(self, java) -> None:
            self._java = java

        def commit(self, base, metadata) -> None:
            self._java.commit(base, metadata)
            if not lost:
                lost.append("answer")
                spark._jvm.java.lang.Integer.parseInt("the answer was lost")

        def __getattr__(self, name: str) -> object:
            return getattr(self._java, name)

    class Transaction:
        def __init__(self, java) -> None:
            self._java = java

        def underlyingOps(self) -> Operations:  # noqa: N802 (Iceberg's name)
            return Operations(self._java.underlyingOps())

        def __getattr__(self, name: str) -> object:
            return getattr(self._java, name)

    def begin_lossy(table: Table) -> JvmSwap:
        swap = begin(table)
        swap._transaction = Transaction(swap._transaction)
        return swap

    monkeypatch.setattr(Table, "begin", begin_lossy)
    return lost
