"""RECORD_METADATA in the types existing tables give it, read back by others; and records without a value."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession
from tests.support.waiting import caught_up, tokens, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.errors import TableNotSupported
from frazil.testing import iceberg
from frazil.testing.records import produce

EIGHT = (
    "STRUCT<offset: BIGINT, topic: STRING, partition: INT, key: STRING, CreateTime: BIGINT, LogAppendTime: BIGINT, "
    "SnowflakeConnectorPushTime: BIGINT, headers: MAP<STRING, STRING>>"
)
TEN = EIGHT.replace("key: STRING", "key: STRING, schema_id: INT, key_schema_id: INT")
COLUMNS = {"eight": EIGHT, "ten": TEN, "text": "STRING", "variant": "VARIANT"}

JSON_KEYS = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "snowflake.feature.structured.headers": "true",
}
HEADERS = [("text", b"value1"), ("number", b"42"), ("list", b"[1, true]"), ("nothing", None)]
CREATED = time.time_ns() // 1_000_000 - 10_000

MakeTable = Callable[..., str]


@pytest.fixture
def make_table(spark: SparkSession) -> MakeTable:
    """Make a topic's table: `make_table(topic, "STRING NOT NULL")` gives its name."""

    def make(topic: str, metadata: str) -> str:
        spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
        version = 3 if metadata == "VARIANT" else 2
        spark.sql(
            f"CREATE TABLE frazil.public.{topic.upper()} (n BIGINT, record_metadata {metadata}) "
            f"USING iceberg TBLPROPERTIES ('format-version'='{version}')"
        )
        return topic.upper()

    return make


@pytest.mark.parametrize("kind", list(COLUMNS))
def test_every_type_of_column_tells_the_same_to_spark_and_to_another_reader(
    connect, make_topic, make_table: MakeTable, spark: SparkSession, lake: Path, broker: KafkaBroker, kind: str
):
    created, appended = make_topic(), make_topic(message_timestamp_type="LogAppendTime")
    table = make_table(created, COLUMNS[kind])
    keys = ['{"id": 7}', '"text"', None]
    produce(broker.bootstrap_servers, created, ['{"n": 1}'] * 3, keys=keys, headers=HEADERS, timestamp=CREATED)
    produce(broker.bootstrap_servers, appended, ['{"n": 2}'])

    both = {"topics": f"{created},{appended}", "snowflake.topic2table.map": f"{created}:{table},{appended}:{table}"}
    caught_up(connect(created, **both, **JSON_KEYS))

    by_spark = read_by_spark(spark, table)
    *first, last = sorted(by_spark, key=lambda told: (told["topic"] == appended, told["offset"]))
    is_json = kind in ("text", "variant")
    headers = {"text": "value1", "number": 42, "list": [1, True], "nothing": None}
    texts = {"text": "value1", "number": "42", "list": "[1,true]", "nothing": None}
    for offset, told in enumerate(first):
        assert told.pop("SnowflakeConnectorPushTime") > CREATED
        assert told == {
            "topic": created,
            "partition": 0,
            "offset": offset,
            "CreateTime": CREATED,
            "headers": headers if is_json else texts,
            **({} if offset == 2 else {"key": ({"id": 7} if is_json else '{"id":7}') if offset == 0 else "text"}),
        }
    assert last.pop("LogAppendTime") <= last.pop("SnowflakeConnectorPushTime")
    assert last == {"topic": appended, "partition": 0, "offset": 0}
    if kind != "variant":
        assert read_by_pyiceberg(lake, table) == read_by_spark(spark, table)


@pytest.mark.parametrize("kind", ["eight", "text", "variant"])
def test_without_metadata_the_column_is_null(
    connect, topic, make_table: MakeTable, spark: SparkSession, broker: KafkaBroker, kind: str
):
    table = make_table(topic, COLUMNS[kind])
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'], keys=["k"], headers=HEADERS)

    caught_up(connect(topic, **{"snowflake.metadata.all": "false"}))

    found = spark.sql(f"SELECT n, record_metadata IS NULL AS nothing FROM frazil.public.{table}").collect()
    assert [row.asDict() for row in found] == [{"n": 1, "nothing": True}]


@pytest.mark.parametrize(
    ("metadata", "settings", "reason"),
    [
        (EIGHT.replace("offset: BIGINT", "offset: INT"), {}, "its field offset is of type int, which cannot hold it"),
        ("STRUCT<topic: STRING, shard: STRING NOT NULL>", {}, "its field shard must not be NULL"),
        ("STRING NOT NULL", {"snowflake.metadata.all": "false"}, "it must not be NULL"),
    ],
)
def test_a_column_that_cannot_hold_metadata_is_refused_when_the_table_is_opened(
    connect, topic, make_table: MakeTable, metadata: str, settings: dict[str, str], reason: str
):
    table = make_table(topic, metadata)

    connector = connect(topic, **settings)
    until_state(connector, "FAILED")

    assert isinstance(connector.error, TableNotSupported)
    assert f"{table} cannot be written: its column record_metadata: {reason}" in str(connector.error)


