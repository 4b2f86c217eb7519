"""What becomes of records: columns, values, rejects, gaps."""

from __future__ import annotations

import duckdb
import pytest
from pyspark.sql import SparkSession
from tests.support.waiting import caught_up, tokens, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.errors import InvalidRecord
from frazil.tables.outbox import undelivered
from frazil.testing.produce import record
from frazil.testing.records import produce, produce_transaction
from frazil.testing.topics import add_partitions, group_offsets, set_group_offsets, wait_until


def test_the_first_records_give_a_new_table_its_columns(connect, topic, rows, spark: SparkSession, broker: KafkaBroker):
    values = [
        '{"id": 1, "price": 2, "ok": true, "name": "a", "tags": [1, "x"], "at": {"city": "Ø"}, "mixed": 1, "nothing": null}',
        '{"id": 2, "price": 2.5, "ok": null, "mixed": "two"}',
    ]
    produce(broker.bootstrap_servers, topic, values, keys=["k1", None], headers=[("h", b"v")])

    connector = connect(topic)
    caught_up(connector)

    assert connector.staged()[0] >= 2
    found = rows(topic)
    metadata = [row.pop("RECORD_METADATA") for row in found]
    assert found == [
        {
            "id": 1,
            "price": 2.0,
            "ok": True,
            "name": "a",
            "tags": [1, "x"],
            "at": {"city": "Ø"},
            "mixed": "1",
        },
        {"id": 2, "price": 2.5, "ok": None, "name": None, "tags": None, "at": None, "mixed": "two"},
    ]
    types = {
        field.name: field.dataType.simpleString() for field in spark.table(f"frazil.public.{topic.upper()}").schema
    }
    types.pop("RECORD_METADATA")
    assert types == {
        "id": "bigint", "price": "double", "ok": "boolean", "name": "string", "tags": "variant", "at": "variant",
        "mixed": "string",
    }  # fmt: skip
    assert metadata[0]["topic"] == topic
    assert [each["offset"] for each in metadata] == [0, 1]
    assert [each["key"] for each in metadata] == ["k1", None]
    assert metadata[0]["headers"] == {"h": "v"}
    assert metadata[0]["CreateTime"] <= metadata[0]["SnowflakeConnectorPushTime"]


def test_a_created_column_is_spelled_as_in_the_first_record_that_lands_and_rejected_ones_give_none(
    connect, make_topic, rows, broker: KafkaBroker
):
    topic = make_topic(partitions=2)
    rejected = ['{"userID": 9, "userID": 8}', '{"bad": "\\ud800"}', '{"other": 1', '{"late": 1, "": 2}']
    produce(broker.bootstrap_servers, topic, ['{"USERID": 1}'], partition=1)
    produce(broker.bootstrap_servers, topic, [*rejected, '\ufeff{"userId": 2}', '{"UserID": 3}'], partition=0)

    connector = connect(topic, **{"errors.tolerance": "all"})
    caught_up(connector)

    found = rows(topic)
    assert [{key: value for key, value in row.items() if key != "RECORD_METADATA"} for row in found] == [
        {"userId": 2},
        {"userId": 3},
        {"userId": 1},
    ]
    assert sum(status.rows_error for status in connector.status()) == len(rejected)


def test_an_existing_table_is_matched_by_name_ignoring_case(
    connect, topic, rows, spark: SparkSession, broker: KafkaBroker
):
    table = f"frazil.public.{topic.upper()}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(
        f"CREATE TABLE {table} (ID BIGINT, Name STRING, at TIMESTAMP, address STRUCT<city: STRING, geo: STRUCT<lat: DOUBLE>>, "
        "items ARRAY<STRUCT<sku: STRING, qty: INT>>, missing DATE, RECORD_METADATA STRUCT<partition: INT, offset: BIGINT>) "
        "USING iceberg TBLPROPERTIES ('format-version'='2')"
    )
    produce(
        broker.bootstrap_servers,
        topic,
        [
            '{"id": 1, "NAME": "a", "at": "2026-01-02T03:04:05Z", "address": {"city": "x", "geo": {"lat": 1.5}}, "items": [{"sku": "s", "qty": 3}]}',
            '{"Id": 2, "name": "b", "items": []}',
        ],
    )

    caught_up(connect(topic))

    first, second = rows(topic)
    assert (first["ID"], first["Name"], first["at"]) == (1, "a", "2026-01-02T03:04:05.000Z")
    assert first["address"] == {"city": "x", "geo": {"lat": 1.5}}
    assert first["items"] == [{"sku": "s", "qty": 3}]
    assert (second["ID"], second["Name"], second["items"], second["missing"]) == (2, "b", [], None)
    assert second["RECORD_METADATA"] == {"partition": 0, "offset": 1}


def test_keys_that_come_after_the_first_rows_become_columns(connect, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, ['{"id": 1}'])
    connector = connect(topic)
    caught_up(connector)

    produce(broker.bootstrap_servers, topic, ['{"id": 2, "late": 1}', '{"id": 3, "late": 2}'])
    caught_up(connector)

    assert [(row["id"], row["late"]) for row in rows(topic)] == [(1, None), (2, 1), (3, 2)]


def test_keys_that_get_no_column_are_counted_and_dropped(connect, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, ['{"id": 1}'])
    connector = connect(topic, **{"frazil.schema.contract": "columns=discard"})
    caught_up(connector)

    assert list(rows(topic)[0]) == ["RECORD_METADATA"]
    assert connector.dropped() == {f"public.{topic.upper()}.id": 1}
    assert [each.dropped for each in connector.status()] == [{"id": 1}]


