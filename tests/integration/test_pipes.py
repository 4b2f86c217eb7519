"""Pipes that users write in SQL, under connectors: what lands through them, and what happens when they change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.changing import RECALL_EVERY, WHEN, Stream, When
from tests.integration.commands import Desk
from tests.support.waiting import caught_up, tokens, until_state

from frazil.connector.explaining import Explainer
from frazil.connector.overview import Overview
from frazil.connector.pipe_listing import pipes_in
from frazil.connector.registry import Registry
from frazil.dev.kafka import KafkaBroker
from frazil.errors import PipeBroken, PipeGone, PipeRefused, TableMissing, TableReplaced, UnfitValue
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing.records import produce
from frazil.testing.topics import create_topic, wait_until

Say = Callable[[str], list[dict[str, object]]]

ORDERS = [
    '{"order_id": 1, "customer": {"name": "Ann"}, "order total": "19.994", "paid": "yes", "kind": "web"}',
    '{"order_id": 2, "customer": {"name": "Bo"}, "order total": 7, "paid": 0, "kind": "test"}',
    '{"order_id": 3, "customer": {}, "order total": "much", "paid": "yes", "kind": "web"}',
    '{"order_id": 4, "customer": null, "order total": 0.005, "paid": "off", "kind": null}',
]


@pytest.fixture
def table(spark: SparkSession, topic: str) -> str:
    """The table of the topic, empty."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {EMBEDDED}.public")
    spark.sql(
        f"CREATE TABLE {EMBEDDED}.public.{topic.upper()} (id BIGINT, name STRING, total DECIMAL(10, 2), paid BOOLEAN, "
        "RECORD_METADATA STRUCT<topic: STRING, partition: INT, offset: BIGINT>) USING iceberg"
    )
    return topic.upper()


def pipe(name: str, table: str, *, where: str = "", total: str = "$1['order total']::NUMBER(10,2)") -> str:
    return (
        f"CREATE OR REPLACE PIPE {name} AS COPY INTO {table} FROM (SELECT $1:order_id::BIGINT, $1:customer.name::STRING, "
        f"{total}, $1:paid::BOOLEAN, $1:RECORD_METADATA FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')) {where})"
    )


def test_records_land_as_the_pipe_says_and_those_that_do_not_fit_are_rejected_by_column(
    connect, say: Say, rows, broker: KafkaBroker, topic: str, table: str
):
    say(pipe(table, table, where="WHERE $1:kind::STRING IS DISTINCT FROM 'test'"))
    produce(broker.bootstrap_servers, topic, ORDERS)

    connector = connect(topic, **{"errors.tolerance": "all"})
    caught_up(connector)

    assert [(row["id"], row["name"], row["total"], row["paid"]) for row in rows(topic)] == [
        (1, "Ann", 19.99, True),
        (4, None, 0.01, False),
    ]
    assert [row["RECORD_METADATA"]["offset"] for row in rows(topic)] == [0, 3]
    (status,) = connector.status()
    assert (status.offset_token, status.rows_inserted, status.rows_error) == ("3", 2, 1)
    assert status.pipe == table
    for expected in ("offset 2", "total", "much"):
        assert expected in (status.last_error or "")


def test_without_tolerance_a_failing_cast_stops_the_connector_at_its_record(
    connect, say: Say, rows, broker: KafkaBroker, topic: str, table: str
):
    say(pipe(table, table))
    produce(broker.bootstrap_servers, topic, ORDERS)

    connector = connect(topic)
    until_state(connector, "FAILED")

    assert isinstance(connector.error, UnfitValue)
    for expected in (f"topic {topic}", "partition 0", "offset 2", "column total", "much"):
        assert expected in str(connector.error)
    assert [row["id"] for row in rows(topic)] == [1, 2]


def test_a_pipe_that_leaves_everything_out_moves_the_token_all_the_same(
    connect, say: Say, rows, broker: KafkaBroker, topic: str, table: str
):
    say(pipe(table, table, where="WHERE $1:order_id > 100"))
    produce(broker.bootstrap_servers, topic, ORDERS)

    connector = connect(topic)
    caught_up(connector)

    assert rows(topic) == []
    assert tokens(connector) == {0: "3"}


