"""Functions that follow a table: every commit once, in order, with exactly its rows, whatever goes on beside it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.support.connectors import JSON
from tests.support.waiting import caught_up, until_state

from frazil import Commit, Connector
from frazil.connector import commits
from frazil.dev.kafka import KafkaBroker
from frazil.errors import CatalogUnavailable, FollowerFailed, HistoryExpired, HistoryMoved
from frazil.tables.iceberg.rows import added_rows
from frazil.tables.jvm import session
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing.records import produce
from frazil.testing.topics import wait_until

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "continue-in-spark.md"


@dataclass
class Notes:
    """A function that follows, and what it was given."""

    commits: list[Commit] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)
    """The numbers that came with each commit."""

    columns: list[list[str]] = field(default_factory=list)

    def __call__(self, rows: DataFrame, commit: Commit) -> None:
        self.columns.append(sorted(rows.columns))
        number = "n" if "n" in rows.columns else "m"
        found = sorted(row[number] for row in rows.collect())
        assert rows.count() == commit.rows == len(found)
        self.rows.append(found)
        self.commits.append(commit)

    @property
    def snapshots(self) -> list[int]:
        return [each.snapshot_id for each in self.commits]

    def until(self, *rows: Sequence[int]) -> None:
        """Wait for exactly these commits."""
        wait_until(lambda: len(self.rows) >= len(rows), f"{len(rows)} commits to be delivered, not {self.rows}")
        assert self.rows == [list(each) for each in rows]


@pytest.fixture
def send(broker: KafkaBroker, topic: str) -> Callable[..., None]:
    """Produce records of these numbers."""

    def produce_numbers(*numbers: int | str) -> None:
        produce(broker.bootstrap_servers, topic, [f'{{"n": {number}}}' for number in numbers])

    return produce_numbers


@pytest.fixture
def table(topic: str) -> str:
    return f"frazil.public.{topic.upper()}"


def java(spark: SparkSession, lake: Any, topic: str) -> Any:
    """Iceberg's own table."""
    catalog = iceberg_catalog(spark, EMBEDDED, lake)
    identifier = spark._jvm.org.apache.iceberg.catalog.TableIdentifier.parse(f"public.{topic.upper()}")
    return catalog.loadTable(identifier)


def test_a_function_gets_the_rows_of_each_commit_and_what_it_covers(connect, topic, send):
    connector, notes = connect(topic, begin=False), Notes()
    subscription = connector.foreach_commit(notes)
    connector.start()
    caught_up(connector)
    for numbers in ([1, 2], [3], [4, 5, 6]):
        send(*numbers)
        caught_up(connector)

    notes.until([1, 2], [3], [4, 5, 6])
    assert [
        [(each.topic, each.partition, each.start, each.end) for each in commit.covered] for commit in notes.commits
    ] == [
        [(topic, 0, 0, 2)],
        [(topic, 0, 2, 3)],
        [(topic, 0, 3, 6)],
    ]
    first = notes.commits[0]
    assert (first.table, first.records, first.errors, first.owner_epoch) == (f"public.{topic.upper()}", 2, 0, 1)
    assert subscription.last == notes.snapshots[-1]
    assert subscription.table == first.table


def test_rows_are_those_the_commit_added_whatever_became_of_them_since(
    connect, topic, send, table, spark: SparkSession, broker: KafkaBroker
):
    connector = connect(topic)
    caught_up(connector)
    began = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").first()[0]
    for numbers in ([1, 2], [3, 4]):
        send(*numbers)
        caught_up(connector)
    spark.sql(f"INSERT INTO {table} (n) VALUES (99)")
    spark.sql(f"CALL frazil.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
    spark.sql(f"DELETE FROM {table} WHERE n IN (1, 4)")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN n TO m")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN later STRING")
    produce(broker.bootstrap_servers, topic, ['{"m": 5, "later": "x"}'])
    caught_up(connector)

    notes = Notes()
    connector.foreach_commit(notes, after=began)

    notes.until([1, 2], [3, 4], [5])
    assert notes.columns == [
        ["RECORD_METADATA", "n"],
        ["RECORD_METADATA", "n"],
        ["RECORD_METADATA", "later", "m"],
    ]