def test_without_tolerance_everything_before_a_bad_record_lands_and_the_error_says_where_it_is(
    connect, make_topic, rows, spark: SparkSession, broker: KafkaBroker
):
    topic = make_topic(partitions=2)
    produce(broker.bootstrap_servers, topic, ['{"n": 1}', '{"n": 2}', '{"n": "three"}', '{"n": 4}'], partition=0)
    produce(broker.bootstrap_servers, topic, ['{"n": 10}', '{"n": 11}'], partition=1)
    # The column is BIGINT from the start: the first chunk would make a mix of kinds STRING.
    _table_of_numbers(topic, spark)

    connector = connect(topic)
    until_state(connector, "FAILED")

    assert isinstance(connector.error, InvalidRecord)
    for expected in (f"topic {topic}", "partition 0", "offset 2", "column n", "three"):
        assert expected in str(connector.error)
    assert [row["n"] for row in rows(topic)] == [1, 2, 10, 11]
    assert tokens(connector) == {0: "1", 1: "1"}
    assert "offset 2" in str(connector.status()[0].last_error)


def test_with_tolerance_all_bad_records_are_set_aside_with_their_bytes_and_reasons(
    connect, topic, rows, lake, spark: SparkSession, broker: KafkaBroker
):
    _table_of_numbers(topic, spark)
    produce(broker.bootstrap_servers, topic, ['{"n": 1}', "no json", '{"n": true}', "[1]", '{"n": 5}'], keys=["a"] * 5)

    connector = connect(topic, **{"errors.tolerance": "all", "errors.log.enable": "true"})
    caught_up(connector)

    assert [row["n"] for row in rows(topic)] == [1, 5]
    status = connector.status()[0]
    assert (status.rows_parsed, status.rows_inserted, status.rows_error, status.offset_token) == (5, 2, 3, "4")
    (file,) = lake.glob(f"warehouse/public/_frazil/{topic.upper()}-*/rejects-*.parquet")
    rejects = duckdb.sql(f'SELECT "offset", value, "column", reason, topic FROM \'{file}\' ORDER BY 1').fetchall()
    assert [(offset, value, column) for offset, value, column, _, _ in rejects] == [
        (1, b"no json", None), (2, b'{"n": true}', "n"), (3, b"[1]", None),
    ]  # fmt: skip
    assert all(reason and name == topic for *_, reason, name in rejects)
    (opened,) = connector._ingestion.tables.values()
    (waiting,) = undelivered(opened.table, opened.tokens.rejects)
    assert (waiting.previous, waiting.commit) == (None, opened.tokens.commit)
    assert [name.rpartition("/")[2] for name in waiting.files] == [file.name]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_transaction_markers_and_aborted_transactions_neither_stall_a_channel_nor_lose_a_record(
    connect, topic, rows, isolation, broker: KafkaBroker
):
    servers = broker.bootstrap_servers
    produce(servers, topic, ['{"n": 0}'])
    produce_transaction(servers, topic, ['{"n": 1}', '{"n": 2}'])
    produce_transaction(servers, topic, ['{"n": -1}'], commit=False)
    produce(servers, topic, ['{"n": 3}'])
    produce_transaction(servers, topic, ['{"n": 4}'])

    connector = connect(topic, **{"consumer.override.isolation.level": isolation})
    caught_up(connector)

    aborted = [] if isolation == "read_committed" else [-1]
    assert [row["n"] for row in rows(topic)] == [0, 1, 2, *aborted, 3, 4]
    status = connector.status()[0]
    assert (status.lag_records, status.lag_seconds) == (0, 0.0)
    assert status.offset_token == "8"


def test_partitions_added_while_running_are_read_from_their_start(connect, topic, judge, broker: KafkaBroker):
    servers = broker.bootstrap_servers
    produce(servers, topic, [record("r", 0, n) for n in range(10)])
    connector = connect(topic)
    caught_up(connector)

    add_partitions(servers, topic, 3)
    produce(servers, topic, [record("r", 2, n) for n in range(20)], partition=2)
    wait_until(lambda: tokens(connector).get(2) == "19", "the new partition to land")

    report = judge(connector, topic)
    assert report.clean, report
    assert report.rows == 30


def test_the_consumer_groups_offset_is_published_after_a_commit(connect, topic, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}', '{"n": 2}'])
    connector = connect(topic, name="publishes")
    caught_up(connector)

    wait_until(
        lambda: group_offsets(broker.bootstrap_servers, "connect-publishes", topic) == {0: 2},
        "the group's offset to be 2",
    )


def test_a_first_open_starts_where_the_consumer_group_stands(connect, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, [f'{{"n": {n}}}' for n in range(6)])
    set_group_offsets(broker.bootstrap_servers, "connect-migrates", topic, {0: 5})

    caught_up(connect(topic, name="migrates"))

    assert [row["n"] for row in rows(topic)] == [5]


def test_tombstones_become_rows_that_hold_only_metadata(connect, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}', None, ""], keys=["a", "b", "c"])

    caught_up(connect(topic))

    assert [(row["n"], row["RECORD_METADATA"]["key"]) for row in rows(topic)] == [(1, "a"), (None, "b"), (None, "c")]


def _table_of_numbers(topic: str, spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(
        f"CREATE TABLE frazil.public.{topic.upper()} (n BIGINT, RECORD_METADATA STRUCT<partition: INT, offset: BIGINT>) "
        "USING iceberg"
    )