def test_a_pipe_of_another_name_takes_the_topics_of_that_name_to_its_table(
    connect, say: Say, spark: SparkSession, broker: KafkaBroker, topic: str, table: str
):
    say(pipe(f"{table}_RAW", table))
    other = create_topic(broker.bootstrap_servers, f"{topic}_raw")
    produce(broker.bootstrap_servers, other, ORDERS[:2])
    produce(broker.bootstrap_servers, topic, ['{"id": 9, "name": "Cy"}'])

    connector = connect(f"{topic},{other}", name="both")
    caught_up(connector)

    found = spark.sql(f"SELECT id, RECORD_METADATA.topic AS topic FROM {EMBEDDED}.public.{table} ORDER BY id").collect()
    assert [(row["id"], row["topic"]) for row in found] == [(1, other), (2, other), (9, topic)]
    assert not spark.catalog.tableExists(f"{EMBEDDED}.public.{table}_RAW")


def test_the_pipe_that_a_map_names_is_shown_when_the_connector_has_stopped(
    connect, say: Say, spark: SparkSession, lake: Path, tmp_path: Path, broker: KafkaBroker, topic: str, table: str
):
    say(pipe(f"{table}_RAW", table))
    produce(broker.bootstrap_servers, topic, ORDERS[:2])
    mapped = {"snowflake.topic2table.map": f"{topic}:{table.lower()}_raw"}
    connector = Desk(spark, lake, connect, tmp_path).run(topic, f"mapped-{topic}", **mapped)
    caught_up(connector)
    (running,) = connector.status()
    connector.stop()

    catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)
    with closing(Overview(Registry(lake))) as overview:
        shown = [each.pipe for each in overview.look(catalog)[0] if each.topic == topic]
    listed = {each.pipe: each.topics for each in pipes_in(catalog, Registry(lake).connectors()) if topic in each.topics}
    explained = Explainer(catalog, Registry(lake)).of_last_records(f"{table}_RAW", 1)

    assert running.pipe == f"{table}_RAW"
    assert shown == [running.pipe]
    assert listed == {running.pipe: (topic,)}
    assert [each.offset for each in explained.trials] == [1]


def test_what_the_validation_of_the_classic_connector_is_for_does_not_go_with_a_pipe(
    connect, say: Say, broker: KafkaBroker, topic: str, table: str
):
    say(pipe(table, table))
    produce(broker.bootstrap_servers, topic, ORDERS)

    connector = connect(topic, **{"snowflake.validation": "client_side"})
    until_state(connector, "FAILED")

    assert isinstance(connector.error, PipeRefused)
    assert "[0032]" in str(connector.error)


@pytest.fixture
def stream(spark: SparkSession, broker: KafkaBroker, lake: Path, topic: str) -> Stream:
    stream = Stream(spark, broker, lake, topic)
    stream.create()
    return stream


def copy_of(stream: Stream, payload: str) -> str:
    table = stream.topic.upper()
    keys = ("run", "partition", "seq", "sha256", "relaxed")
    items = ", ".join(f"$1:{key} AS {key}" for key in keys)
    return (
        f"CREATE OR REPLACE PIPE {table} AS COPY INTO {table} FROM (SELECT {items}, {payload} AS payload, "
        "$1:RECORD_METADATA AS record_metadata FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING'))) "
        "MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"
    )


@pytest.mark.parametrize("when", WHEN)
def test_a_pipe_that_comes_is_replaced_and_goes_under_a_connector_counts_from_the_next_plan(
    connect, say: Say, stream: Stream, when: When
):
    stream.connector = connect(stream.topic)
    stream.land()
    landed = stream.sent
    changes = {
        "upper(payload) = payload": copy_of(stream, "UPPER($1:payload::STRING)"),
        "payload IS NULL": copy_of(stream, "NULL"),
        "payload = lower(payload)": f"DROP PIPE {stream.topic.upper()}",
    }
    for shows, statement in changes.items():
        stream.change(when, lambda _, statement=statement: say(statement))
        if when == "idle":
            stream.send()
        stream.catch_up()

        later = f"RECORD_METADATA.offset >= {landed}"
        assert stream.offsets(f"{later} AND {shows}") == stream.offsets(later) == [*range(landed, stream.sent)], shows
        landed = stream.sent
    assert stream.offsets() == [*range(stream.sent)]


