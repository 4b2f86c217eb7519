"""CREATE, ALTER and DROP TABLE typed into `frazil sql`, before connectors run and while they do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.support.waiting import caught_up, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.errors import InvalidQuery, TableMissing, TableOptionsRefused, TableReplaced
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing.records import produce
from frazil.testing.topics import wait_until

Say = Callable[[str], list[dict[str, object]]]

RECALL_EVERY = "frazil.cycle.protocol._RECALL_EVERY"
"""How long an idle connector takes to look at its tables: nobody here waits for half a minute."""

METADATA = "RECORD_METADATA OBJECT(topic VARCHAR, partition INT, offset BIGINT)"
STREAM = "FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING'))"


def orders(*numbers: int, more: str = "") -> list[str]:
    return [f'{{"id": {n}, "at": "2026-01-{n % 28 + 1:02}T10:00:00", "name": "n{n}"{more}}}' for n in numbers]


def test_records_fill_a_table_as_it_was_defined(
    connect, say: Say, spark: SparkSession, broker: KafkaBroker, topic: str
):
    say(
        f"CREATE TABLE {topic} (id BIGINT NOT NULL, at TIMESTAMP_NTZ, name VARCHAR, total NUMBER(10,2) DEFAULT 9.5, "
        f"{METADATA}) CLUSTER BY (name) PARTITION BY (day(at), bucket(4, id))"
    )
    produce(broker.bootstrap_servers, topic, orders(*range(30)))

    caught_up(connect(topic))

    found = say(f"SELECT id, name, total FROM {topic} WHERE at >= '2026-01-20' ORDER BY id")
    assert [row["ID"] for row in found] == [*range(19, 28)]
    assert {str(row["TOTAL"]) for row in found} == {"9.50"}
    files = spark.sql(f"SELECT partition, sort_order_id FROM {EMBEDDED}.public.{topic.upper()}.files").collect()
    assert len({str(file["partition"]) for file in files}) == len(files) > 20
    assert {file["sort_order_id"] for file in files} == {1}


def test_an_interactive_table_fills_through_its_pipe(connect, say: Say, broker: KafkaBroker, topic: str):
    say(
        f"CREATE INTERACTIVE TABLE {topic} (key VARCHAR, number NUMBER) AS "
        f"(SELECT $1:name::VARCHAR || '!', $1:id::NUMBER * 2 {STREAM} WHERE $1:id::NUMBER < 3)"
    )
    produce(broker.bootstrap_servers, topic, orders(*range(5)))

    caught_up(connect(topic))

    found = say(f"SELECT key, number FROM {topic} ORDER BY number")
    assert [(row["KEY"], int(str(row["NUMBER"]))) for row in found] == [("n0!", 0), ("n1!", 2), ("n2!", 4)]


def test_columns_change_under_a_connector_that_runs(connect, say: Say, broker: KafkaBroker, topic: str):
    say(f"CREATE TABLE {topic} (id INT, name VARCHAR, {METADATA})")
    produce(broker.bootstrap_servers, topic, orders(1))
    connector = connect(topic)
    caught_up(connector)

    say(f"ALTER TABLE {topic} ADD COLUMN extra VARCHAR DEFAULT 'none'")
    say(f"ALTER TABLE {topic} ALTER COLUMN id SET DATA TYPE BIGINT")
    say(f"ALTER TABLE {topic} RENAME COLUMN name TO title")
    say(f"ALTER TABLE {topic} PARTITION BY (truncate(1, extra))")
    produce(broker.bootstrap_servers, topic, orders(3_000_000_000, more=', "extra": "x", "title": "t"'))
    caught_up(connector)

    found = say(f"SELECT id, title, extra FROM {topic} ORDER BY id")
    assert [tuple(row.values()) for row in found] == [(1, "n1", "none"), (3_000_000_000, "t", "x")]
    assert str(connector.state) == "RUNNING"


def test_a_table_dropped_under_a_connector_stops_it(
    connect, say: Say, broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(RECALL_EVERY, 0.2)
    say(f"CREATE TABLE {topic} (id BIGINT, {METADATA})")
    produce(broker.bootstrap_servers, topic, orders(1))
    connector = connect(topic, name=f"dropped-{topic}")
    caught_up(connector)

    say(f"DROP TABLE {topic}")
    until_state(connector, "FAILED")

    assert isinstance(connector.error, TableMissing)
    say(f"CREATE TABLE {topic} (id BIGINT, {METADATA})")
    caught_up(
        connect(
            topic,
            name=f"dropped-{topic}",
            **{"frazil.on.table.missing": "earliest", "frazil.on.table.replaced": "earliest"},
        )
    )
    assert say(f"SELECT id FROM {topic}") == [{"ID": 1}]


def test_a_table_replaced_under_a_connector_stops_it_until_it_is_said_what_it_is_to_hold(
    connect, say: Say, broker: KafkaBroker, topic: str
):
    say(f"CREATE TABLE {topic} (id BIGINT, {METADATA})")
    say(f"CREATE PIPE {topic} AS COPY INTO {topic} (id) FROM (SELECT -$1:id::BIGINT {STREAM})")
    produce(broker.bootstrap_servers, topic, orders(1, 2))
    connector = connect(topic, name=f"replaced-{topic}")
    caught_up(connector)
    assert [row["ID"] for row in say(f"SELECT id FROM {topic} ORDER BY id")] == [-2, -1]
    connector.pause()
    until_state(connector, "PAUSED")

    said = say(f"CREATE OR REPLACE TABLE {topic} (id BIGINT, name VARCHAR, {METADATA})")
    assert "its pipes went with" in str(said[1]["status"])
    connector.resume()
    produce(broker.bootstrap_servers, topic, orders(3))
    until_state(connector, "FAILED")
    assert isinstance(connector.error, TableReplaced)
    assert say(f"SELECT id FROM {topic}") == []

    again = connect(topic, name=f"replaced-{topic}", **{"frazil.on.table.replaced": "earliest"})
    caught_up(again)
    found = say(f"SELECT id, name FROM {topic} ORDER BY id")
    assert [tuple(row.values()) for row in found] == [(1, "n1"), (2, "n2"), (3, "n3")]


def test_a_table_replaced_under_a_connector_is_filled_anew_where_that_is_wanted(
    connect, say: Say, broker: KafkaBroker, topic: str
):
    say(f"CREATE TABLE {topic} (id BIGINT, {METADATA})")
    produce(broker.bootstrap_servers, topic, orders(1))
    connector = connect(topic, **{"frazil.on.table.replaced": "earliest"})
    caught_up(connector)

    say(f"CREATE OR REPLACE TABLE {topic} (name VARCHAR, {METADATA})")
    produce(broker.bootstrap_servers, topic, orders(2))
    wait_until(lambda: len(say(f"SELECT name FROM {topic}")) == 2, "both records to land in the new table")

    assert [row["NAME"] for row in say(f"SELECT name FROM {topic} ORDER BY name")] == ["n1", "n2"]
    assert str(connector.state) == "RUNNING"


def test_a_created_table_is_partitioned_and_sorted_once_it_has_the_columns(
    connect, say: Say, spark: SparkSession, broker: KafkaBroker, topic: str
):
    options = "PARTITION BY (bucket(4, id), name) CLUSTER BY (at) TBLPROPERTIES ('write.parquet.row-group-limit' = '9')"
    produce(broker.bootstrap_servers, topic, orders(*range(6)))

    connector = connect(topic, **{"snowflake.iceberg.create.table.options": options})
    caught_up(connector)

    assert [row["id"] for row in say(f'SELECT "id" FROM {topic} ORDER BY "id"')] == [*range(6)]
    described = {row["name"]: (row["partition by"], row["cluster by"]) for row in say(f"DESCRIBE TABLE {topic}")}
    assert (described["id"], described["name"], described["at"]) == (
        ("1: bucket[4]", None),
        ("2: identity", None),
        (None, "1: identity"),
    )
    files = spark.sql(f"SELECT partition, sort_order_id FROM {EMBEDDED}.public.{topic.upper()}.files").collect()
    assert {file["partition"]["name"] for file in files} == {f"n{n}" for n in range(6)}
    assert {file["sort_order_id"] for file in files} == {1}


@pytest.mark.parametrize("keys", ["day(at)", "id, id"])
def test_a_created_table_that_cannot_be_partitioned_so_is_filled_as_it_is(
    connect, say: Say, broker: KafkaBroker, topic: str, keys: str, capsys: pytest.CaptureFixture[str]
):
    produce(broker.bootstrap_servers, topic, orders(1))

    caught_up(connect(topic, **{"snowflake.iceberg.create.table.options": f"PARTITION BY ({keys})"}))

    assert len(say(f"SELECT 1 FROM {topic}")) == 1
    assert {row["partition by"] for row in say(f"DESCRIBE TABLE {topic}")} == {None}
    assert "is not laid out as it was asked for" in capsys.readouterr().out


def test_a_column_to_partition_by_that_does_not_come_is_named_once_and_counts_when_it_comes(
    connect, say: Say, spark: SparkSession, broker: KafkaBroker, topic: str, capsys: pytest.CaptureFixture[str]
):
    connector = connect(topic, **{"snowflake.iceberg.create.table.options": "PARTITION BY (id, country)"})
    for number in range(3):
        produce(broker.bootstrap_servers, topic, orders(number))
        caught_up(connector)
    said = capsys.readouterr().out

    produce(broker.bootstrap_servers, topic, orders(3, more=', "country": "de"'))
    caught_up(connector)

    assert said.count("is not laid out as it was asked for") == 1
    assert "no record has brought the column country so far" in said
    assert "is not laid out as it was asked for" not in capsys.readouterr().out
    files = spark.sql(f"SELECT partition FROM {EMBEDDED}.public.{topic.upper()}.files").collect()
    assert {(file["partition"]["id"], file["partition"]["country"]) for file in files} == {(None, None), (3, "de")}


def test_a_hadoop_catalog_says_itself_where_tables_lie_and_deletes_what_it_drops(
    connect, spark: SparkSession, add_catalog, broker: KafkaBroker, topic: str, tmp_path: Path
):
    name = add_catalog({"type": "hadoop", "warehouse": f"file:{tmp_path}/warehouse"})
    produce(broker.bootstrap_servers, topic, orders(1))
    elsewhere = f"BASE_LOCATION = 'file:{tmp_path}/lake'"

    connector = connect(topic, **{"frazil.catalog": name, "snowflake.iceberg.create.table.options": elsewhere})
    until_state(connector, "FAILED")
    caught_up(connect(topic, name=f"again-{topic}", **{"frazil.catalog": name}))

    assert isinstance(connector.error, TableOptionsRefused)
    assert "path-based table" in connector.error.message
    directory = tmp_path / "warehouse" / "public" / topic.upper()
    assert [*directory.rglob("*.parquet")]
    catalog = Catalog(iceberg_catalog(spark, name, tmp_path), spark.sparkContext._gateway, name)
    with Engine(catalog, lambda: spark) as engine:
        with pytest.raises(InvalidQuery, match="path-based table"):
            engine.answer(f"CREATE TABLE other (id INT) {elsewhere}")
        said = engine.answer(f"DROP TABLE {topic}").batches.read_all().to_pylist()
    assert said[1]["status"] == "Note: its files were deleted with it."
    assert not directory.exists()


def test_a_created_table_lies_where_it_is_said(
    connect, say: Say, spark: SparkSession, broker: KafkaBroker, topic: str, tmp_path: Path
):
    produce(broker.bootstrap_servers, topic, orders(1))

    caught_up(connect(topic, **{"snowflake.iceberg.create.table.options": f"BASE_LOCATION = 'file:{tmp_path}/lake/'"}))

    assert [*(tmp_path / "lake" / "public" / topic.upper() / "data").rglob("*.parquet")]
    assert len(say(f"SELECT 1 FROM {topic}")) == 1