def test_what_was_and_what_comes_are_delivered_without_a_gap_or_a_double(connect, topic, send):
    connector, all_of_it, later = connect(topic, begin=False), Notes(), Notes()
    connector.foreach_commit(all_of_it)
    connector.start()
    sent = [[number] for number in range(6)]
    for index, numbers in enumerate(sent):
        send(*numbers)
        caught_up(connector)
        if index == 3:
            all_of_it.until(*sent[:4])
            connector.foreach_commit(later, after=all_of_it.snapshots[1])

    all_of_it.until(*sent)
    later.until(*sent[2:])
    assert later.snapshots == all_of_it.snapshots[2:]
    assert later.commits == all_of_it.commits[2:]


def test_another_process_goes_on_after_the_snapshot_that_was_stored(connect, topic, send):
    first, notes = connect(topic, name=f"resumes_{topic}", begin=False), Notes()
    subscription = first.foreach_commit(notes)
    first.start()
    send(1)
    caught_up(first)
    first.stop()
    assert notes.rows == [[1]]
    unattended = connect(topic, name=f"resumes_{topic}")
    send(2)
    caught_up(unattended)
    unattended.stop()

    second, rest = connect(topic, name=f"resumes_{topic}", begin=False), Notes()
    second.foreach_commit(rest, after=subscription.last)
    second.start()
    send(3)
    caught_up(second)

    rest.until([2], [3])
    assert [each.owner_epoch for each in rest.commits] == [2, 3]


def test_from_now_on_begins_with_what_is_committed_after_the_call(connect, topic, send):
    connector, notes = connect(topic), Notes()
    send(1)
    caught_up(connector)

    connector.foreach_commit(notes)
    send(2)
    caught_up(connector)

    notes.until([2])


def test_of_several_tables_each_function_follows_its_own(connect, make_topic, broker: KafkaBroker):
    one, other = make_topic(), make_topic()
    connector = connect(one, topics=f"{one},{other}", begin=False)
    first, second = Notes(), Notes()
    connector.foreach_commit(first, table=one)
    connector.foreach_commit(second, table=f"public.{other}")
    connector.start()
    produce(broker.bootstrap_servers, one, ['{"n": 1}'])
    produce(broker.bootstrap_servers, other, ['{"n": 2}', '{"n": 3}'])
    caught_up(connector)
    connector.stop()

    assert first.rows == [[1]]
    assert sorted(number for numbers in second.rows for number in numbers) == [2, 3]
    assert {each.table for each in second.commits} == {f"public.{other.upper()}"}


def test_a_slow_function_holds_up_nobody_and_has_it_all_before_a_stop_and_goes_on_after_a_start(
    connect, topic, send, rows
):
    connector, notes, gate = connect(topic, begin=False), Notes(), threading.Event()

    def slow(rows: DataFrame, commit: Commit) -> None:
        gate.wait(30)
        notes(rows, commit)

    connector.foreach_commit(slow)
    connector.start()
    for number in range(3):
        send(number)
        caught_up(connector)
    assert len(rows(topic)) == 3
    assert notes.rows == []
    gate.set()
    connector.stop()

    assert str(connector.state) == "STOPPED"
    assert notes.rows == [[0], [1], [2]]

    connector.start()
    send(3)
    caught_up(connector)
    notes.until([0], [1], [2], [3])


def test_who_runs_until_caught_up_has_all_of_it_delivered_before_it_has_ended(connect, topic, send):
    connector, notes = connect(topic, begin=False), Notes()
    connector.foreach_commit(notes)
    send(1, 2, 3)

    connector.start(until_caught_up=True)

    assert connector.wait(60)
    assert notes.rows == [[1, 2, 3]]