def test_a_column_that_goes_from_under_a_pipe_stops_the_connector_until_the_pipe_is_written_anew(
    connect, say: Say, stream: Stream
):
    say(copy_of(stream, "$1:payload"))
    stream.connector = connect(stream.topic)
    stream.land()

    stream.sql("ALTER TABLE {table} RENAME COLUMN payload TO body")
    stream.send()
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, PipeBroken)
    assert "payload" in str(stream.connector.error)
    say(copy_of(stream, "$1:payload").replace("AS payload", "AS body"))
    stream.connector.start()
    stream.catch_up()
    assert stream.offsets("body IS NOT NULL") == [*range(stream.sent)]


def test_columns_moved_and_dropped_behind_a_pipe_never_get_the_values_of_others(
    connect, say: Say, spark: SparkSession, rows, broker: KafkaBroker, topic: str, table: str
):
    items = "$1:order_id, $1:customer.name, $1:paid::BOOLEAN::NUMBER"
    say(f"CREATE PIPE {table} AS COPY INTO {table} FROM (SELECT {items} FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')))")
    connector = connect(topic)
    spark.sql(f"ALTER TABLE {EMBEDDED}.public.{table} ADD COLUMN note STRING FIRST")
    produce(broker.bootstrap_servers, topic, ORDERS[:1])
    caught_up(connector)

    assert [(row["note"], row["id"], row["name"], row["total"]) for row in rows(topic)] == [(None, 1, "Ann", 1)]
    say(f"ALTER TABLE {table} DROP COLUMN name")
    produce(broker.bootstrap_servers, topic, ORDERS[1:2])
    until_state(connector, "FAILED")

    assert isinstance(connector.error, PipeBroken)
    assert "the column name, which this item goes to, was dropped" in str(connector.error)
    assert [(row["note"], row["id"], row["total"]) for row in rows(topic)] == [(None, 1, 1)]


def test_a_dropped_pipe_to_a_table_of_another_name_stops_the_connector(
    connect, say: Say, broker: KafkaBroker, rows, topic: str, table: str
):
    say(pipe(f"{table}_RAW", table))
    other = create_topic(broker.bootstrap_servers, f"{topic}_raw")
    produce(broker.bootstrap_servers, other, ORDERS[:1])
    connector = connect(other)
    caught_up(connector)

    say(f"DROP PIPE {table}_RAW")
    produce(broker.bootstrap_servers, other, ORDERS[1:2])
    until_state(connector, "FAILED")

    assert isinstance(connector.error, PipeGone)
    assert [row["id"] for row in rows(topic)] == [1]
    say(pipe(f"{table}_RAW", table))
    connector.start()
    wait_until(lambda: len(rows(topic)) == 2, "the second record to land")
    assert [row["id"] for row in rows(topic)] == [1, 2]


def anew(stream: Stream) -> str:
    return (
        f"CREATE OR REPLACE TABLE {stream.topic} (run VARCHAR, partition INT, seq BIGINT, payload VARCHAR, sha256 VARCHAR, "
        "relaxed BIGINT, RECORD_METADATA OBJECT(topic VARCHAR, partition INT, offset BIGINT))"
    )


LOUD = "UPPER($1:payload::STRING)"
"""What a pipe makes of the payload, and the default pipe does not."""


@pytest.mark.parametrize("when", WHEN)
def test_columns_that_are_added_and_dropped_beside_those_of_a_pipe_leave_it_as_it_is(
    connect, say: Say, stream: Stream, when: When
):
    say(copy_of(stream, LOUD))
    stream.connector = connect(stream.topic)
    stream.land()

    def change(_: Stream) -> None:
        say(f"ALTER TABLE {stream.topic} ADD COLUMN added BIGINT")
        say(f"ALTER TABLE {stream.topic} DROP COLUMN dropped, retyped")

    stream.change(when, change)
    if when == "idle":
        stream.send()
    stream.catch_up()

    # The default pipe would have filled the new column: the records have a key of its name.
    everything = [*range(stream.sent)]
    assert stream.offsets("upper(payload) = payload AND added IS NULL") == stream.offsets() == everything
    assert str(stream.connector.state) == "RUNNING"