def test_ignored_tombstones_are_no_rows_and_the_token_moves_past_them(connect, topic, rows, broker: KafkaBroker):
    ignore = {"behavior.on.null.values": "ignore"}
    produce(broker.bootstrap_servers, topic, [None, '{"n": 1}', "", '{"n": 2}', None], keys=["k"] * 5)
    first = connect(topic, **ignore)
    caught_up(first)

    assert [row["n"] for row in rows(topic)] == [1, 2]
    assert tokens(first) == {0: "4"}
    (status,) = first.status()
    assert (status.rows_parsed, status.rows_inserted, status.rows_error, status.lag_records) == (5, 2, 0, 0)

    produce(broker.bootstrap_servers, topic, [None, None])
    caught_up(first)
    assert tokens(first) == {0: "6"}
    first.stop()

    produce(broker.bootstrap_servers, topic, ['{"n": 3}'])
    again = connect(topic, **ignore)
    caught_up(again)
    assert [row["n"] for row in rows(topic)] == [1, 2, 3]
    (status,) = again.status()
    assert (status.rows_parsed, status.rows_inserted, status.offset_token) == (8, 3, "7")


def test_a_bad_record_among_ignored_tombstones_stops_before_it_and_nothing_else_is_lost(
    connect, topic, rows, broker: KafkaBroker
):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}', None, "no json", None, '{"n": 2}'])

    connector = connect(topic, **{"behavior.on.null.values": "ignore"})
    until_state(connector, "FAILED")
    assert [row["n"] for row in rows(topic)] == [1]
    assert tokens(connector) == {0: "1"}

    tolerant = connect(topic, **{"behavior.on.null.values": "ignore", "errors.tolerance": "all"})
    caught_up(tolerant)
    assert [row["n"] for row in rows(topic)] == [1, 2]
    (status,) = tolerant.status()
    assert (status.rows_parsed, status.rows_inserted, status.rows_error, status.offset_token) == (5, 2, 1, "4")


def read_by_spark(spark: SparkSession, table: str) -> list[dict[str, Any]]:
    """What RECORD_METADATA tells, record by record, without what is NULL."""
    found = spark.sql(
        f"SELECT to_json(struct(record_metadata)) AS text FROM frazil.public.{table} ORDER BY 1"
    ).collect()
    return _told(json.loads(row["text"])["record_metadata"] for row in found)


def read_by_pyiceberg(lake: Path, table: str) -> list[dict[str, Any]]:
    """The same by a reader that shares no code with frazil or Spark."""
    opened = StaticTable.from_metadata(str(iceberg.current_metadata(lake / "catalog.db", "public", table)))
    found = opened.scan().to_arrow().column("record_metadata").to_pylist(maps_as_pydicts="strict")
    return _told(found)


def _told(found: Iterable[str | dict[str, Any]]) -> list[dict[str, Any]]:
    parsed = [json.loads(told) if isinstance(told, str) else told for told in found]
    known = [{name: value for name, value in told.items() if value is not None} for told in parsed]
    return sorted(known, key=lambda told: (told["topic"], told["offset"]))


def test_a_created_table_has_metadata_as_text_when_asked_for_and_another_keeps_its_type(
    connect, topic, spark: SparkSession, broker: KafkaBroker
):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'], keys=[b"k"], headers=[("number", b"42")])
    text = {"snowflake.feature.structured.record.metadata.enabled": "false"}
    structured = topic + "_structured"

    apart = {"snowflake.topic2table.map": f"{topic}:{structured}"}
    caught_up(connect(topic, "structured", **apart))
    caught_up(connect(topic, **text))
    caught_up(connect(topic, "again", **apart, **text))

    (row,) = spark.table(f"frazil.public.{topic.upper()}").collect()
    told = json.loads(row.RECORD_METADATA)
    assert told["SnowflakeConnectorPushTime"] >= told["CreateTime"]
    assert {name: told[name] for name in ("topic", "partition", "offset", "key", "headers")} == {
        "topic": topic, "partition": 0, "offset": 0, "key": "k", "headers": {"number": "42"},
    }  # fmt: skip
    kept = spark.table(f"frazil.public.{structured.upper()}").select("n", "RECORD_METADATA.offset").collect()
    assert [*map(tuple, kept)] == [(1, 0), (1, 0)]


@pytest.mark.parametrize(
    ("nested", "version", "kind"), [("variant", 3, "variant"), ("variant", 2, "string"), ("json", 3, "string")]
)
def test_a_created_table_keeps_structured_headers(
    connect, topic, spark: SparkSession, broker: KafkaBroker, nested: str, version: int, kind: str
):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'], headers=[("number", b"42")])

    options = {
        "snowflake.feature.structured.headers": "true",
        "snowflake.iceberg.create.table.options": f"ICEBERG_VERSION = {version}",
    }

    caught_up(connect(topic, **options, **{"frazil.nested.type": nested}))

    table = spark.table(f"frazil.public.{topic.upper()}")
    assert table.schema["RECORD_METADATA"].dataType.simpleString() == kind
    (row,) = table.selectExpr(
        ("to_json({})" if kind == "variant" else "{}").format("RECORD_METADATA") + " AS told"
    ).collect()
    assert json.loads(row.told)["headers"] == {"number": 42}