def test_a_function_that_raises_fails_the_connector_and_gets_the_same_commit_at_the_next_start(connect, topic, send):
    connector, notes, broken = connect(topic, begin=False), Notes(), threading.Event()

    def fragile(rows: DataFrame, commit: Commit) -> None:
        if broken.is_set():
            raise ValueError("the sink is full")
        notes(rows, commit)

    subscription = connector.foreach_commit(fragile)
    connector.start()
    send(1)
    caught_up(connector)
    notes.until([1])
    broken.set()
    send(2)
    until_state(connector, "FAILED")

    error = connector.error
    assert isinstance(error, FollowerFailed)
    assert isinstance(error.__cause__, ValueError)
    assert "ValueError: the sink is full" in str(error)
    assert f"after={notes.snapshots[0]}" in str(error)
    assert subscription.error is error
    assert subscription.last == notes.snapshots[0]

    broken.clear()
    connector.start()
    caught_up(connector)
    notes.until([1], [2])


def test_commits_without_rows_come_with_none(connect, topic, send):
    connector, notes = connect(topic, begin=False, **{"errors.tolerance": "all"}), Notes()
    connector.foreach_commit(notes)
    connector.start()
    send(1)
    caught_up(connector)
    send('"no number"', '"nor this"')
    caught_up(connector)

    notes.until([1], [])
    assert (notes.commits[1].errors, notes.commits[1].covered[0].end) == (2, 3)


def test_expired_snapshots_in_between_fail_the_connector_and_the_error_says_where_to_go_on(
    connect, topic, send, table, spark: SparkSession, lake
):
    connector, notes = connect(topic), Notes()
    for number in range(3):
        send(number)
        caught_up(connector)
    first = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").first()[0]
    java(spark, lake, topic).expireSnapshots().expireOlderThan(2**62).retainLast(1).commit()
    oldest = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").first()[0]

    connector.foreach_commit(notes, after=first)
    until_state(connector, "FAILED")

    assert isinstance(connector.error, HistoryExpired)
    assert connector.error.oldest == oldest
    assert notes.rows == []


def test_a_rollback_past_what_was_delivered_fails_the_connector(connect, topic, send, table, spark: SparkSession):
    connector, notes = connect(topic, begin=False), Notes()
    connector.foreach_commit(notes)
    connector.start()
    for number in range(2):
        send(number)
        caught_up(connector)
    notes.until([0], [1])

    spark.sql(f"CALL frazil.system.rollback_to_snapshot('{table}', {notes.snapshots[0]})")
    send(2)
    until_state(connector, "FAILED")

    assert isinstance(connector.error, HistoryMoved)
    assert connector.error.common == notes.snapshots[0]


def test_snapshots_stay_while_somebody_still_needs_them(connect, topic, send, table, spark: SparkSession):
    connector, notes, gate = (
        connect(topic, begin=False, **{"frazil.snapshots.min.age": "100"}),
        Notes(),
        threading.Event(),
    )
    connector.foreach_commit(lambda rows, commit: (gate.wait(60), notes(rows, commit)))
    connector.start()
    for number in range(4):
        send(number)
        caught_up(connector)
    assert spark.table(f"{table}.snapshots").count() == 5

    gate.set()
    notes.until(*[[number] for number in range(4)])
    send(4)
    caught_up(connector)
    assert spark.table(f"{table}.snapshots").count() < 5
    notes.until(*[[number] for number in range(5)])


def test_a_table_that_cannot_be_read_for_a_while_is_read_later(connect, topic, send, monkeypatch: pytest.MonkeyPatch):
    connector, notes = connect(topic, begin=False), Notes()
    failures = iter([CatalogUnavailable("read it", "it sleeps")] * 2)

    def flaky(*given: Any) -> DataFrame:
        for error in failures:
            raise error
        return added_rows(*given)

    monkeypatch.setattr(commits, "added_rows", flaky)
    connector.foreach_commit(notes)
    connector.start()
    send(1)
    caught_up(connector)

    notes.until([1])
    assert str(connector.state) == "RUNNING"