@pytest.mark.parametrize("when", WHEN)
def test_a_column_dropped_from_under_a_pipe_stops_the_connector_and_no_record_is_lost_or_doubled(
    connect, say: Say, stream: Stream, when: When
):
    say(copy_of(stream, LOUD))
    stream.connector = connect(stream.topic)
    stream.land()

    stream.change(when, lambda _: say(f"ALTER TABLE {stream.topic} DROP COLUMN payload"))
    if when == "idle":
        stream.send()
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, PipeBroken)
    assert "payload" in str(stream.connector.error)
    landed = len(stream.offsets())
    say(copy_of(stream, LOUD).replace(f", {LOUD} AS payload", ""))
    stream.connector.start()
    stream.catch_up()
    assert stream.offsets() == [*range(stream.sent)]
    assert landed == stream.sent - 5


@pytest.mark.parametrize("when", WHEN)
def test_a_table_replaced_from_under_a_pipe_waits_for_its_rows_and_gets_them_through_the_pipe_written_anew(
    connect, say: Say, stream: Stream, when: When
):
    say(copy_of(stream, LOUD))
    stream.connector = connect(stream.topic, name=f"replaced-{stream.topic}")
    stream.land()

    stream.change(when, lambda _: say(anew(stream)))
    if when == "idle":
        stream.send()
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, TableReplaced)
    assert "frazil.on.table.replaced" in str(stream.connector.error)
    assert stream.offsets() == []
    assert say("SHOW PIPES LIKE '" + stream.topic.upper() + "'") == []
    say(copy_of(stream, LOUD))
    stream.connector = connect(
        stream.topic, name=f"replaced-{stream.topic}", **{"frazil.on.table.replaced": "earliest"}
    )
    stream.catch_up()
    assert stream.offsets("upper(payload) = payload") == stream.offsets() == [*range(stream.sent)]


@pytest.mark.parametrize("when", WHEN)
def test_a_table_dropped_from_under_a_pipe_is_missed_and_filled_again_through_the_pipe_written_anew(
    connect, say: Say, stream: Stream, when: When, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(RECALL_EVERY, 0.2)
    say(copy_of(stream, LOUD))
    stream.connector = connect(stream.topic, name=f"dropped-{stream.topic}")
    stream.land()

    stream.change(when, lambda _: say(f"DROP TABLE {stream.topic}"))
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, TableMissing)
    assert "frazil.on.table.missing" in str(stream.connector.error)
    say(anew(stream))
    say(copy_of(stream, LOUD))
    settings = {"frazil.on.table.missing": "earliest", "frazil.on.table.replaced": "earliest"}
    stream.connector = connect(stream.topic, name=f"dropped-{stream.topic}", **settings)
    stream.catch_up()
    assert stream.offsets("upper(payload) = payload") == stream.offsets() == [*range(stream.sent)]


def test_a_table_replaced_from_under_a_pipe_of_another_name_is_not_filled_past_that_pipe(
    connect, say: Say, broker: KafkaBroker, rows, topic: str, table: str
):
    say(pipe(f"{table}_RAW", table))
    other = create_topic(broker.bootstrap_servers, f"{topic}_raw")
    produce(broker.bootstrap_servers, other, ORDERS[:1])
    connector = connect(other, **{"frazil.on.table.replaced": "earliest"})
    caught_up(connector)

    say(
        f"CREATE OR REPLACE TABLE {table} (id BIGINT, name VARCHAR, total NUMBER(10, 2), paid BOOLEAN, "
        "RECORD_METADATA OBJECT(topic VARCHAR, partition INT, offset BIGINT))"
    )
    produce(broker.bootstrap_servers, other, ORDERS[1:2])
    until_state(connector, "FAILED")

    assert isinstance(connector.error, PipeGone)
    assert rows(topic) == []
    say(pipe(f"{table}_RAW", table))
    connector.start()
    wait_until(lambda: len(rows(topic)) == 2, "both records to land")
    assert [(row["ID"], row["NAME"]) for row in rows(topic)] == [(1, "Ann"), (2, "Bo")]