def test_a_function_may_stop_its_subscription_and_the_connector(connect, topic, send):
    connector, notes = connect(topic, begin=False), Notes()

    def once(rows: DataFrame, commit: Commit) -> None:
        notes(rows, commit)
        subscription.stop()

    def last(rows: DataFrame, commit: Commit) -> None:
        if commit.rows == 2:
            connector.stop()

    subscription = connector.foreach_commit(once)
    connector.foreach_commit(last)
    connector.start()
    send(1)
    caught_up(connector)
    notes.until([1])
    send(2, 3)
    assert connector.wait(60)

    assert str(connector.state) == "STOPPED"
    assert notes.rows == [[1]]


def test_the_example_of_the_page_adds_every_order_once_whoever_gets_it_again(
    topic, lake, spark: SparkSession, broker: KafkaBroker, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "open_session", lambda *_: spark)
    Path("worker.properties").write_text("\n".join(f"{key}={value}" for key, value in JSON.items()))
    Path("connector.properties").write_text(
        f"name=example\nconnector.class=frazil.KafkaConnector\ntopics={topic}\nfrazil.home={lake}\n"
        f"bootstrap.servers={broker.bootstrap_servers}\nfrazil.commit.interval.ms=100\n"
    )

    def run(*totals: float) -> dict[str, Any]:
        names: dict[str, Any] = {}
        exec(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0], names)
        orders = [f'{{"customer": "c{number % 2}", "total": {total}}}' for number, total in enumerate(totals)]
        produce(broker.bootstrap_servers, topic, orders)
        names["connector"].start(until_caught_up=True)
        assert names["connector"].wait(60)
        assert names["connector"].error is None
        return names

    def revenue() -> dict[str, float]:
        return {
            row[0]: row[1] for row in spark.table("frazil.public.REVENUE").groupBy("customer").sum("total").collect()
        }

    run(1.0, 2.0, 4.0)
    assert revenue() == {"c0": 5.0, "c1": 2.0}
    names = run(8.0, 16.0)
    assert revenue() == {"c0": 13.0, "c1": 18.0}

    again = Notes()
    opening = spark.sql(
        f"SELECT snapshot_id FROM frazil.public.{topic.upper()}.snapshots ORDER BY committed_at"
    ).first()
    names["connector"].foreach_commit(names["add"], after=opening[0])
    names["connector"].foreach_commit(lambda _, commit: again.commits.append(commit), after=opening[0])
    names["connector"].start(until_caught_up=True)
    assert names["connector"].wait(60)
    assert [each.rows for each in again.commits] == [3, 2]
    assert revenue() == {"c0": 13.0, "c1": 18.0}


def test_a_streaming_query_on_the_table_gets_every_row_once_while_it_is_written(
    connect, topic, send, table, spark: SparkSession, tmp_path
):
    connector: Connector = connect(topic)
    caught_up(connector)
    found: list[int] = []

    def collect(rows: DataFrame, _: int) -> None:
        found.extend(row["n"] for row in rows.collect())

    send(1, 2)
    caught_up(connector)
    stream = spark.readStream.format("iceberg").option("streaming-skip-overwrite-snapshots", "true").load(table)
    query = (
        stream.writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="100 milliseconds")
        .start()
    )
    try:
        for number in range(3, 7):
            send(number)
            caught_up(connector)
        spark.sql(f"CALL frazil.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
        send(7)
        caught_up(connector)
        wait_until(lambda: len(found) >= 7, f"7 rows to come through the stream, not {found}")
        query.processAllAvailable()
    finally:
        query.stop()

    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7]
